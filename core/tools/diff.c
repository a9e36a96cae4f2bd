/* Computes diffs with libgit2. Only this file includes its headers, because <git2.h> as a whole has a member named
 * like a function that banned.h poisons.
 *
 * The lines of a diff point into the two texts; no text is copied. libgit2 returns such pointers because buffers pass
 * no filter and no conversion. So CR LF and a missing last newline appear as they are.
 *
 * Selecting single hunks needs no fuzzy matching. A hunk names the lines of the old text that it replaces, hunks
 * never overlap, and dropping one leaves those lines alone. So diff_apply is one pass over the old text, and any
 * selection fits. A missing newline at the end is always in the last hunk, if it is in any, so selections cannot join
 * lines.
 *
 * A diff may be as large as two files, and finding the smallest one may take quadratic time. So there are two limits.
 * A stored diff ends at DIFF_LINES_MAX and DIFF_TEXT_MAX; the counts continue. And if more than COMPARE_LINES remain
 * between the common beginning and the common end, a bounded search first checks whether few edits lead from one text
 * to the other. Only then are they compared in full.
 *
 * Safe on any thread: libgit2 keeps its state per thread and is started once. It is never shut down, because a pool
 * thread may still use it when the process exits. */

#include "diff.h"
#include "base/hash.h"
#include "base/lazy_link.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <git2/diff.h>
#include <git2/errors.h>
#include <git2/global.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#define CONTEXT_LINES 3
#define COMPARE_LINES 600000  /* of both texts: always compared up to this */
#define SEARCH_LINES  4000000 /* of both texts: never compared above this */
#define SEARCH_EDITS  2000
#define HUNK_LINE     48u          /* bytes of "@@ -1,2 +3,4 @@", about */
#define SEARCH_STEPS  (100u << 20) /* lines visited by the search */

/* The functions of libgit2 in use, without "git_". */
#define GIT_CALLS(X) X(diff_buffers) X(diff_options_init) X(error_last) X(libgit2_init)

static struct {
#define X(name) __typeof__(git_##name) *name;
    GIT_CALLS(X)
#undef X
} git;

static pthread_once_t started = PTHREAD_ONCE_INIT;
static struct err not_started; /* why, if it failed */

static void start(void)
{
    static const struct lazy_symbol symbols[] = {
#define X(name) {"git_" #name, (void **)&git.name},
        GIT_CALLS(X)
#undef X
    };
    if (lazy_link(LIBGIT2, symbols, COUNT_OF(symbols), &not_started) == 0)
        git.libgit2_init();
}

struct hunk_collector {
    struct diff *diff;
    size_t changed, bytes; /* kept */
    size_t hunk_room, line_room;
};

static int on_file(const git_diff_delta *delta, float progress, void *payload)
{
    (void)progress;
    struct hunk_collector *c = payload;
    c->diff->binary |= (delta->flags & GIT_DIFF_FLAG_BINARY) != 0;
    return 0;
}

static int on_binary(const git_diff_delta *delta, const git_diff_binary *binary, void *payload)
{
    (void)delta;
    (void)binary;
    struct hunk_collector *c = payload;
    c->diff->binary = true;
    return 0;
}

/* Whether one more line may be stored. Beyond the limit only the counts continue. */
static bool has_room(struct hunk_collector *c, const git_diff_line *line)
{
    if (c->diff->cut)
        return false;
    c->changed += line->origin != GIT_DIFF_LINE_CONTEXT;
    c->bytes += line->content_len;
    c->diff->cut = c->changed > DIFF_LINES_MAX || c->bytes > DIFF_TEXT_MAX;
    return !c->diff->cut;
}

/* "@@ -1,4 +1,5 @@ int main(void)\n" → "int main(void)" */
static char *heading_of(const git_diff_hunk *hunk)
{
    const char *at = hunk->header + (hunk->header_len >= 2 ? 2 : 0);
    const char *end = hunk->header + hunk->header_len;
    const char *marks = memmem(at, (size_t)(end - at), "@@", 2);
    if (!marks)
        return xstrdup("");
    at = marks + 2;
    if (at < end && *at == ' ')
        at++;
    while (end > at && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
        end--;
    return xmemdup0(at, (size_t)(end - at));
}

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *payload)
{
    (void)delta;
    struct hunk_collector *c = payload;
    struct diff *diff = c->diff;
    if (diff->cut)
        return 0;
    GROW(diff->hunks, diff->hunk_count, c->hunk_room);
    diff->hunks[diff->hunk_count++] = (struct diff_hunk){
        .old_start = hunk->old_start,
        .old_count = hunk->old_lines,
        .new_start = hunk->new_start,
        .new_count = hunk->new_lines,
        .heading = heading_of(hunk),
        .first_line = diff->line_count,
    };
    return 0;
}

static int on_diff_line(const git_diff_delta *delta, const git_diff_hunk *ignored, const git_diff_line *line,
                        void *payload)
{
    (void)delta;
    (void)ignored;
    struct hunk_collector *c = payload;
    struct diff *diff = c->diff;
    /* The three "no newline at end of file" origins follow their line, whose length has the same information. */
    if (line->origin != GIT_DIFF_LINE_CONTEXT && line->origin != GIT_DIFF_LINE_ADDITION &&
        line->origin != GIT_DIFF_LINE_DELETION)
        return 0;
    diff->added += line->origin == GIT_DIFF_LINE_ADDITION;
    diff->removed += line->origin == GIT_DIFF_LINE_DELETION;
    if (!has_room(c, line))
        return 0;
    bool newline = line->content_len > 0 && line->content[line->content_len - 1] == '\n';
    GROW(diff->lines, diff->line_count, c->line_room);
    diff->lines[diff->line_count++] = (struct diff_line){
        .origin = line->origin,
        .old_no = line->old_lineno > 0 ? line->old_lineno : 0,
        .new_no = line->new_lineno > 0 ? line->new_lineno : 0,
        .text = line->content,
        .len = line->content_len - newline,
        .no_newline = !newline,
    };
    struct diff_hunk *hunk = &diff->hunks[diff->hunk_count - 1];
    hunk->line_count++;
    hunk->added += line->origin == GIT_DIFF_LINE_ADDITION;
    hunk->removed += line->origin == GIT_DIFF_LINE_DELETION;
    return 0;
}

/* ---- texts that are too large to compare ---- */

/* A text as digests of its lines. */
struct diff_lines {
    uint64_t *hashes;
    size_t count;
};

/* As libgit2 decides it: it does not compare such texts. */
static bool looks_binary(const char *text, size_t len)
{
    return len && memchr(text, '\0', len < 8000 ? len : 8000);
}

static size_t count_lines(const char *text, size_t len)
{
    size_t count = len > 0 && text[len - 1] != '\n';
    for (const char *at = text, *end = text + len; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

static struct diff_lines hash_lines(const char *text, size_t len, size_t count)
{
    struct diff_lines lines = {xcalloc(count, sizeof(uint64_t)), 0};
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        lines.hashes[lines.count++] = hash_fnv1a(at, (size_t)(next - at));
        at = next;
    }
    return lines;
}

/* Whether few edits lead from one text to the other: Myers' greedy search without recording the path. `far[k]` is the
 * furthest old line on diagonal k (old minus new) with the edits so far. */
static bool few_edits(const struct diff_lines *old, const struct diff_lines *new)
{
    CLEANUP(free) size_t *room = xcalloc(2 * SEARCH_EDITS + 3, sizeof(*room));
    size_t *far = room + SEARCH_EDITS + 1; /* of diagonal 0; 0 where the search has not been */
    size_t steps = 0;
    for (ptrdiff_t edits = 0; edits <= SEARCH_EDITS; edits++) {
        for (ptrdiff_t k = -edits; k <= edits; k += 2) {
            size_t x = edits == 0                                               ? 0
                       : k == -edits || (k != edits && far[k - 1] < far[k + 1]) ? far[k + 1]
                                                                                : far[k - 1] + 1;
            if ((ptrdiff_t)x < k || x > old->count)
                continue;
            size_t y = (size_t)((ptrdiff_t)x - k);
            while (x < old->count && y < new->count && old->hashes[x] == new->hashes[y]) {
                x++;
                y++;
                steps++;
            }
            far[k] = x;
            if (x == old->count && y == new->count)
                return true;
        }
        if (steps > SEARCH_STEPS)
            return false;
    }
    return false;
}

/* True if comparing them could take minutes. Then the diff has only counts, as if everything between the first and
 * the last difference were replaced. */
static bool too_much(struct diff *diff, const char *old, size_t old_len, const char *new, size_t new_len)
{
    if (old_len + new_len <= COMPARE_LINES)
        return false;
    old = old_len ? old : "";
    new = new_len ? new : "";
    size_t lines = count_lines(old, old_len) + count_lines(new, new_len);
    if (lines <= COMPARE_LINES || looks_binary(old, old_len) || looks_binary(new, new_len))
        return false;
    size_t shorter = old_len < new_len ? old_len : new_len, front = 0, back = 0;
    while (front < shorter && old[front] == new[front])
        front++;
    while (front > 0 && old[front - 1] != '\n')
        front--;
    while (back < shorter - front && old[old_len - 1 - back] == new[new_len - 1 - back])
        back++;
    const char *newline = back ? memchr(old + old_len - back, '\n', back) : NULL;
    back = newline ? (size_t)(old + old_len - newline - 1) : 0;
    old += front;
    new += front;
    old_len -= front + back;
    new_len -= front + back;
    size_t old_count = count_lines(old, old_len), new_count = count_lines(new, new_len);
    if (old_count + new_count <= COMPARE_LINES)
        return false;
    if (lines <= SEARCH_LINES) {
        struct diff_lines a = hash_lines(old, old_len, old_count), b = hash_lines(new, new_len, new_count);
        bool few = few_edits(&a, &b);
        free(a.hashes);
        free(b.hashes);
        if (few)
            return false;
    }
    diff->cut = diff->estimate = true;
    diff->added = new_count;
    diff->removed = old_count;
    return true;
}

struct diff *diff_new(const char *path, const char *old, size_t old_len, const char *new, size_t new_len,
                      struct err *err)
{
    if (old_len > INT_MAX || new_len > INT_MAX) {
        err_set(err, "%s is too large to diff", path);
        return NULL;
    }
    pthread_once(&started, start);
    if (not_started.text[0]) {
        err_set(err, "cannot diff %s: %s", path, not_started.text);
        return NULL;
    }
    git_diff_options options;
    git.diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.context_lines = CONTEXT_LINES;
    options.interhunk_lines = 0;
    options.flags |= GIT_DIFF_INDENT_HEURISTIC; /* git's default */
    struct diff *diff = xcalloc(1, sizeof(*diff));
    if (too_much(diff, old, old_len, new, new_len))
        return diff;
    struct hunk_collector collector = {.diff = diff};
    if (git.diff_buffers(old, old_len, path, new, new_len, path, &options, on_file, on_binary, on_hunk, on_diff_line,
                         &collector) < 0) {
        const git_error *why = git.error_last();
        err_set(err, "cannot diff %s: %s", path, why && why->message ? why->message : "unknown reason");
        diff_free(diff);
        return NULL;
    }
    return diff;
}

struct diff *diff_share(struct diff *diff)
{
    if (diff)
        atomic_fetch_add(&diff->holders, 1);
    return diff;
}

void diff_free(struct diff *diff)
{
    if (!diff || atomic_fetch_sub(&diff->holders, 1) > 0)
        return;
    for (size_t i = 0; i < diff->hunk_count; i++)
        free(diff->hunks[i].heading);
    free(diff->hunks);
    free(diff->lines);
    free(diff);
}

/* A name as git writes it: quoted if a character in it would break the line, and followed by a tab if it contains a
 * space, so that other tools find its end. Letters beyond ASCII stay readable. */
static void write_name(struct strbuf *out, const char *prefix, const char *path)
{
    bool quote = strpbrk(path, "\"\\\n\r\t") != NULL;
    for (const char *at = path; *at && !quote; at++)
        quote = (unsigned char)*at < 0x20 || *at == 0x7F;
    if (!quote) {
        strbuf_addstr(out, prefix);
        strbuf_addstr(out, path);
        if (strchr(path, ' '))
            strbuf_addch(out, '\t');
        return;
    }
    strbuf_addch(out, '"');
    strbuf_addstr(out, prefix);
    for (const char *at = path; *at; at++) {
        static const char plain[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
        const char *found = strchr(plain, *at);
        if (found)
            strbuf_addf(out, "\\%c", letters[found - plain]);
        else if ((unsigned char)*at < 0x20 || *at == 0x7F)
            strbuf_addf(out, "\\%03o", (unsigned)*at);
        else
            strbuf_addch(out, *at);
    }
    strbuf_addch(out, '"');
}

static void write_side(struct strbuf *out, const char *prefix, const char *path, bool exists)
{
    if (exists)
        write_name(out, prefix, path);
    else
        strbuf_addstr(out, "/dev/null");
}

static void write_range(struct strbuf *out, char sign, int first, int count)
{
    strbuf_addf(out, "%c%d", sign, first);
    if (count != 1)
        strbuf_addf(out, ",%d", count);
}

/* A line costs its text and its sign; a hunk costs its header line. */
void diff_cut(struct diff *diff, size_t bytes)
{
    size_t used = 0, hunks = 0, lines = 0;
    for (bool fits = true; fits && hunks < diff->hunk_count; hunks += fits) {
        struct diff_hunk *hunk = &diff->hunks[hunks];
        size_t kept = 0;
        used += strlen(hunk->heading) + HUNK_LINE;
        while (kept < hunk->line_count && (used += diff->lines[hunk->first_line + kept].len + 2) <= bytes)
            kept++;
        lines += kept;
        fits = kept == hunk->line_count;
        diff->cut |= !fits;
        hunk->line_count = kept;
    }
    if (!diff->cut)
        return;
    size_t kept = hunks < diff->hunk_count && diff->hunks[hunks].line_count ? hunks + 1 : hunks;
    for (size_t i = kept; i < diff->hunk_count; i++)
        free(diff->hunks[i].heading);
    diff->hunk_count = kept;
    diff->line_count = lines;
}

void diff_write(struct strbuf *out, const struct diff *diff, const char *path, bool old_exists, bool new_exists)
{
    if (diff->binary) {
        strbuf_addstr(out, "Binary files ");
        write_side(out, "a/", path, old_exists);
        strbuf_addstr(out, " and ");
        write_side(out, "b/", path, new_exists);
        strbuf_addstr(out, " differ\n");
        return;
    }
    if (diff->hunk_count == 0 && !diff->cut)
        return;
    strbuf_addstr(out, "--- ");
    write_side(out, "a/", path, old_exists);
    strbuf_addstr(out, "\n+++ ");
    write_side(out, "b/", path, new_exists);
    strbuf_addch(out, '\n');
    for (size_t i = 0; i < diff->hunk_count; i++) {
        const struct diff_hunk *hunk = &diff->hunks[i];
        strbuf_addstr(out, "@@ ");
        write_range(out, '-', hunk->old_start, hunk->old_count);
        strbuf_addch(out, ' ');
        write_range(out, '+', hunk->new_start, hunk->new_count);
        strbuf_addstr(out, " @@");
        if (hunk->heading[0])
            strbuf_addf(out, " %s", hunk->heading);
        strbuf_addch(out, '\n');
        for (size_t k = 0; k < hunk->line_count; k++) {
            const struct diff_line *line = &diff->lines[hunk->first_line + k];
            strbuf_addch(out, line->origin);
            strbuf_add(out, line->text, line->len);
            strbuf_addstr(out, line->no_newline ? "\n\\ No newline at end of file\n" : "\n");
        }
    }
    if (diff->estimate)
        strbuf_addf(out, "\\ Too large to be compared: at most %zu lines added and %zu removed\n", diff->added,
                    diff->removed);
    else if (diff->cut)
        strbuf_addf(out, "\\ Too large to be shown whole: %zu lines added and %zu removed in all\n", diff->added,
                    diff->removed);
}

/* The position after `count` more lines. */
static const char *skip_lines(const char *at, const char *end, int count)
{
    while (count-- > 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return at;
}

void diff_apply(struct strbuf *out, const struct diff *diff, const char *old, size_t old_len, const bool *keep)
{
    const char *at = old_len ? old : "";
    const char *end = at + old_len;
    int line_no = 1; /* of `at` */
    strbuf_grow(out, old_len);
    for (size_t i = 0; i < diff->hunk_count; i++) {
        const struct diff_hunk *hunk = &diff->hunks[i];
        /* A hunk without old lines names the line it comes after. */
        int first = hunk->old_count ? hunk->old_start : hunk->old_start + 1;
        const char *begin = skip_lines(at, end, first - line_no);
        const char *behind = skip_lines(begin, end, hunk->old_count);
        line_no = first + hunk->old_count;
        strbuf_add(out, at, (size_t)((keep[i] ? begin : behind) - at));
        at = behind;
        for (size_t k = 0; keep[i] && k < hunk->line_count; k++) {
            const struct diff_line *line = &diff->lines[hunk->first_line + k];
            if (line->origin != '-')
                strbuf_add(out, line->text, line->len + !line->no_newline);
        }
    }
    strbuf_add(out, at, (size_t)(end - at));
}
