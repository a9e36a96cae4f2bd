#pragma once
/* A proposed change, painted: files, hunks, lines with both numbers, signs and the words that differ. The write pane
 * and the inspector use it, on a live change set and on a recorded one alike.
 *
 * A diffview is an index: which row shows what is found by binary search over its pieces, so painting costs what is
 * visible, however long the diff. A piece is what can be kept or dropped: a hunk, or a whole file that has none
 * (binary, empty, only its mode). A file that goes and a new one with the same bytes are a move, and are kept or
 * dropped together: half of it would be a loss. It shares diffs and contents with the change set that it was loaded
 * from. */

#include "canvas.h"
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
    struct diff *diff; /* NULL: none could be made */
    char *text;        /* what it points into when it came from a recording */
    bool old_exists, new_exists, binary;
    unsigned old_mode, new_mode; /* 0: not known */
    size_t old_len, new_len;     /* SIZE_MAX: not known */
    size_t added, removed;
    size_t first_piece, piece_count;
    char *digest;  /* of the only side that there is, when the file is new or goes */
    char *through; /* the path that was asked for, when links lead from there to `path`; NULL: the same */
    char *guard;   /* "protected" or "dangerous"; NULL: an ordinary place */
    char *why;     /* it is that */
    char *loses;   /* what the write cannot keep of the old file, with commas; NULL: nothing */
    size_t moved;  /* the file that has the other end of its move; DIFFVIEW_UNMOVED: it is no part of one */
};

/* Nothing that was allowed before holds for it. */
bool diffview_protected(const struct diffview_file *file);

struct diffview_piece {
    size_t file;
    size_t hunk;  /* DIFFVIEW_NO_HUNK: the file as a whole */
    size_t row;   /* its first row */
    size_t head;  /* rows above the hunk's own head: a blank, the file's name, what is special about it */
    long dropped; /* lines that dropped hunks above it would have added, less what they would have removed */
    long kept;    /* the same of kept ones: together they say where its lines will be */
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
    bool heads;   /* each file has a line of its own */
    bool spaced;  /* a blank line between hunks */
    bool choices; /* heads of hunks say [x] keep or [ ] drop */
    bool decided; /* the choice was made: they say kept or dropped */
    bool whole;   /* one of the diffs is too large to be chosen from: all or nothing */
};

void diffview_init(struct diffview *view);
void diffview_release(struct diffview *view);

/* What a change set would change; `diffs[i]` belongs to its file i, entries may be NULL. Every piece is kept. */
void diffview_load(struct diffview *view, const struct change_set *set, struct diff *const *diffs);
/* The same from the files of a recorded write.proposed; nothing is borrowed. What cannot be read shows as a file
 * without a diff. */
void diffview_load_recorded(struct diffview *view, const struct event_proposed_file_list *files);
/* Marks what a recorded decision kept: "approved", "partial" with its hunks, "denied" … */
void diffview_decide(struct diffview *view, const char *decision, const struct event_hunk_choice_list *hunks);
/* How the rows are laid out; call it when one of these changes. */
void diffview_arrange(struct diffview *view, bool heads, bool spaced);

size_t diffview_rows(const struct diffview *view);
/* The piece that this row shows; 0 when there is none. */
size_t diffview_piece_at(const struct diffview *view, size_t row);
/* Where the head of a piece is. */
size_t diffview_row_of(const struct diffview *view, size_t piece);
void diffview_keep(struct diffview *view, size_t piece, bool keep);
void diffview_keep_all(struct diffview *view, bool keep);
size_t diffview_kept(const struct diffview *view);
/* Lines that the kept pieces add and remove. */
void diffview_counts(const struct diffview *view, size_t *added, size_t *removed);
/* The choice as a decision holds it, in the arena. */
struct event_hunk_choice_list diffview_hunks(const struct diffview *view, struct arena *arena);
/* The row of the next line with this text (as hits.h finds it) after `row`, or before it; false when none. */
bool diffview_search(const struct diffview *view, const char *text, bool back, size_t *row);
/* What is special about a file ("new file", "mode 644 to 755", "binary …"), "" when nothing is. */
void diffview_file_note(const struct diffview *view, size_t file, struct strbuf *out);

/* Rows from `top` on, text scrolled `left` columns to the right; the head of piece `cursor` is marked (SIZE_MAX: none).
 * `search` is shown as hits (NULL: none). */
void diffview_paint(const struct diffview *view, struct canvas *canvas, struct rect in, size_t top, int left,
                    size_t cursor, const char *search);
