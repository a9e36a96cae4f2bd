/* Puts a proposed write into words for the journal and for the model. */

#include "proposal.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/diff.h"
#include "tools/protected.h"
#include <string.h>

#define DIFFS_MAX \
    ((size_t)2 << 20) /* bytes of all diffs of a question in the record: a screen must be able to show it */

/* The diff as text that takes at most `room` bytes of the record, or the line that says that it was cut. What is cut
 * can only be decided as a whole. Returns the bytes that it takes. */
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

/* Lines of the change's note about what a write cannot keep. */
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
