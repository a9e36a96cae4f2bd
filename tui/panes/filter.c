/* Filters: parses what the user typed, and finds the rows that match.
 *
 * A million journal lines are matched in the file: the code skips over the members of a line to the one it needs, and
 * decodes nothing. That takes a fifth of the time of decoding all lines (bench_frames, filter-1m-events). Only the list
 * of events needs this; other lists match their rows. Texts are searched in values only. Every line has the keys "turn"
 * and "type", and a user who types "turn" does not mean those. */

#include "filter.h"
#include "app/view.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "screen/text.h"
#include <ctype.h>
#include <string.h>

void filter_init(struct filter *filter)
{
    *filter = (struct filter){0};
}

void filter_release(struct filter *filter)
{
    for (size_t i = 0; i < filter->count; i++) {
        free(filter->terms[i].text);
        free(filter->terms[i].printable);
    }
    free(filter->terms);
    filter_init(filter);
}

/* ---- parsing ---- */

static bool filter_kind_fits(const char *kind, const char *name, size_t len);

/* True for the name of an event, a prefix of one, or a name with a star in place of a part. */
static bool is_kind(const char *word)
{
    for (int type = 1; type < EVENT_TYPE_COUNT; type++) {
        const char *name = event_type_name((enum event_type)type);
        if (filter_kind_fits(word, name, strlen(name)))
            return true;
    }
    return false;
}

/* Journals escape invisible characters, so the search uses the escaped text too. Journals of older versions do not
 * escape. */
static char *printable(const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    strbuf_addstr(&out, text);
    json_make_printable(&out, 0);
    return strcmp(out.buf, text) == 0 ? NULL : strbuf_detach(&out, NULL);
}

static void append(struct filter *filter, struct filter_term term)
{
    term.printable = printable(term.text);
    GROW(filter->terms, filter->count, filter->room);
    filter->terms[filter->count++] = term;
}

static void add_term(struct filter *filter, const struct view *view, const char *word, size_t len, bool not,
                     bool quoted)
{
    static const char *const names[] = {[FILTER_KIND] = "kind:", [FILTER_CALL] = "call:", [FILTER_TEXT] = "text:"};
    struct filter_term term = {FILTER_TEXT, not, NULL, NULL};
    bool named = false;
    for (size_t i = 0; !quoted && !named && i < COUNT_OF(names); i++) {
        size_t prefix = strlen(names[i]);
        if (len >= prefix && memcmp(word, names[i], prefix) == 0) {
            term.kind = (enum filter_term_kind)i;
            word += prefix;
            len -= prefix;
            named = true;
        }
    }
    if (!len)
        return; /* "kind:" without a value: the user is still typing */
    term.text = xmemdup0(word, len);
    if (!named && !quoted) {
        if (is_kind(term.text))
            term.kind = FILTER_KIND;
        else if (view && view->session && session_find_call(view->session, term.text) != SESSION_NONE)
            term.kind = FILTER_CALL;
    }
    append(filter, term);
}

void filter_parse(struct filter *filter, const struct view *view, const char *text)
{
    filter_release(filter);
    while (*text) {
        if (isspace((unsigned char)*text)) {
            text++;
            continue;
        }
        bool not = *text == '!';
        text += not ;
        bool quoted = *text == '"';
        text += quoted;
        size_t len = quoted ? strcspn(text, "\"") : strcspn(text, " \t\n");
        add_term(filter, view, text, len, not, quoted);
        text += len + (quoted && text[len] == '"');
    }
}

void filter_parse_texts(struct filter *filter, const char *text)
{
    filter_parse(filter, NULL, text);
    for (size_t i = 0; i < filter->count; i++)
        filter->terms[i].kind = FILTER_TEXT;
}

void filter_set_text(struct filter *filter, const char *text)
{
    filter_release(filter);
    if (*text)
        append(filter, (struct filter_term){FILTER_TEXT, false, xstrdup(text), NULL});
}

bool filter_fits(const struct filter *filter, bool (*fits)(const struct filter_term *term, void *data), void *data)
{
    bool wanted[FILTER_TEXT + 1] = {false}, found[FILTER_TEXT + 1] = {false};
    for (size_t i = 0; i < filter->count; i++) {
        const struct filter_term *term = &filter->terms[i];
        bool yes = fits(term, data);
        if (term->not || term->kind == FILTER_TEXT) {
            if (yes == term->not )
                return false;
            continue;
        }
        wanted[term->kind] = true;
        found[term->kind] |= yes;
    }
    return (!wanted[FILTER_KIND] || found[FILTER_KIND]) && (!wanted[FILTER_CALL] || found[FILTER_CALL]);
}

/* True if a dotted name is of a kind: "write" and "write.*" both match "write.proposed", "*.failed" matches several. */
static bool filter_kind_fits(const char *kind, const char *name, size_t len)
{
    size_t want = strlen(kind);
    const char *star = memchr(kind, '*', want);
    if (star) {
        size_t before = (size_t)(star - kind), after = want - before - 1;
        return want > 1 && len >= before + after && memcmp(name, kind, before) == 0 &&
               memcmp(name + len - after, star + 1, after) == 0;
    }
    return len >= want && want && memcmp(name, kind, want) == 0 && (len == want || name[want] == '.');
}

struct filter_plain {
    const char *text;
    size_t len;
};

static bool plain_fits(const struct filter_term *term, void *data)
{
    const struct filter_plain *plain = data;
    return text_match_find(plain->text, plain->len, term->text);
}

bool filter_text_fits(const struct filter *filter, const char *text, size_t len)
{
    return filter_fits(filter, plain_fits, &(struct filter_plain){text, len});
}

/* ---- lines of the journal ---- */

/* For a string whose opening quote is at `at`: the position after its closing quote. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* The text of a string member of the line's object; false if it is missing or not a string. */
static bool find_member(const char *line, size_t len, const char *key, const char **value, size_t *value_len)
{
    struct json_members scan;
    struct json_member member;
    size_t want = strlen(key);
    json_members_begin(&scan, line, len);
    while (json_members_next(&scan, &member) > 0) {
        if (member.key_len != want || memcmp(member.key, key, want) != 0)
            continue;
        *value = member.value + 1;
        *value_len = member.len - 2;
        return *member.value == '"';
    }
    return false;
}

/* Searches the values, not the keys. */
static bool has_text(const char *line, size_t len, const char *needle)
{
    if (!text_match_find(line, len, needle))
        return false;
    const char *end = line + len;
    for (const char *at = line; at < end;) {
        const char *from = at;
        if (*at == '"') {
            at = string_end(at, end);
            const char *next = skip_blank(at, end);
            if (next < end && *next == ':')
                continue;
        } else {
            while (at < end && *at != '"')
                at++;
        }
        if (text_match_find(from, (size_t)(at - from), needle))
            return true;
    }
    return false;
}

struct filter_line {
    const struct view *view;
    const char *text;
    size_t len;
    const char *type;
    size_t type_len;
};

static bool is_type(const struct filter_line *line, const char *type)
{
    return line->type_len == strlen(type) && memcmp(line->type, type, line->type_len) == 0;
}

/* A call's id as a journal line has it: in today's form, or in that of older versions. */
static void quote(struct strbuf *out, const char *call, bool today)
{
    strbuf_reset(out);
    json_write_str(out, call, strlen(call), JSON_COMPACT);
    if (today)
        json_make_printable(out, 0);
}

/* True for events of the call, and for events that mention it among others. */
static bool line_of_call(const struct filter_line *line, const char *call)
{
    const char *value;
    size_t len;
    CLEANUP(strbuf) struct strbuf quoted = STRBUF_INIT;
    if (find_member(line->text, line->len, "call", &value, &len)) {
        if (!memchr(value, '\\', len))
            return len == strlen(call) && memcmp(value, call, len) == 0;
        quote(&quoted, call, true);
        return len + 2 == quoted.len && memcmp(value, quoted.buf + 1, len) == 0;
    }
    if (is_type(line, "model.responded") || is_type(line, "waves.planned")) {
        quote(&quoted, call, true);
        if (memmem(line->text, line->len, quoted.buf, quoted.len))
            return true;
        quote(&quoted, call, false);
        return memmem(line->text, line->len, quoted.buf, quoted.len);
    }
    if (is_type(line, "write.decided") && find_member(line->text, line->len, "ask", &value, &len) &&
        line->view->session) {
        CLEANUP(free) char *id = xmemdup0(value, len);
        const struct session *session = line->view->session;
        uint32_t ask = session_find_ask(session, id);
        uint32_t row = ask == SESSION_NONE ? SESSION_NONE : session->asks[ask].call;
        return row != SESSION_NONE && strcmp(session_name(session, session->calls[row].id), call) == 0;
    }
    return false;
}

static bool line_fits(const struct filter_term *term, void *data)
{
    struct filter_line *line = data;
    if (term->kind != FILTER_TEXT && !line->type &&
        !find_member(line->text, line->len, "type", &line->type, &line->type_len)) {
        line->type = "";
        line->type_len = 0;
    }
    switch (term->kind) {
    case FILTER_KIND:
        return filter_kind_fits(term->text, line->type, line->type_len);
    case FILTER_CALL:
        return line_of_call(line, term->text);
    case FILTER_TEXT:
        return has_text(line->text, line->len, term->text) ||
               (term->printable && has_text(line->text, line->len, term->printable));
    }
    return false;
}

bool filter_line_fits(const struct filter *filter, const struct view *view, const char *text, size_t len)
{
    struct filter_line line = {view, text, len, NULL, 0};
    return filter_fits(filter, line_fits, &line);
}

void filter_note(struct strbuf *out, const char *text, const char *title, int width)
{
    /* 10: the number of the pane and parts of the frame */
    int room = width - 10 - (int)strlen(title) - (int)utf8_columns(out->buf, out->len);
    if (text && *text && (int)utf8_columns(text, strlen(text)) + 3 <= room)
        strbuf_addf(out, " · %s", text);
    else if (room >= 11)
        strbuf_addstr(out, " · filtered");
}

/* ---- matching rows ---- */

void matches_release(struct matches *matches)
{
    free(matches->rows);
    *matches = (struct matches){0};
}

void matches_reset(struct matches *matches)
{
    matches->count = matches->scanned = 0;
}

size_t matches_find(const struct matches *matches, size_t row)
{
    size_t low = 0, high = matches->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (matches->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Drops the matches from this row on, so that the rows are checked again. */
static void matches_cut(struct matches *matches, size_t row)
{
    if (matches->scanned <= row)
        return;
    matches->count = matches_find(matches, row);
    matches->scanned = row;
}

bool matches_work(struct matches *matches, size_t total, size_t budget, bool (*fits)(size_t row, void *data),
                  void *data)
{
    matches_cut(matches, total);
    for (; budget && matches->scanned < total; budget--, matches->scanned++) {
        if (!fits(matches->scanned, data))
            continue;
        GROW(matches->rows, matches->count, matches->room);
        matches->rows[matches->count++] = (uint32_t)matches->scanned;
    }
    return matches->scanned < total;
}

/* ---- rows of a list ---- */

/* Filters and searches a list, a piece at a time.
 *
 * Rows that may still change (a running call, an unfinished answer) are matched again when the session has changed:
 * their old matches are dropped. There are few such rows, those of one step at most. */

#define PIECE       64 /* rows between two checks of the bytes read */
#define PIECE_BYTES (4u << 20)

void row_filter_init(struct row_filter *rows_filter)
{
    *rows_filter = (struct row_filter){0};
}

void row_filter_release(struct row_filter *rows_filter)
{
    filter_release(&rows_filter->filter);
    filter_release(&rows_filter->search.wanted);
    matches_release(&rows_filter->matches);
}

/* ---- the filter ---- */

struct asked {
    const struct row_filter_rows *rows;
    const struct filter *filter;
    size_t bytes;
};

static bool row_fits(size_t row, void *data)
{
    struct asked *asked = data;
    return asked->rows->fits(asked->rows, asked->filter, row, &asked->bytes);
}

void row_filter_begin(struct row_filter *rows_filter)
{
    rows_filter->filtered = rows_filter->filter.count > 0;
    rows_filter->working = false;
    matches_reset(&rows_filter->matches);
    row_filter_search_stop(rows_filter);
}

static void forget_matches(struct row_filter *rows_filter, const struct row_filter_rows *rows)
{
    if (rows_filter->of != rows->of) {
        matches_reset(&rows_filter->matches);
        row_filter_search_stop(rows_filter);
    } else if (rows_filter->state != rows->state) {
        matches_cut(&rows_filter->matches, rows_filter->settled < rows->settled ? rows_filter->settled : rows->settled);
    }
    matches_cut(&rows_filter->matches, rows->total);
    rows_filter->of = rows->of;
    rows_filter->state = rows->state;
    rows_filter->settled = rows->settled;
}

bool row_filter_look(struct row_filter *rows_filter, const struct row_filter_rows *rows, size_t most)
{
    struct asked asked = {rows, &rows_filter->filter, 0};
    forget_matches(rows_filter, rows);
    rows_filter->working = rows_filter->filtered && rows_filter->matches.scanned < rows->total;
    /* Pieces are also bounded in bytes, because rows may be long. */
    while (rows_filter->working && most && asked.bytes < PIECE_BYTES) {
        size_t piece = most < PIECE ? most : PIECE;
        rows_filter->working = matches_work(&rows_filter->matches, rows->total, piece, row_fits, &asked);
        view_frame_end(rows->view); /* frees what these rows put into the cache */
        most -= piece;
    }
    return rows_filter->working;
}

size_t row_filter_count(const struct row_filter *rows_filter, const struct row_filter_rows *rows)
{
    return rows_filter->filtered ? rows_filter->matches.count : rows->total;
}

size_t row_filter_row(const struct row_filter *rows_filter, size_t index)
{
    return rows_filter->filtered ? rows_filter->matches.rows[index] : index;
}

size_t row_filter_index(const struct row_filter *rows_filter, size_t row)
{
    return rows_filter->filtered ? matches_find(&rows_filter->matches, row) : row;
}

/* ---- searching ---- */

void row_filter_search(struct row_filter *rows_filter, const struct row_filter_rows *rows, const char *text, bool back,
                       size_t from)
{
    row_filter_look(rows_filter, rows, 0);
    filter_set_text(&rows_filter->search.wanted, text);
    rows_filter->search.back = back;
    rows_filter->search.all = rows_filter->search.left = row_filter_count(rows_filter, rows);
    rows_filter->search.at = from < rows_filter->search.all || back ? from : SIZE_MAX;
}

enum row_filter_found row_filter_search_on(struct row_filter *rows_filter, const struct row_filter_rows *rows,
                                           size_t most, size_t *index)
{
    size_t bytes = 0;
    row_filter_look(rows_filter, rows, 0);
    size_t count = row_filter_count(rows_filter, rows);
    for (; rows_filter->search.wanted.count && rows_filter->search.left && count; rows_filter->search.left--, most--) {
        size_t at = rows_filter->search.at;
        if (!most || bytes > PIECE_BYTES)
            return ROW_FILTER_LATER;
        /* Wraps around at the end, as everywhere. */
        if (rows_filter->search.back)
            at = at && at <= count ? at - 1 : count - 1;
        else
            at = at + 1 < count ? at + 1 : 0;
        rows_filter->search.at = at;
        view_frame_end(rows->view);
        if (rows->fits(rows, &rows_filter->search.wanted, row_filter_row(rows_filter, at), &bytes)) {
            row_filter_search_stop(rows_filter);
            *index = at;
            return ROW_FILTER_FOUND;
        }
    }
    row_filter_search_stop(rows_filter);
    return ROW_FILTER_NOT;
}

void row_filter_search_stop(struct row_filter *rows_filter)
{
    filter_release(&rows_filter->search.wanted);
}

bool row_filter_searching(const struct row_filter *rows_filter)
{
    return rows_filter->search.wanted.count > 0;
}

/* ---- in words ---- */

void row_filter_note(struct strbuf *out, const struct row_filter *rows_filter, const struct row_filter_rows *rows,
                     const char *one, const char *many)
{
    size_t total = rows->total;
    if (rows_filter->working) {
        text_count(out, (int64_t)rows_filter->matches.count);
        strbuf_addf(out, " in %zu %% …", total ? rows_filter->matches.scanned * 100 / total : 100);
    } else {
        if (rows_filter->filtered) {
            text_count(out, (int64_t)rows_filter->matches.count);
            strbuf_addstr(out, " of ");
        }
        if (many)
            text_plural(out, (int64_t)total, one, many);
        else
            text_count(out, (int64_t)total);
    }
    if (row_filter_searching(rows_filter) && rows_filter->search.all)
        strbuf_addf(out, " · searching %zu %%",
                    (rows_filter->search.all - rows_filter->search.left) * 100 / rows_filter->search.all);
}
