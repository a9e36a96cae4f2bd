#pragma once
/* A proposed change as rows: files, hunks, lines with both numbers, signs and the words that differ. The write pane and
 * the inspector use it, for a live change set and for a recorded one.
 *
 * A diffview is an index: a binary search over its pieces finds what a row shows. So painting costs only the visible
 * rows, however long the diff. A piece is the unit that the user keeps or discards: a hunk, or a whole file without
 * hunks (binary, empty, only its mode). A deleted file and a new one with the same bytes are a move. They are kept or
 * discarded together, because half a move would lose the file. The diffview shares diffs and contents with the change
 * set it was loaded from. */

#include "screen/canvas.h"
#include "tools/diff.h"
#include <stdint.h>

struct arena;
struct change_set;
struct event_hunk_choice_list;
struct event_proposed_file_list;

#define DIFFVIEW_NO_HUNK SIZE_MAX
#define DIFFVIEW_UNMOVED SIZE_MAX

struct diffview_file {
    char *path;
    struct diff *diff; /* NULL: no diff could be made */
    char *text;        /* text that `diff` points into, if it came from a recording */
    bool old_exists, new_exists, binary;
    unsigned old_mode, new_mode; /* 0: unknown */
    size_t old_len, new_len;     /* SIZE_MAX: unknown */
    size_t added, removed;
    size_t first_piece, piece_count;
    char *digest;  /* of the only side, if the file is new or deleted */
    char *through; /* the requested path, if links lead from it to `path`; NULL: the same */
    char *guard;   /* "protected" or "dangerous"; NULL: an ordinary file */
    char *why;     /* reason for `guard` */
    char *loses;   /* attributes of the old file that the write cannot keep, separated by commas; NULL: none */
    size_t moved;  /* the file at the other end of the move; DIFFVIEW_UNMOVED: not a move */
};

/* True if no rule can allow it: the user must approve it each time. */
bool diffview_protected(const struct diffview_file *file);

struct diffview_piece {
    size_t file;
    size_t hunk;  /* DIFFVIEW_NO_HUNK: the whole file */
    size_t row;   /* its first row */
    size_t head;  /* rows above the hunk's own head: a blank, the file's name, the note */
    long dropped; /* lines that discarded hunks above it would have added, minus those they would have removed */
    long kept;    /* the same for kept hunks; together they give its new line numbers */
    bool keep;
};

struct diffview {
    struct change_set *set; /* what the diffs point into; NULL: they came from a recording */
    struct diffview_file *files;
    size_t file_count, file_room;
    struct diffview_piece *pieces;
    size_t piece_count, piece_room;
    size_t rows;
    int digits;   /* of the largest line number */
    bool heads;   /* each file has its own line */
    bool spaced;  /* a blank line between hunks */
    bool choices; /* heads of hunks show the choice as [x] or [ ] */
    bool decided; /* the decision was made: heads show its result */
    bool whole;   /* one of the diffs is too large to choose hunks from: all or nothing */
};

void diffview_init(struct diffview *view);
void diffview_release(struct diffview *view);

/* Loads the changes of a change set. `diffs[i]` belongs to its file i; entries may be NULL. Every piece is kept at
 * first. */
void diffview_load(struct diffview *view, const struct change_set *set, struct diff *const *diffs);
/* The same from the files of a recorded write.proposed; nothing is borrowed. An unreadable diff becomes a file without
 * a diff. */
void diffview_load_recorded(struct diffview *view, const struct event_proposed_file_list *files);
/* Marks what a recorded decision approved: "approved", "partial" with its hunks, "denied" … */
void diffview_decide(struct diffview *view, const char *decision, const struct event_hunk_choice_list *hunks);
/* Sets the layout of the rows. Call it when one of these changes. */
void diffview_arrange(struct diffview *view, bool heads, bool spaced);

size_t diffview_rows(const struct diffview *view);
/* The piece that this row shows; 0 if there is none. */
size_t diffview_piece_at(const struct diffview *view, size_t row);
/* The row of the head of a piece. */
size_t diffview_row_of(const struct diffview *view, size_t piece);
void diffview_keep(struct diffview *view, size_t piece, bool keep);
void diffview_keep_all(struct diffview *view, bool keep);
size_t diffview_kept(const struct diffview *view);
/* The lines that the kept pieces add and remove. */
void diffview_counts(const struct diffview *view, size_t *added, size_t *removed);
/* The choice in the form of a decision, in the arena. */
struct event_hunk_choice_list diffview_hunks(const struct diffview *view, struct arena *arena);
/* Finds the next row with this text (as text_match_find does) after `row`, or before it; false if there is none. */
bool diffview_search(const struct diffview *view, const char *text, bool back, size_t *row);
/* Adds the note on a file ("new file", "mode 644 to 755", "binary …"), or nothing. */
void diffview_file_note(const struct diffview *view, size_t file, struct strbuf *out);

/* Paints the rows from `top` on, with the text scrolled `left` columns. Marks the head of piece `cursor` (SIZE_MAX:
 * none) and the matches of `search` (NULL: none). */
void diffview_paint(const struct diffview *view, struct canvas *canvas, struct rect in, size_t top, int left,
                    size_t cursor, const char *search);

/* Parses the unified diff of one recorded file into hunks and lines. Never fails: text outside a hunk is left out, and
 * numbers are limited to an int. The lines point into `text`, which must outlive the diff. */
struct diff *diff_read(const char *text, size_t len);
