/* The index of a diff: pieces with their first rows. Rows of a piece, from its first:
 *
 *     a blank line                 between files, and between hunks if there is room
 *     the name of the file         first piece of a file, if names are shown
 *     a note on the file           first piece of a file that is new, deleted, binary, or changes its mode
 *     @@ the head of the hunk      a piece that is a hunk
 *     its lines
 *
 * A file without hunks is one piece that ends with the note. Discarding a hunk moves the lines of those below it, so
 * each piece knows what was kept and discarded above it. The numbers shown are those after `y`. */

#include "diff_rows.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/event.h"
#include "screen/text.h"
#include "tools/change.h"
#include "tools/protected.h"
#include <limits.h>
#include <string.h>

#define MOVES_MAX 1000 /* files that are searched for moves */

void diffview_init(struct diffview *view)
{
    *view = (struct diffview){.digits = 3};
}

bool diffview_protected(const struct diffview_file *file)
{
    return file->guard && strcmp(file->guard, guard_name(GUARD_PROTECTED)) == 0;
}

static void forget_rows(struct diffview *view)
{
    for (size_t i = 0; i < view->file_count; i++) {
        diff_free(view->files[i].diff);
        free(view->files[i].path);
        free(view->files[i].text);
        free(view->files[i].digest);
        free(view->files[i].through);
        free(view->files[i].guard);
        free(view->files[i].why);
        free(view->files[i].loses);
    }
    change_set_free(steal(&view->set));
    view->file_count = view->piece_count = view->rows = 0;
    view->decided = view->whole = false;
}

void diffview_release(struct diffview *view)
{
    forget_rows(view);
    free(view->files);
    free(view->pieces);
    diffview_init(view);
}

/* ---- notes on a file ---- */

static void add_part(struct strbuf *out, const char *text)
{
    if (out->len)
        strbuf_addstr(out, " · ");
    strbuf_addstr(out, text);
}

static void add_size(struct strbuf *out, bool exists, size_t len)
{
    if (!exists)
        strbuf_addstr(out, "nothing");
    else if (len == SIZE_MAX)
        strbuf_addstr(out, "?");
    else
        text_bytes(out, len);
}

void diffview_file_note(const struct diffview *view, size_t index, struct strbuf *out)
{
    const struct diffview_file *file = &view->files[index];
    size_t before = out->len;
    if (!file->old_exists)
        add_part(out, "new file");
    if (!file->new_exists)
        add_part(out, "deleted");
    if (file->old_exists && file->new_exists && file->old_mode && file->new_mode && file->old_mode != file->new_mode) {
        add_part(out, "");
        strbuf_addf(out, "mode %o becomes %o", file->old_mode, file->new_mode);
    } else if (!file->old_exists && (file->new_mode & 0111)) {
        strbuf_addf(out, ", executable (mode %o)", file->new_mode);
    }
    if (file->moved != DIFFVIEW_UNMOVED) {
        add_part(out, file->new_exists ? "moved from " : "moved to ");
        strbuf_addstr(out, view->files[file->moved].path);
    }
    if (view->file_count > 1 && file->guard) /* with a single file, the head of the question shows it */
        add_part(out, file->guard);
    if (view->file_count > 1 && file->through) {
        add_part(out, "requested through a link as ");
        strbuf_addstr(out, file->through);
    }
    if (view->file_count > 1 && file->loses) {
        add_part(out, file->new_exists ? "loses " : "undo does not restore ");
        strbuf_addstr(out, file->loses);
    }
    if (file->binary) {
        add_part(out, "binary, all or nothing");
        if (file->old_len != SIZE_MAX || file->new_len != SIZE_MAX) {
            strbuf_addstr(out, ": ");
            add_size(out, file->old_exists, file->old_len);
            strbuf_addstr(out, file->old_exists && file->old_len != 1 ? " become " : " becomes ");
            add_size(out, file->new_exists, file->new_len);
        }
    } else if (!file->diff) {
        add_part(out, "cannot show the diff");
    } else if (file->diff->cut) {
        add_part(out, file->diff->estimate ? "too large to compare, all or nothing: at most "
                                           : "too large to show in full, all or nothing: ");
        strbuf_addf(out, "+%zu −%zu", file->added, file->removed);
    } else if (file->diff->hunk_count == 0 && (!file->old_exists || !file->new_exists)) {
        strbuf_addstr(out, ", empty");
    }
    if (out->len == before && (!file->diff || file->diff->hunk_count == 0))
        strbuf_addstr(out, "no lines change");
}

static bool has_note(const struct diffview *view, size_t file)
{
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    diffview_file_note(view, file, &note);
    return note.len > 0;
}

/* ---- rows ---- */

static const struct diff_hunk *hunk_of(const struct diffview *view, const struct diffview_piece *piece)
{
    return piece->hunk == DIFFVIEW_NO_HUNK ? NULL : &view->files[piece->file].diff->hunks[piece->hunk];
}

static int digits_of(long number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

void diffview_arrange(struct diffview *view, bool heads, bool spaced)
{
    size_t row = 0;
    view->heads = heads;
    view->spaced = spaced;
    view->digits = 3;
    for (size_t i = 0; i < view->piece_count; i++) {
        struct diffview_piece *piece = &view->pieces[i];
        const struct diffview_file *file = &view->files[piece->file];
        const struct diff_hunk *hunk = hunk_of(view, piece);
        bool first = file->first_piece == i;
        piece->row = row;
        piece->head = i > 0 && (spaced || (first && heads)) ? 1 : 0;
        if (first)
            piece->head += (heads ? 1u : 0u) + (has_note(view, piece->file) ? 1u : 0u);
        row += piece->head + (hunk ? 1 + hunk->line_count : 0);
        if (hunk) {
            long last = (long)hunk->old_start + hunk->old_count, new_last = (long)hunk->new_start + hunk->new_count;
            int digits = digits_of(last > new_last ? last : new_last);
            view->digits = digits > view->digits ? digits : view->digits;
        }
    }
    view->rows = row;
}

/* After a choice: recomputes the line numbers of each piece of a file. */
static void recount(struct diffview *view, size_t index)
{
    const struct diffview_file *file = &view->files[index];
    long dropped = 0, kept = 0;
    for (size_t i = 0; i < file->piece_count; i++) {
        struct diffview_piece *piece = &view->pieces[file->first_piece + i];
        const struct diff_hunk *hunk = hunk_of(view, piece);
        piece->dropped = dropped;
        piece->kept = kept;
        if (hunk)
            *(piece->keep ? &kept : &dropped) += (long)hunk->added - (long)hunk->removed;
    }
}

static void add_pieces(struct diffview *view, size_t index)
{
    struct diffview_file *file = &view->files[index];
    size_t hunks = file->diff && !file->binary ? file->diff->hunk_count : 0;
    view->whole |= file->diff && file->diff->cut;
    file->first_piece = view->piece_count;
    file->piece_count = hunks ? hunks : 1;
    for (size_t i = 0; i < file->piece_count; i++) {
        GROW(view->pieces, view->piece_count, view->piece_room);
        view->pieces[view->piece_count++] =
            (struct diffview_piece){.file = index, .hunk = hunks ? i : DIFFVIEW_NO_HUNK, .keep = true};
    }
    recount(view, index);
}

/* ---- loading ---- */

static char *only_digest(const char *old, const char *new)
{
    bool is_new = strcmp(old, "absent") == 0, goes = strcmp(new, "absent") == 0;
    return is_new == goes ? NULL : xstrdup(is_new ? new : old);
}

static void find_moves(struct diffview *view)
{
    for (size_t i = 0; i < view->file_count; i++)
        view->files[i].moved = DIFFVIEW_UNMOVED;
    for (size_t i = 0; i < view->file_count && view->file_count <= MOVES_MAX; i++) {
        struct diffview_file *from = &view->files[i];
        for (size_t k = 0; from->digest && !from->new_exists && k < view->file_count; k++) {
            struct diffview_file *to = &view->files[k];
            if (!to->digest || to->old_exists || to->moved != DIFFVIEW_UNMOVED || strcmp(from->digest, to->digest) != 0)
                continue;
            from->moved = k;
            to->moved = i;
            break;
        }
    }
}

static char *copy_text(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

static void add_loss(char **loses, const char *text, size_t len)
{
    char *longer = xasprintf("%s%s%.*s", *loses ? *loses : "", *loses ? ", " : "", (int)len, text);
    free(*loses);
    *loses = longer;
}

/* Loads what is notable about the file and its place, besides the diff. */
static void load_notes(struct diffview_file *file, const struct change *change)
{
    const struct guarded *place = change->guard;
    size_t len;
    file->through = copy_text(change->through);
    file->guard = place ? xstrdup(guard_name(place->guard)) : NULL;
    file->why = place ? xstrdup(place->why) : NULL;
    for (const char *rest = change_loses(change), *line; (line = change_next_loss(&rest, &len));)
        add_loss(&file->loses, line, len);
}

static void load_recorded_notes(struct diffview_file *file, const struct event_proposed_file *item)
{
    const char *why = item->dangerous ? item->dangerous : item->protected;
    file->guard = why ? xstrdup(guard_name(item->dangerous ? GUARD_DANGEROUS : GUARD_PROTECTED)) : NULL;
    file->why = copy_text(why);
    file->through = copy_text(item->through);
    for (size_t i = 0; i < item->loses.count; i++) {
        const char *loss = item->loses.items[i] ? item->loses.items[i] : "?";
        add_loss(&file->loses, loss, strlen(loss));
    }
}

void diffview_load(struct diffview *view, const struct change_set *set, struct diff *const *diffs)
{
    forget_rows(view);
    view->set = change_set_copy(set);
    for (size_t i = 0; i < set->count; i++) {
        const struct change *change = &set->items[i];
        struct diff *diff = diffs ? diff_share(diffs[i]) : NULL;
        GROW(view->files, view->file_count, view->file_room);
        view->files[view->file_count++] = (struct diffview_file){
            .path = xstrdup(change->path),
            .diff = diff,
            .old_exists = change->old.exists,
            .new_exists = change->new.exists,
            .binary = diff && diff->binary,
            .old_mode = change->old.exists ? change->old.mode & 07777 : 0,
            .new_mode = change->new.exists ? change->new.mode & 07777 : 0,
            .old_len = change->old.len,
            .new_len = change->new.len,
            .added = diff ? diff->added : 0,
            .removed = diff ? diff->removed : 0,
            .digest = only_digest(change->old.digest, change->new.digest),
        };
        load_notes(&view->files[i], change);
        add_pieces(view, i);
    }
    find_moves(view);
    diffview_arrange(view, view->heads, view->spaced);
}

static void load_file(struct diffview *view, const struct event_proposed_file *item)
{
    const char *old = item->old_digest ? item->old_digest : "", *new = item->new_digest ? item->new_digest : "";
    GROW(view->files, view->file_count, view->file_room);
    struct diffview_file *file = &view->files[view->file_count++];
    *file = (struct diffview_file){
        .path = xstrdup(item->path ? item->path : "?"),
        .old_exists = strcmp(old, "absent") != 0,
        .new_exists = strcmp(new, "absent") != 0,
        .binary = item->binary,
        .old_len = SIZE_MAX,
        .new_len = SIZE_MAX,
        .added = item->added > 0 ? (size_t)item->added : 0,
        .removed = item->removed > 0 ? (size_t)item->removed : 0,
        .digest = only_digest(old, new),
    };
    load_recorded_notes(file, item);
    if (item->diff && !file->binary) {
        file->text = xstrdup(item->diff);
        file->diff = diff_read(file->text, strlen(file->text));
    }
    add_pieces(view, view->file_count - 1);
}

void diffview_load_recorded(struct diffview *view, const struct event_proposed_file_list *files)
{
    forget_rows(view);
    for (size_t i = 0; i < files->count; i++)
        load_file(view, &files->items[i]);
    find_moves(view);
    diffview_arrange(view, view->heads, view->spaced);
}

/* ---- choosing ---- */

static void keep_file(struct diffview *view, size_t index, bool keep)
{
    const struct diffview_file *file = &view->files[index];
    for (size_t i = 0; i < file->piece_count; i++)
        view->pieces[file->first_piece + i].keep = keep;
    recount(view, index);
}

void diffview_keep(struct diffview *view, size_t piece, bool keep)
{
    if (piece >= view->piece_count || view->whole)
        return;
    size_t file = view->pieces[piece].file, other = view->files[file].moved;
    view->pieces[piece].keep = keep;
    recount(view, file);
    if (other != DIFFVIEW_UNMOVED) {
        keep_file(view, file, keep);
        keep_file(view, other, keep);
    }
}

void diffview_keep_all(struct diffview *view, bool keep)
{
    for (size_t i = 0; i < view->piece_count; i++)
        view->pieces[i].keep = keep;
    for (size_t i = 0; i < view->file_count; i++)
        recount(view, i);
}

size_t diffview_kept(const struct diffview *view)
{
    size_t kept = 0;
    for (size_t i = 0; i < view->piece_count; i++)
        kept += view->pieces[i].keep;
    return kept;
}

void diffview_counts(const struct diffview *view, size_t *added, size_t *removed)
{
    *added = *removed = 0;
    for (size_t i = 0; i < view->piece_count; i++) {
        const struct diff_hunk *hunk = hunk_of(view, &view->pieces[i]);
        if (hunk && view->pieces[i].keep) {
            *added += hunk->added;
            *removed += hunk->removed;
        }
    }
}

static void keep_recorded(struct diffview *view, size_t index, const struct event_hunk_choice *choice)
{
    const struct diffview_file *file = &view->files[index];
    if (strcmp(choice->path ? choice->path : "", file->path) != 0)
        return;
    for (size_t i = 0; i < choice->keep.count; i++) {
        int64_t n = choice->keep.items[i];
        if (n >= 1 && (uint64_t)n <= file->piece_count)
            view->pieces[file->first_piece + (size_t)n - 1].keep = true;
    }
}

void diffview_decide(struct diffview *view, const char *decision, const struct event_hunk_choice_list *hunks)
{
    bool partial = strcmp(decision, "partial") == 0;
    view->decided = true;
    diffview_keep_all(view, strcmp(decision, "approved") == 0 || strcmp(decision, "edited") == 0);
    for (size_t i = 0; partial && i < view->file_count; i++) {
        for (size_t k = 0; k < hunks->count; k++)
            keep_recorded(view, i, &hunks->items[k]);
        recount(view, i);
    }
}

struct event_hunk_choice_list diffview_hunks(const struct diffview *view, struct arena *arena)
{
    struct event_hunk_choice *items = arena_calloc(arena, view->file_count + 1, sizeof(*items));
    for (size_t i = 0; i < view->file_count; i++) {
        const struct diffview_file *file = &view->files[i];
        int64_t *keep = arena_calloc(arena, file->piece_count + 1, sizeof(*keep));
        size_t count = 0;
        for (size_t k = 0; k < file->piece_count; k++)
            if (view->pieces[file->first_piece + k].keep)
                keep[count++] = (int64_t)k + 1;
        items[i] =
            (struct event_hunk_choice){.path = file->path, .keep = {keep, count}, .of = (int64_t)file->piece_count};
    }
    return (struct event_hunk_choice_list){items, view->file_count};
}

/* ---- finding ---- */

size_t diffview_rows(const struct diffview *view)
{
    return view->rows;
}

size_t diffview_piece_at(const struct diffview *view, size_t row)
{
    size_t low = 0, high = view->piece_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (view->pieces[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t diffview_row_of(const struct diffview *view, size_t piece)
{
    if (piece >= view->piece_count)
        return 0;
    const struct diffview_piece *p = &view->pieces[piece];
    return p->row + p->head - (p->hunk == DIFFVIEW_NO_HUNK && p->head ? 1 : 0);
}

bool diffview_search(const struct diffview *view, const char *text, bool back, size_t *row)
{
    if (!view->piece_count)
        return false;
    for (size_t i = diffview_piece_at(view, *row); i < view->piece_count; back ? i-- : i++) {
        const struct diffview_piece *piece = &view->pieces[i];
        const struct diff_hunk *hunk = hunk_of(view, piece);
        for (size_t n = 0; hunk && n < hunk->line_count; n++) {
            size_t k = back ? hunk->line_count - 1 - n : n;
            size_t at = piece->row + piece->head + 1 + k;
            const struct diff_line *line = &view->files[piece->file].diff->lines[hunk->first_line + k];
            if ((back ? at < *row : at > *row) && text_match_find(line->text, line->len, text)) {
                *row = at;
                return true;
            }
        }
    }
    return false;
}

/* ---- diffs of a recording ---- */

/* A recording may come from anyone, so nothing in it is trusted. Line numbers are counted from the head of the hunk and
 * stop at INT_MAX. The counts in the head are not used. Inside a hunk every line begins with its sign, so a line that
 * begins with "@@" can only be the next head. */

struct diff_reader {
    struct diff *diff;
    size_t hunk_room, line_room;
    int old_no, new_no; /* of the next line */
};

static int read_number(const char **at, const char *end)
{
    long value = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        if (value < INT_MAX / 10)
            value = value * 10 + (**at - '0');
        ++*at;
    }
    return (int)value;
}

static int read_range(const char **at, const char *end, char sign)
{
    while (*at < end && **at != sign)
        ++*at;
    if (*at < end)
        ++*at;
    int first = read_number(at, end);
    if (*at < end && **at == ',') {
        ++*at;
        read_number(at, end);
    }
    return first;
}

/* "@@ -1,4 +1,5 @@ int main(void)" */
static void read_head(struct diff_reader *reading, const char *line, size_t len)
{
    struct diff *diff = reading->diff;
    const char *at = line + 2, *end = line + len;
    int old_start = read_range(&at, end, '-');
    int new_start = read_range(&at, end, '+');
    const char *marks = memmem(at, (size_t)(end - at), "@@", 2);
    at = marks ? marks + 2 : end;
    if (at < end && *at == ' ')
        at++;
    GROW(diff->hunks, diff->hunk_count, reading->hunk_room);
    diff->hunks[diff->hunk_count++] = (struct diff_hunk){
        .old_start = old_start,
        .new_start = new_start,
        .heading = xmemdup0(at, (size_t)(end - at)),
        .first_line = diff->line_count,
    };
    reading->old_no = old_start ? old_start : 1;
    reading->new_no = new_start ? new_start : 1;
}

static int next_number(int *number)
{
    int now = *number;
    if (*number < INT_MAX)
        ++*number;
    return now;
}

static void read_line(struct diff_reader *reading, const char *line, size_t len)
{
    struct diff *diff = reading->diff;
    struct diff_hunk *hunk = &diff->hunks[diff->hunk_count - 1];
    char origin = line[0];
    if (origin == '\\') {
        if (hunk->line_count)
            diff->lines[diff->line_count - 1].no_newline = true;
        return;
    }
    if (origin != ' ' && origin != '+' && origin != '-')
        return;
    GROW(diff->lines, diff->line_count, reading->line_room);
    diff->lines[diff->line_count++] = (struct diff_line){
        .origin = origin,
        .old_no = origin == '+' ? 0 : next_number(&reading->old_no),
        .new_no = origin == '-' ? 0 : next_number(&reading->new_no),
        .text = line + 1,
        .len = len - 1,
    };
    hunk->line_count++;
    hunk->old_count += origin != '+';
    hunk->new_count += origin != '-';
    hunk->added += origin == '+';
    hunk->removed += origin == '-';
}

static bool begins(const char *line, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

struct diff *diff_read(const char *text, size_t len)
{
    struct diff_reader reading = {.diff = xcalloc(1, sizeof(struct diff))};
    struct diff *diff = reading.diff;
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((newline ? newline : end) - at);
        if (line >= 2 && memcmp(at, "@@", 2) == 0)
            read_head(&reading, at, line);
        else if (begins(at, line, "\\ Too large to be compared"))
            diff->cut = diff->estimate = true;
        else if (begins(at, line, "\\ Too large to be shown"))
            diff->cut = true;
        else if (line && diff->hunk_count)
            read_line(&reading, at, line);
        at += line + (newline != NULL);
    }
    for (size_t i = 0; i < diff->hunk_count; i++) {
        diff->added += diff->hunks[i].added;
        diff->removed += diff->hunks[i].removed;
    }
    return diff;
}
