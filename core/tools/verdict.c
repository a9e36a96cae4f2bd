/* What an answer to a proposal means: the changes that are to be written, and a note for the model when those are not
 * the ones it proposed.
 *
 * A file counts in units: its hunks, or one when it has none. Dropping every unit drops the file from the set, so that
 * nothing is ever "written" as it was. */

#include "approval.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "diff.h"

#define NOTE_HUNKS      8    /* refused hunks that are shown */
#define NOTE_HUNK_CHARS 400  /* of each */
#define NOTE_EDIT_CHARS 2000 /* of the difference an edit made, per file */

void verdict_release(struct verdict *verdict)
{
    free(verdict->reason);
    free(verdict->hunks);
    change_set_free(verdict->edited);
    *verdict = (struct verdict){0};
}

struct verdict verdict_copy(const struct verdict *verdict)
{
    return (struct verdict){
        .decision = verdict->decision,
        .by = verdict->by,
        .reason = verdict->reason ? xstrdup(verdict->reason) : NULL,
        .hunks = verdict->hunks ? xstrdup(verdict->hunks) : NULL,
        .edited = verdict->edited ? change_set_copy(verdict->edited) : NULL,
        .without_undo = verdict->without_undo,
    };
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

/* The kept units of one file, as the answer's JSON has them. */
struct kept {
    size_t units;
    bool *keep;
    size_t count;
};

static void kept_cleanup(struct kept *kept)
{
    free(kept->keep);
}

/* How many units it has. Known since it was shown; only what was never shown is compared for that. */
static int count_units(size_t *units, const struct change *change, struct err *err)
{
    struct change shown = *change;
    if (!shown.counts.known) {
        struct diff *diff = change_diff(change, err);
        if (!diff)
            return -1;
        change_count(&shown, diff);
        diff_free(diff);
    }
    if (shown.counts.cut)
        return err_set(err, "the difference of %s is too large to be decided hunk by hunk", change->path);
    *units = shown.counts.hunks ? shown.counts.hunks : 1;
    return 0;
}

static int read_kept(struct kept *kept, const struct json *hunks, const struct change *change, struct err *err)
{
    if (count_units(&kept->units, change, err))
        return -1;
    kept->keep = xcalloc(kept->units, sizeof(*kept->keep));
    const struct json *entry = NULL;
    json_each (item, hunks) {
        if (strcmp(json_str(json_get(item, "path"), ""), change->path) == 0)
            entry = item;
    }
    if (!entry)
        return 0;
    int64_t of = json_int(json_get(entry, "of"), -1);
    if (of != (int64_t)kept->units)
        return err_set(err, "%s has %zu hunks, the answer is about %lld", change->path, kept->units, (long long)of);
    const struct json *keep = json_get(entry, "keep");
    if (!keep || keep->type != JSON_ARRAY)
        return err_set(err, "%s: keep must be a list of hunk numbers", change->path);
    json_each (number, keep) {
        int64_t n = json_int(number, 0);
        if (n < 1 || n > (int64_t)kept->units)
            return err_set(err, "%s: there is no hunk %.20s", change->path, number->text ? number->text : "?");
        kept->count += !kept->keep[n - 1];
        kept->keep[n - 1] = true;
    }
    return 0;
}

static const struct json *parse_hunks(struct arena *arena, const struct verdict *verdict, struct err *err)
{
    if (!verdict->hunks) {
        err_set(err, "the answer does not say which hunks to keep");
        return NULL;
    }
    const struct json *hunks = json_parse(arena, verdict->hunks, strlen(verdict->hunks), err);
    if (hunks && hunks->type != JSON_ARRAY) {
        err_set(err, "the hunks to keep must be a list");
        return NULL;
    }
    return hunks;
}

static int not_proposed(struct err *err, const char *path)
{
    return err_set(err, "\"%s\" is not among the files that were proposed", path);
}

static int check_hunk_paths(const struct json *hunks, const struct change_set *set, struct err *err)
{
    json_each (entry, hunks) {
        const char *path = json_str(json_get(entry, "path"), "");
        if (!find_change(set, path))
            return not_proposed(err, path);
    }
    return 0;
}

static int keep_hunks(const struct verdict *verdict, struct change_set *set, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *hunks = parse_hunks(&arena, verdict, err);
    if (!hunks || check_hunk_paths(hunks, set, err))
        return -1;
    for (size_t i = set->count; i-- > 0;) {
        CLEANUP(kept) struct kept kept = {0};
        if (read_kept(&kept, hunks, &set->items[i], err))
            return -1;
        if (kept.count == 0)
            remove_change(set, i);
        else if (kept.count < kept.units && change_keep_hunks(&set->items[i], kept.keep, kept.units, err))
            return -1;
    }
    return 0;
}

/* The old sides stay: they are what the user saw and what the commit compares with. */
static int take_edits(const struct verdict *verdict, struct change_set *set, struct err *err)
{
    if (!verdict->edited)
        return err_set(err, "the edited version is missing");
    for (size_t i = 0; i < verdict->edited->count; i++) {
        const struct change *edit = &verdict->edited->items[i];
        struct change *change = find_change(set, edit->path);
        if (!change)
            return not_proposed(err, edit->path);
        change->counts.known = false;
        if (edit->new.exists)
            change_side_set(&change->new, edit->new.bytes, edit->new.len, edit->new.mode);
        else
            change_side_absent(&change->new);
    }
    for (size_t i = set->count; i-- > 0;)
        if (!find_change(verdict->edited, set->items[i].path) || same_side(&set->items[i].old, &set->items[i].new))
            remove_change(set, i);
    return 0;
}

int verdict_fits(const struct verdict *verdict, const struct change_set *proposed, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *hunks;
    switch (verdict->decision) {
    case DECISION_APPROVED:
        return 0;
    case DECISION_PARTIAL:
        hunks = parse_hunks(&arena, verdict, err);
        if (!hunks || check_hunk_paths(hunks, proposed, err))
            return -1;
        for (size_t i = 0; i < proposed->count; i++) {
            CLEANUP(kept) struct kept kept = {0};
            if (read_kept(&kept, hunks, &proposed->items[i], err))
                return -1;
        }
        return 0;
    case DECISION_EDITED:
        if (!verdict->edited)
            return err_set(err, "the edited version is missing");
        for (size_t i = 0; i < verdict->edited->count; i++)
            if (!find_change(proposed, verdict->edited->items[i].path))
                return not_proposed(err, verdict->edited->items[i].path);
        return 0;
    default:
        return err_set(err, "the answer allows nothing");
    }
}

struct change_set *verdict_changes(const struct verdict *verdict, const struct change_set *proposed, struct err *err)
{
    struct change_set *set = change_set_copy(proposed);
    int failed;
    switch (verdict->decision) {
    case DECISION_APPROVED:
        return set;
    case DECISION_PARTIAL:
        failed = keep_hunks(verdict, set, err);
        break;
    case DECISION_EDITED:
        failed = take_edits(verdict, set, err);
        break;
    default:
        failed = err_set(err, "the answer allows nothing");
        break;
    }
    if (!failed)
        return set;
    change_set_free(set);
    return NULL;
}

/* The note */

static void cut_text(struct strbuf *text, size_t chars)
{
    size_t bytes = utf8_prefix(text->buf, text->len, chars);
    if (bytes == text->len)
        return;
    strbuf_set_len(text, bytes);
    strbuf_addstr(text, "…");
}

static void note_refused(struct json_writer *w, const struct change *change, const struct kept *kept, size_t *room)
{
    if (!*room || kept->count == kept->units)
        return;
    struct diff *diff = change_diff(change, NULL);
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
    diff_free(diff);
}

/* "hunks 1, 3 of 4", with the path before it when there are several files. */
static void note_applied(struct strbuf *out, const struct change *change, const struct kept *kept, bool several)
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

static void note_hunks(struct json_writer *w, const struct verdict *verdict, const struct change_set *proposed)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf applied = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf refused = STRBUF_INIT;
    const struct json *hunks = parse_hunks(&arena, verdict, NULL);
    struct json_writer list = json_begin(&refused);
    size_t room = NOTE_HUNKS, dropped = 0;
    json_open(&list, NULL, '[');
    for (size_t i = 0; i < proposed->count; i++) {
        CLEANUP(kept) struct kept kept = {0};
        if (read_kept(&kept, hunks, &proposed->items[i], NULL))
            continue;
        note_applied(&applied, &proposed->items[i], &kept, proposed->count > 1);
        note_refused(&list, &proposed->items[i], &kept, &room);
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

void verdict_note(struct strbuf *out, const struct verdict *verdict, const struct change_set *proposed,
                  const struct change_set *written)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "decision", decision_name(verdict->decision));
    if (verdict->decision == DECISION_PARTIAL)
        note_hunks(&w, verdict, proposed);
    else
        note_edits(&w, proposed, written);
    if (verdict->reason && *verdict->reason)
        json_add_str(&w, "reason", verdict->reason);
    json_close(&w, '}');
}

struct event_hunk_choice_list verdict_hunks_to_event(struct arena *arena, const struct verdict *verdict)
{
    const struct json *hunks = verdict->hunks ? json_parse(arena, verdict->hunks, strlen(verdict->hunks), NULL) : NULL;
    size_t count = 0;
    if (!hunks)
        return (struct event_hunk_choice_list){0};
    struct event_hunk_choice *items = arena_calloc(arena, hunks->count + 1, sizeof(*items));
    json_each (entry, hunks) {
        const struct json *keep = json_get(entry, "keep");
        int64_t *numbers = arena_calloc(arena, keep ? keep->count + 1 : 1, sizeof(*numbers));
        size_t kept = 0;
        json_each (number, keep)
            numbers[kept++] = json_int(number, 0);
        items[count++] = (struct event_hunk_choice){.path = json_str(json_get(entry, "path"), ""),
                                                    .keep = {numbers, kept},
                                                    .of = json_int(json_get(entry, "of"), 0)};
    }
    return (struct event_hunk_choice_list){items, count};
}
