/* Paints a diff: only the visible rows.
 *
 * The user approves what the diff shows, so hostile text must not hide anything. Every character that is invisible,
 * moves the cursor or reorders its neighbors is spelled out and has its own look. A line that continues beyond the edge
 * is marked. A last line without a newline is marked even if its end is not visible. A line is read from its beginning
 * to the right edge, never to its end.
 *
 * On changed lines, white space is a change too: a tab has an arrow at its beginning, and blanks at the end of the line
 * are dots. Otherwise a tab that becomes blanks would be two lines that look the same.
 *
 * Word marks belong to a run of removed lines and the run of added lines after it. The run around a row is found when
 * its first row is painted, and kept for the others. A run that is too long has no marks. */

#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "diff_rows.h"
#include "screen/text.h"
#include "word_diff.h"
#include <stdio.h>
#include <string.h>

#define TAB_COLUMNS 8
#define TAIL_MAX    4096 /* blanks at the end of a line that are examined */
#define NO_NEWLINE  " (no newline at the end)"

/* The run of changed lines that is being painted. It has lines first … first + removed + added. */
struct run {
    const struct diff *diff;
    size_t first, removed, added; /* lines first … first + removed + added */
    int partner[WORD_DIFF_RUN];
};

struct painter {
    const struct diffview *view;
    struct canvas *canvas;
    struct rect in;
    int left;
    size_t cursor;
    struct run run;
};

/* ---- words ---- */

static void find_run(struct run *run, const struct diff *diff, const struct diff_hunk *hunk, size_t line)
{
    size_t from = hunk->first_line, to = hunk->first_line + hunk->line_count;
    size_t first = line, middle, last;
    *run = (struct run){.diff = diff, .first = line};
    while (first > from && diff->lines[first - 1].origin == '+' && diff->lines[line].origin == '+' &&
           line - first < WORD_DIFF_RUN)
        first--;
    while (first > from && diff->lines[first - 1].origin == '-' && line - first < 2 * (size_t)WORD_DIFF_RUN)
        first--;
    for (middle = first; middle < to && diff->lines[middle].origin == '-' && middle - first <= WORD_DIFF_RUN;)
        middle++;
    for (last = middle; last < to && diff->lines[last].origin == '+' && last - middle <= WORD_DIFF_RUN;)
        last++;
    if (line >= last)
        return;
    run->first = first;
    run->removed = middle - first;
    run->added = last - middle;
    word_diff_pair(&diff->lines[first], run->removed, &diff->lines[middle], run->added, run->partner);
}

static void find_words(struct painter *painter, const struct diff *diff, const struct diff_hunk *hunk, size_t line,
                       struct word_diff *mark)
{
    struct run *run = &painter->run;
    struct word_diff other;
    mark->count = 0;
    if (run->diff != diff || line < run->first || line >= run->first + run->removed + run->added)
        find_run(run, diff, hunk, line);
    size_t middle = run->first + run->removed;
    for (size_t i = 0; i < run->removed && i < WORD_DIFF_RUN; i++) {
        size_t removed = run->first + i;
        if (run->partner[i] < 0)
            continue;
        size_t added = middle + (size_t)run->partner[i];
        const struct diff_line *old = &diff->lines[removed], *new = &diff->lines[added];
        if (removed == line)
            word_diff_lines(old->text, old->len, new->text, new->len, mark, &other);
        else if (added == line)
            word_diff_lines(old->text, old->len, new->text, new->len, &other, mark);
    }
}

/* ---- the text of a line ---- */

struct pen {
    struct canvas *canvas;
    struct rect in; /* area of the text */
    int row, left;
    long column;    /* from the beginning of the line */
    enum look look; /* of the pending bytes */
    const char *from;
    size_t len;
    long at;
};

static void pen_flush(struct pen *pen)
{
    if (pen->len)
        canvas_text(pen->canvas, pen->in, pen->row, (int)(pen->at - pen->left), pen->look, pen->from, pen->len);
    pen->len = 0;
}

static void pen_add(struct pen *pen, const char *text, size_t len, long columns, enum look look)
{
    if (pen->column + columns > pen->left) {
        if (pen->len && (pen->look != look || pen->from + pen->len != text))
            pen_flush(pen);
        if (!pen->len) {
            pen->from = text;
            pen->look = look;
            pen->at = pen->column;
        }
        pen->len += len;
    }
    pen->column += columns;
}

/* Paints white space: blanks, and a sign over them if they matter. */
static void pen_space(struct pen *pen, long columns, enum look look, const char *sign)
{
    static const char blanks[] = "        ";
    pen_flush(pen);
    if (sign) {
        long wide = canvas_columns(pen->canvas, sign, strlen(sign));
        pen_add(pen, sign, strlen(sign), wide, look);
        columns -= wide;
        pen_flush(pen);
    }
    if (columns > 0)
        pen_add(pen, blanks, (size_t)columns, columns, look);
    pen_flush(pen);
}

static void pen_tab(struct pen *pen, enum look look, bool shown)
{
    long columns = TAB_COLUMNS - pen->column % TAB_COLUMNS;
    pen_space(pen, columns, look, !shown ? NULL : pen->canvas->ascii ? "^I" : "→");
}

static void pen_spelled(struct pen *pen, uint32_t cp)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "<U+%04X>", cp);
    pen_flush(pen);
    pen_add(pen, text, (size_t)len, len, LOOK_DIFF_HOSTILE);
    pen_flush(pen);
}

/* A character: its bytes, its columns, and whether it must be made visible. */
struct glyph {
    uint32_t cp;
    size_t bytes;
    long columns; /* 0: a combining mark on the previous character */
    bool hostile;
};

/* Blanks that no keyboard types: harmless in prose, but a compiler distinguishes them and a reader cannot. */
static bool odd_blank(uint32_t cp)
{
    return cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x202F || cp == 0x205F ||
           cp == 0x2800 || cp == 0x3000;
}

/* Start of the blanks at the end of a line; the CR of a CR LF is not part of them. */
static size_t tail_of(const struct diff_line *line)
{
    size_t end = line->len, at;
    if (end && line->text[end - 1] == '\r')
        end--;
    for (at = end; at > 0 && end - at < TAIL_MAX && (line->text[at - 1] == ' ' || line->text[at - 1] == '\t');)
        at--;
    return at;
}

static struct glyph glyph_at(const struct canvas *canvas, const char *text, size_t len, bool first)
{
    unsigned char c = (unsigned char)*text;
    struct glyph glyph = {.cp = c, .bytes = 1, .columns = 1};
    char spelled[16];
    if (c >= 0x20 && c < 0x7F)
        return glyph;
    uint32_t cp = glyph.cp = utf8_decode(text, len, &glyph.bytes);
    glyph.hostile = cp == UTF8_REPLACEMENT || utf8_spell(cp, spelled) > 0;
    bool mark = !glyph.hostile && !first && !canvas->ascii && utf8_width(cp) == 0;
    glyph.columns = mark ? 0 : canvas_columns(canvas, text, glyph.bytes);
    return glyph;
}

struct looks {
    enum look text, word;
};

/* Paints the text of a line. Returns whether it continues beyond the edge. */
static bool paint_text(struct pen *pen, const struct diff_line *line, struct looks looks, const struct word_diff *mark)
{
    size_t span = 0;
    long edge = (long)pen->left + pen->in.cols;
    bool changed = line->origin != ' ';
    size_t at = 0, tail = changed ? tail_of(line) : line->len;
    while (at < line->len && pen->column < edge) {
        struct glyph glyph = glyph_at(pen->canvas, line->text + at, line->len - at, at == 0);
        while (span < mark->count && mark->spans[span].to <= at)
            span++;
        enum look look = span < mark->count && mark->spans[span].from <= at ? looks.word : looks.text;
        if (glyph.cp == '\t')
            pen_tab(pen, look, changed);
        else if (glyph.cp == ' ' && at >= tail)
            pen_space(pen, 1, look, pen->canvas->ascii ? "_" : "·");
        else if (odd_blank(glyph.cp))
            pen_spelled(pen, glyph.cp);
        else if (glyph.cp == '\r' && at + 1 == line->len)
            pen_add(pen, line->text + at, 1, glyph.columns,
                    LOOK_DIFF_GUTTER); /* CR LF is not an attack, but it is shown */
        else if (glyph.columns)
            pen_add(pen, line->text + at, glyph.bytes, glyph.columns, glyph.hostile ? LOOK_DIFF_HOSTILE : look);
        else if (pen->len)
            pen->len += glyph.bytes; /* a combining mark stays with its letter, whatever the word marks say */
        at += glyph.bytes;
    }
    pen_flush(pen);
    return at < line->len || pen->column > edge;
}

static void paint_number(struct painter *painter, int row, int col, enum look look, long number)
{
    if (number > 0)
        canvas_printf(painter->canvas, painter->in, row, col, look, "%*ld", painter->view->digits, number);
}

/* The line's number in the file that would be written; 0: it is not in there. */
static long new_number(const struct diffview_piece *piece, const struct diff_line *line)
{
    if (piece->keep)
        return line->new_no ? line->new_no - piece->dropped : 0;
    return line->old_no && line->origin == ' ' ? line->old_no + piece->kept : 0;
}

/* A line with its secrets redacted for display. The file gets the original text. */
static const struct diff_line *redacted_line(const struct diff_line *line, struct diff_line *redacted,
                                             struct strbuf *text)
{
    if (!redact_text(text, line->text, line->len))
        return line;
    *redacted = *line;
    redacted->text = text->buf;
    redacted->len = text->len;
    return redacted;
}

static void paint_line(struct painter *painter, int row, const struct diffview_piece *piece, size_t index)
{
    const struct diffview *view = painter->view;
    const struct diff *diff = view->files[piece->file].diff;
    const struct diff_hunk *hunk = &diff->hunks[piece->hunk];
    CLEANUP(strbuf) struct strbuf redacted_text = STRBUF_INIT;
    struct diff_line redacted;
    const struct diff_line *line = redacted_line(&diff->lines[index], &redacted, &redacted_text);
    struct looks looks = {LOOK_DIFF, LOOK_DIFF};
    enum look gutter = LOOK_DIFF_GUTTER;
    struct word_diff mark = {.count = 0};
    if (line->origin == '+') {
        looks = (struct looks){LOOK_DIFF_ADD, LOOK_DIFF_ADD_WORD};
        gutter = LOOK_DIFF_ADD_GUTTER;
    } else if (line->origin == '-') {
        looks = (struct looks){LOOK_DIFF_REMOVE, LOOK_DIFF_REMOVE_WORD};
        gutter = LOOK_DIFF_REMOVE_GUTTER;
    }
    if (!piece->keep) {
        looks = (struct looks){LOOK_DIFF_DISCARDED, LOOK_DIFF_DISCARDED};
        gutter = LOOK_DIFF_DISCARDED;
    } else if (line->origin != ' ' && line != &redacted) {
        find_words(painter, diff, hunk, index, &mark);
    }
    int digits = view->digits;
    int sign = 2 * (digits + 1) + 2, text = sign + 2;
    struct rect in = painter->in;
    canvas_fill(painter->canvas, rect_make(in.row + row, in.col, 1, text < in.cols ? text : in.cols), gutter);
    paint_number(painter, row, 1, gutter, line->old_no);
    paint_number(painter, row, digits + 2, gutter, new_number(piece, line));
    if (line->origin != ' ')
        canvas_text(painter->canvas, in, row, sign, looks.text, &line->origin, 1);
    if (in.cols <= text)
        return;
    struct rect inside = rect_make(in.row, in.col + text, in.rows, in.cols - text);
    canvas_fill(painter->canvas, rect_make(inside.row + row, inside.col, 1, inside.cols), looks.text);
    struct pen pen = {.canvas = painter->canvas, .in = inside, .row = row, .left = painter->left};
    bool more = paint_text(&pen, line, looks, &mark);
    if (line->no_newline) {
        int room = inside.cols - (int)strlen(NO_NEWLINE) - (more ? 1 : 0), end = (int)(pen.column - pen.left);
        canvas_str(painter->canvas, inside, row, end < 0 ? 0 : end < room ? end : room, LOOK_DIFF_HOSTILE, NO_NEWLINE);
    }
    if (more)
        canvas_put_sign(painter->canvas, inside, row, inside.cols - 1, LOOK_DIFF_HUNK, SIGN_MORE);
}

/* ---- heads ---- */

static const char *choice_word(const struct diffview *view, const struct diffview_piece *piece)
{
    if (view->choices && view->whole)
        return "";
    if (view->choices)
        return piece->keep ? "[x] stage" : "[ ] discard";
    return !view->decided ? "" : piece->keep ? "approved" : "discarded";
}

/* Paints the row of a piece that can be staged: its choice at the right edge, the cursor at the left. */
static struct rect paint_choice(struct painter *painter, int row, size_t index, enum look look)
{
    const struct diffview_piece *piece = &painter->view->pieces[index];
    const char *word = choice_word(painter->view, piece);
    struct rect in = painter->in;
    canvas_fill(painter->canvas, rect_make(in.row + row, in.col, 1, in.cols), look);
    if (index == painter->cursor)
        canvas_put_sign(painter->canvas, in, row, 0, LOOK_STRONG, SIGN_POINTER);
    canvas_right(painter->canvas, in, row, 1, look, word);
    if (index == painter->cursor)
        canvas_mark(painter->canvas, rect_make(in.row + row, in.col, 1, in.cols), MARK_BOLD);
    in.cols -= (int)strlen(word) + 2;
    return in;
}

static void paint_hunk_head(struct painter *painter, int row, size_t index)
{
    const struct diffview_piece *piece = &painter->view->pieces[index];
    const struct diff_hunk *hunk = &painter->view->files[piece->file].diff->hunks[piece->hunk];
    enum look look = piece->keep ? LOOK_DIFF_HUNK : LOOK_DIFF_DISCARDED;
    struct rect in = paint_choice(painter, row, index, look);
    int col = 1 + canvas_str(painter->canvas, in, row, 1, look, "@@ ");
    if (hunk->heading[0]) {
        canvas_text(painter->canvas, in, row, col, look, hunk->heading, strlen(hunk->heading));
    } else {
        canvas_printf(painter->canvas, in, row, col, look, "line %d",
                      hunk->old_count ? hunk->old_start : hunk->new_start);
    }
    if (index == painter->cursor)
        canvas_mark(painter->canvas, rect_make(in.row + row, in.col, 1, painter->in.cols), MARK_BOLD);
}

static void paint_file_head(struct painter *painter, int row, const struct diffview_file *file)
{
    struct rect in = painter->in;
    CLEANUP(strbuf) struct strbuf counts = STRBUF_INIT;
    if (!file->binary)
        strbuf_addf(&counts, "+%zu −%zu", file->added, file->removed);
    canvas_right(painter->canvas, in, row, 1, LOOK_DIM, counts.buf);
    in.cols -= (int)counts.len + 1;
    canvas_text(painter->canvas, in, row, 1, LOOK_STRONG, file->path, strlen(file->path));
}

static void paint_note(struct painter *painter, int row, size_t index)
{
    const struct diffview_piece *piece = &painter->view->pieces[index];
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    struct rect in = painter->in;
    enum look look = piece->keep ? LOOK_DIFF_HUNK : LOOK_DIFF_DISCARDED;
    diffview_file_note(painter->view, piece->file, &note);
    if (piece->hunk == DIFFVIEW_NO_HUNK)
        in = paint_choice(painter, row, index, look);
    paragraph_paint(painter->canvas, rect_make(in.row, in.col, row + 1, in.cols), row, 1, look, note.buf);
}

static void paint_row(struct painter *painter, int row, size_t index, size_t offset)
{
    const struct diffview *view = painter->view;
    const struct diffview_piece *piece = &view->pieces[index];
    const struct diffview_file *file = &view->files[piece->file];
    if (offset == piece->head && piece->hunk != DIFFVIEW_NO_HUNK) {
        paint_hunk_head(painter, row, index);
        return;
    }
    if (offset > piece->head) {
        paint_line(painter, row, piece, file->diff->hunks[piece->hunk].first_line + offset - piece->head - 1);
        return;
    }
    /* Above the hunk: a blank, the name, the note on the file; each is optional. */
    bool first = file->first_piece == index;
    size_t blank = index > 0 && (view->spaced || (first && view->heads)) ? 1 : 0;
    if (!first || offset < blank)
        return;
    if (view->heads && offset == blank)
        paint_file_head(painter, row, file);
    else
        paint_note(painter, row, index);
}

void diffview_paint(const struct diffview *view, struct canvas *canvas, struct rect in, size_t top, int left,
                    size_t cursor, const char *search)
{
    struct painter painter = {.view = view, .canvas = canvas, .in = in, .left = left > 0 ? left : 0, .cursor = cursor};
    if (!view->piece_count)
        return;
    size_t index = diffview_piece_at(view, top);
    for (int row = 0; row < in.rows && top + (size_t)row < view->rows; row++) {
        size_t at = top + (size_t)row;
        while (index + 1 < view->piece_count && view->pieces[index + 1].row <= at)
            index++;
        paint_row(&painter, row, index, at - view->pieces[index].row);
    }
    text_match_show(canvas, in, search);
}
