/* Computes what a decision about a proposal writes, and the note to the model about it.
 *
 * A file counts in units: its hunks, or one if it has none. If every unit is dropped, the file leaves the set, so
 * that an unchanged file never counts as written. */

#include "decision.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "tools/change.h"
#include "tools/diff.h"
#include "tools/protected.h"
#include <inttypes.h>
#include <string.h>

#define NOTE_HUNKS      8    /* refused hunks shown */
#define NOTE_HUNK_CHARS 400  /* of each */
#define NOTE_EDIT_CHARS 2000 /* of the diff of an edit, per file */
#define NEW_FILE_MODE   0644

static const char *const decision_names[] = {
    [DECISION_NONE] = "",           [DECISION_APPROVED] = "approved", [DECISION_DENIED] = "denied",
    [DECISION_PARTIAL] = "partial", [DECISION_EDITED] = "edited",     [DECISION_EXPIRED] = "expired",
};

const char *decision_name(enum decision_kind kind)
{
    return (size_t)kind < COUNT_OF(decision_names) ? decision_names[kind] : "";
}

enum decision_kind decision_from_name(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(decision_names); i++)
        if (strcmp(name, decision_names[i]) == 0)
            return (enum decision_kind)i;
    return DECISION_NONE;
}

const char *decider_name(enum decider by)
{
    static const char *const names[] = {[BY_KEY] = "key",
                                        [BY_POLICY] = "policy",
                                        [BY_RECORDING] = "recording",
                                        [BY_TIMEOUT] = "timeout",
                                        [BY_CANCEL] = "cancel"};
    return (size_t)by < COUNT_OF(names) ? names[by] : "";
}

struct decision decision_copy(const struct decision *decision)
{
    struct decision copy = {.kind = decision->kind,
                            .by = decision->by,
                            .edited = decision->edited ? change_set_copy(decision->edited) : NULL,
                            .without_undo = decision->without_undo,
                            .arena = ARENA_INIT};
    const struct event_hunk_choice_list *hunks = &decision->hunks;
    copy.reason = decision->reason ? arena_strdup(&copy.arena, decision->reason) : NULL;
    if (!hunks->items)
        return copy;
    struct event_hunk_choice *items = arena_calloc(&copy.arena, hunks->count + 1, sizeof(*items));
    for (size_t i = 0; i < hunks->count; i++) {
        const struct event_hunk_choice *from = &hunks->items[i];
        int64_t *keep = arena_calloc(&copy.arena, from->keep.count + 1, sizeof(*keep));
        for (size_t k = 0; k < from->keep.count; k++)
            keep[k] = from->keep.items[k];
        items[i] = (struct event_hunk_choice){.path = arena_strdup(&copy.arena, from->path ? from->path : ""),
                                              .keep = {keep, from->keep.count},
                                              .of = from->of};
    }
    copy.hunks = (struct event_hunk_choice_list){items, hunks->count};
    return copy;
}

void decision_release(struct decision *decision)
{
    change_set_free(decision->edited);
    arena_release(&decision->arena);
    *decision = (struct decision){0};
}

static struct change *find_change(const struct change_set *set, const char *path)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].path, path) == 0)
            return &set->items[i];
    return NULL;
}

static bool same_side(const struct change_side *a, const struct change_side *b)
{
    if (!a->exists || !b->exists)
        return a->exists == b->exists;
    return a->mode == b->mode && strcmp(a->digest, b->digest) == 0;
}

static void remove_change(struct change_set *set, size_t index)
{
    struct change *change = &set->items[index];
    change_release(change);
    memmove(change, change + 1, (set->count - index - 1) * sizeof(*change));
    set->count--;
}

/* The units of one file that are kept. */
struct kept_hunks {
    size_t units;
    bool *keep;
    size_t count;
};

static void kept_cleanup(struct kept_hunks *kept)
{
    free(kept->keep);
}

static int read_kept(struct kept_hunks *kept, const struct event_hunk_choice_list *hunks, const struct change *change,
                     struct err *err)
{
    const struct event_hunk_choice *choice = NULL;
    if (!change->counts.known || change->counts.cut)
        return err_set(err, "the diff of %s is too large to choose hunks", change->path);
    kept->units = change->counts.hunks ? change->counts.hunks : 1;
    kept->keep = xcalloc(kept->units, sizeof(*kept->keep));
    for (size_t i = 0; i < hunks->count; i++)
        if (strcmp(hunks->items[i].path, change->path) == 0)
            choice = &hunks->items[i];
    if (!choice)
        return 0;
    if (choice->of != (int64_t)kept->units)
        return err_set(err, "%s has %zu hunks, but the decision is about %" PRId64, change->path, kept->units,
                       choice->of);
    for (size_t i = 0; i < choice->keep.count; i++) {
        int64_t n = choice->keep.items[i];
        if (n < 1 || n > (int64_t)kept->units)
            return err_set(err, "%s has no hunk %" PRId64, change->path, n);
        kept->count += !kept->keep[n - 1];
        kept->keep[n - 1] = true;
    }
    return 0;
}

static int not_proposed(struct err *err, const char *path)
{
    return err_set(err, "\"%s\" was not proposed", path);
}

int decision_fits(const struct decision *decision, const struct change_set *proposed, struct err *err)
{
    const struct event_hunk_choice_list *hunks = &decision->hunks;
    switch (decision->kind) {
    case DECISION_APPROVED:
        return 0;
    case DECISION_PARTIAL:
        if (!hunks->items)
            return err_set(err, "the decision names no hunks");
        for (size_t i = 0; i < hunks->count; i++)
            if (!find_change(proposed, hunks->items[i].path))
                return not_proposed(err, hunks->items[i].path);
        for (size_t i = 0; i < proposed->count; i++) {
            CLEANUP(kept) struct kept_hunks kept = {0};
            if (read_kept(&kept, hunks, &proposed->items[i], err))
                return -1;
        }
        return 0;
    case DECISION_EDITED:
        if (!decision->edited)
            return err_set(err, "the edited version is missing");
        for (size_t i = 0; i < decision->edited->count; i++)
            if (!find_change(proposed, decision->edited->items[i].path))
                return not_proposed(err, decision->edited->items[i].path);
        return 0;
    case DECISION_NONE:
    case DECISION_DENIED:
    case DECISION_EXPIRED:
        break;
    }
    return err_set(err, "the decision approves nothing");
}

static int keep_hunks(const struct decision *decision, struct change_set *set, struct diff *const *diffs,
                      struct err *err)
{
    for (size_t i = set->count; i-- > 0;) {
        CLEANUP(kept) struct kept_hunks kept = {0};
        if (read_kept(&kept, &decision->hunks, &set->items[i], err))
            return -1;
        if (kept.count == 0)
            remove_change(set, i);
        else if (kept.count < kept.units && change_keep_hunks(&set->items[i], diffs[i], kept.keep, kept.units, err))
            return -1;
    }
    return 0;
}

/* The old sides stay: they are what the user saw and what the commit compares with. */
static void take_edits(const struct change_set *edited, struct change_set *set)
{
    for (size_t i = 0; i < edited->count; i++) {
        const struct change *edit = &edited->items[i];
        struct change *change = find_change(set, edit->path);
        change->counts = edit->counts;
        if (edit->new.exists)
            change_side_set(&change->new, edit->new.bytes, edit->new.len, edit->new.mode);
        else
            change_side_absent(&change->new);
    }
    for (size_t i = set->count; i-- > 0;)
        if (!find_change(edited, set->items[i].path) || same_side(&set->items[i].old, &set->items[i].new))
            remove_change(set, i);
}

struct change_set *decision_apply(const struct decision *decision, const struct change_set *proposed,
                                  struct diff *const *diffs, struct err *err)
{
    if (decision_fits(decision, proposed, err))
        return NULL;
    struct change_set *set = change_set_copy(proposed);
    if (decision->kind == DECISION_EDITED) {
        take_edits(decision->edited, set);
    } else if (decision->kind == DECISION_PARTIAL && keep_hunks(decision, set, diffs, err)) {
        change_set_free(set);
        return NULL;
    }
    return set;
}

/* ---- the note ---- */

static void cut_text(struct strbuf *text, size_t chars)
{
    size_t bytes = utf8_prefix(text->buf, text->len, chars);
    if (bytes == text->len)
        return;
    strbuf_set_len(text, bytes);
    strbuf_addstr(text, "…");
}

static void note_refused(struct json_writer *w, const struct change *change, const struct diff *diff,
                         const struct kept_hunks *kept, size_t *room)
{
    for (size_t i = 0; i < kept->units; i++) {
        if (kept->keep[i] || !*room)
            continue;
        --*room;
        json_open(w, NULL, '{');
        json_add_str(w, "path", change->path);
        json_add_int(w, "hunk", (int64_t)i + 1);
        CLEANUP(strbuf) struct strbuf lines = STRBUF_INIT;
        if (diff && i < diff->hunk_count) {
            const struct diff_hunk *hunk = &diff->hunks[i];
            for (size_t n = 0; n < hunk->line_count; n++) {
                const struct diff_line *line = &diff->lines[hunk->first_line + n];
                if (line->origin == ' ')
                    continue;
                strbuf_addch(&lines, line->origin);
                strbuf_add(&lines, line->text, line->len);
                strbuf_addch(&lines, '\n');
            }
        }
        cut_text(&lines, NOTE_HUNK_CHARS);
        if (lines.len)
            json_add_strn(w, "lines", lines.buf, lines.len);
        json_close(w, '}');
    }
}

/* "hunks 1, 3 of 4", with the path before it when there are several files. */
static void note_applied(struct strbuf *out, const struct change *change, const struct kept_hunks *kept, bool several)
{
    strbuf_addstr(out, out->len ? "; " : "");
    if (several)
        strbuf_addf(out, "%s: ", change->path);
    strbuf_addstr(out, kept->count ? "hunks " : "none");
    const char *comma = "";
    for (size_t i = 0; i < kept->units; i++)
        if (kept->keep[i]) {
            strbuf_addf(out, "%s%zu", comma, i + 1);
            comma = ", ";
        }
    strbuf_addf(out, " of %zu", kept->units);
}

static void note_hunks(struct json_writer *w, const struct decision *decision, const struct change_set *proposed,
                       struct diff *const *diffs)
{
    CLEANUP(strbuf) struct strbuf applied = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf refused = STRBUF_INIT;
    struct json_writer list = json_begin(&refused);
    size_t room = NOTE_HUNKS, dropped = 0;
    json_open(&list, NULL, '[');
    for (size_t i = 0; i < proposed->count; i++) {
        CLEANUP(kept) struct kept_hunks kept = {0};
        if (read_kept(&kept, &decision->hunks, &proposed->items[i], NULL))
            continue;
        note_applied(&applied, &proposed->items[i], &kept, proposed->count > 1);
        note_refused(&list, &proposed->items[i], diffs[i], &kept, &room);
        dropped += kept.units - kept.count;
    }
    json_close(&list, ']');
    json_add_str(w, "applied", applied.buf);
    json_add_raw(w, "refused", refused.buf);
    if (dropped > NOTE_HUNKS)
        json_add_int(w, "refused_not_shown", (int64_t)(dropped - NOTE_HUNKS));
}

static void note_edit(struct json_writer *w, const struct change *proposed, const struct change *written)
{
    json_open(w, NULL, '{');
    json_add_str(w, "path", proposed->path);
    if (!written) {
        json_add_str(w, "change", "not written");
    } else {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        const struct change_side *from = &proposed->new, *to = &written->new;
        struct diff *diff = diff_new(proposed->path, from->bytes, from->len, to->bytes, to->len, NULL);
        if (diff && !diff->binary)
            diff_write(&text, diff, proposed->path, from->exists, to->exists);
        diff_free(diff);
        cut_text(&text, NOTE_EDIT_CHARS);
        json_add_strn(w, "change", text.len ? text.buf : "edited", text.len ? text.len : 6);
    }
    json_close(w, '}');
}

static void note_edits(struct json_writer *w, const struct change_set *proposed, const struct change_set *written)
{
    json_add_str(w, "applied", "the user's edited version");
    json_open(w, "edits", '[');
    for (size_t i = 0; i < proposed->count; i++) {
        const struct change *change = find_change(written, proposed->items[i].path);
        if (!change || !same_side(&change->new, &proposed->items[i].new))
            note_edit(w, &proposed->items[i], change);
    }
    json_close(w, ']');
}

void decision_note(struct strbuf *out, const struct decision *decision, const struct change_set *proposed,
                   struct diff *const *diffs, const struct change_set *written)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "decision", decision_name(decision->kind));
    if (decision->kind == DECISION_PARTIAL)
        note_hunks(&w, decision, proposed, diffs);
    else
        note_edits(&w, proposed, written);
    if (decision->reason && *decision->reason)
        json_add_str(&w, "reason", decision->reason);
    json_close(&w, '}');
}

/* ---- a recorded proposal, made again ---- */

static bool is_empty_file(const char *digest)
{
    char empty[HASH_SHA256_HEX];
    hash_sha256("", 0, empty);
    return strcmp(digest, empty) == 0;
}

static bool is_absent(const char *digest)
{
    struct change_side absent = {0};
    change_side_absent(&absent);
    return strcmp(digest, absent.digest) == 0;
}

/* Builds the new content as far as the recording has it; the caller compares the digest. A new empty file has no diff
 * to build it from. */
static void make_new(struct change *change, const char *digest, const char *diff)
{
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    struct err err = ERR_INIT;
    const char *old = change->old.exists ? change->old.bytes : "";
    size_t old_len = change->old.exists ? change->old.len : 0;
    if (is_absent(digest))
        change_side_absent(&change->new);
    else if (is_empty_file(digest) || (diff && patch_apply(&after, old, old_len, diff, &err) == 0))
        change_side_set(&change->new, after.buf, after.len, change->old.exists ? change->old.mode : NEW_FILE_MODE);
    change->counts.known = false;
}

static int add_file(struct change_set *set, struct beneath *root, const struct event_proposed_file *file, bool *lost,
                    struct err *err)
{
    const char *path = file->path ? file->path : "";
    const char *old_digest = file->old_digest ? file->old_digest : "";
    const char *new_digest = file->new_digest ? file->new_digest : "";
    struct change *change = change_set_add(set, root, path, err);
    if (!change)
        return -1;
    if (strcmp(change->old.digest, old_digest) != 0)
        return err_set(err, "%s changed since the recording", path);
    make_new(change, new_digest, file->diff);
    *lost = strcmp(change->new.digest, new_digest) != 0;
    if (*lost && file->binary)
        return err_set(err, "%s is binary, and the recording does not have its bytes", path);
    if (*lost)
        return err_set(err, "the recorded diff of %s is incomplete", path);
    return 0;
}

struct change_set *decision_recorded_changes(struct beneath *root, const struct event_proposed_file_list *files,
                                             bool *lost, struct err *err)
{
    *lost = false;
    if (!files->count) { /* the question had no files */
        err_set(err, "no files were proposed");
        return NULL;
    }
    struct change_set *set = change_set_new();
    for (size_t i = 0; i < files->count; i++)
        if (add_file(set, root, &files->items[i], lost, err)) {
            change_set_free(set);
            return NULL;
        }
    return set;
}

/* ---- proposal ---- */

/* Describes a proposed write for the journal and for the model. */

#define DIFFS_MAX ((size_t)2 << 20) /* bytes of all diffs of a question in the journal; a screen can show this much */

/* Writes the diff as text of at most `room` bytes in the journal, ended by a line that says if it was cut. A cut diff
 * can only be approved or denied as a whole. Returns the bytes used. */
static size_t fit_diff(struct strbuf *text, struct diff *diff, const struct change *change, size_t room)
{
    for (size_t fits = room;; fits /= 2) {
        strbuf_reset(text);
        diff_write(text, diff, change->path, change->old.exists, change->new.exists);
        size_t len = json_printed_length(text->buf, text->len);
        if (len <= room || !diff->hunk_count)
            return len;
        diff_cut(diff, fits);
    }
}

/* The lines of the change's note about attributes that the write loses. */
static struct event_strs list_losses(struct arena *arena, const struct change *change)
{
    const char *loses = change_loses(change);
    size_t count = 0, room = 1, len;
    if (!loses)
        return (struct event_strs){0};
    for (const char *at = loses; *at; at++)
        room += *at == '\n';
    const char **lines = arena_calloc(arena, room, sizeof(*lines));
    for (const char *line; (line = change_next_loss(&loses, &len));)
        lines[count++] = arena_memdup0(arena, line, len);
    return (struct event_strs){lines, count};
}

struct event_proposed_file_list proposal_files(struct arena *arena, struct change_set *changes,
                                               struct diff *const *diffs)
{
    struct event_proposed_file *files = arena_calloc(arena, changes->count + 1, sizeof(*files));
    size_t room = DIFFS_MAX;
    for (size_t i = 0; i < changes->count; i++) {
        struct change *change = &changes->items[i];
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        size_t takes = diffs[i] ? fit_diff(&text, diffs[i], change, room) : 0;
        const struct guarded *place = change->guard;
        room -= takes < room ? takes : room;
        change_count(change, diffs[i]);
        files[i] =
            (struct event_proposed_file){.path = change->path,
                                         .old_digest = change->old.digest,
                                         .new_digest = change->new.digest,
                                         .through = change->through,
                                         .protected = place && place->guard == GUARD_PROTECTED ? place->why : NULL,
                                         .dangerous = place && place->guard != GUARD_PROTECTED ? place->why : NULL,
                                         .loses = list_losses(arena, change),
                                         .added = (int64_t)change->counts.added,
                                         .removed = (int64_t)change->counts.removed,
                                         .binary = change->counts.binary,
                                         .diff = diffs[i] ? arena_memdup0(arena, text.buf, text.len) : NULL};
    }
    return (struct event_proposed_file_list){files, changes->count};
}

void proposal_edit(struct strbuf *before, struct strbuf *after, const struct change_set *proposed,
                   const struct change_set *edited)
{
    struct json_writer b = json_begin(before), a = json_begin(after);
    json_open(&b, NULL, '[');
    json_open(&a, NULL, '[');
    for (size_t i = 0; i < edited->count; i++) {
        const struct change *change = &edited->items[i];
        const char *digest = NULL;
        for (size_t k = 0; k < proposed->count && !digest; k++)
            if (strcmp(proposed->items[k].path, change->path) == 0)
                digest = proposed->items[k].new.digest;
        json_open(&b, NULL, '{');
        json_add_str(&b, "path", change->path);
        json_add_str(&b, "digest", digest);
        json_close(&b, '}');
        json_open(&a, NULL, '{');
        json_add_str(&a, "path", change->path);
        if (change->new.exists) {
            json_add_strn(&a, "text", change->new.bytes, change->new.len);
            json_add_int(&a, "mode", change->new.mode);
        }
        json_close(&a, '}');
    }
    json_close(&b, ']');
    json_close(&a, ']');
}

char *proposal_reply(const struct change_set *proposed, const struct change_set *written, const char *note)
{
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    size_t added = 0, removed = 0;
    bool move = written->move && written->count == 2, binary = false;
    for (size_t i = 0; i < written->count; i++) {
        added += written->items[i].counts.added;
        removed += written->items[i].counts.removed;
        binary |= written->items[i].counts.binary;
    }
    json_open(&w, NULL, '{');
    if (move) {
        json_add_str(&w, "from", written->items[1].path);
        json_add_str(&w, "to", written->items[0].path);
    } else if (written->count == 1) {
        json_add_str(&w, "path", written->items[0].path);
    } else {
        json_open(&w, "paths", '[');
        for (size_t i = 0; i < written->count; i++)
            json_add_str(&w, NULL, written->items[i].path);
        json_close(&w, ']');
    }
    json_add_bool(&w, "applied", true);
    if (written->count == 1 && !written->items[0].old.exists && written->items[0].new.exists)
        json_add_bool(&w, "created", true);
    if (written->count == 1 && !written->items[0].new.exists)
        json_add_bool(&w, "deleted", true);
    if (!move) {
        json_add_int(&w, "added", (int64_t)added);
        json_add_int(&w, "removed", (int64_t)removed);
    }
    if (binary && !move)
        json_add_bool(&w, "binary", true);
    if (proposed->left_out)
        json_add_str(&w, "left_out", proposed->left_out);
    if (*note)
        json_add_raw(&w, "approval", note);
    json_close(&w, '}');
    return strbuf_detach(&out, NULL);
}
