#pragma once
/* The file of a session: JSON lines, appended and never changed.
 *
 * Writing. journal_append gives the event its seq and t and has its line in the file (one write(2)) before it returns,
 * so whoever acts on the event acts on something recorded. A kill loses nothing that was appended; a power cut loses
 * nothing before the last journal_sync, which happens by itself at decisions, applied and undone writes and the end of
 * a turn.
 *
 * Reading is lazy: the file is mapped and its lines are indexed; a line is decoded when somebody looks at it. A last
 * line that a crash cut short is left out and told by journal_was_cut. */

#include "event.h"

struct journal;
struct clock;

/* A new file, 0600; it must not exist. `path` NULL: a journal in memory only (nothing is kept but numbering). */
struct journal *journal_create(const char *path, struct clock *clock, struct err *err) CHECKED;
/* Goes on with a file that exists: numbering and time continue, a cut last line is taken off first. */
struct journal *journal_resume(const char *path, struct clock *clock, struct err *err) CHECKED;
/* Sets event->seq and event->t. Failing (disk full) leaves the file as it was before the call. */
int journal_append(struct journal *journal, struct event *event, struct err *err) CHECKED;
/* The same for several that came together, in one write(2): all of them, or none. */
int journal_append_all(struct journal *journal, struct event *events, size_t count, struct err *err) CHECKED;
int journal_sync(struct journal *journal, struct err *err) CHECKED;
const char *journal_path(const struct journal *journal); /* NULL for one in memory */
void journal_close(struct journal *journal);
/* Whether some process has the file open for writing at this moment: the session runs. Takes nothing, disturbs nobody.
 */
bool journal_held(const char *path);

struct journal_reader;
/* Opens and indexes. Errors name what is wrong with the file as such (missing, a folder, not text, first line is no
 * session.started of a version we read); err->line is set. Lines are checked when they are decoded. */
struct journal_reader *journal_open(const char *path, struct err *err) CHECKED;
struct journal_reader *journal_open_bytes(const char *bytes, size_t len, struct err *err) CHECKED; /* borrowed */
size_t journal_count(const struct journal_reader *reader); /* lines with something on them */
/* The text of line `index` (0-based), without its newline. */
const char *journal_line(const struct journal_reader *reader, size_t index, size_t *len);
/* Line number in the file, for messages. */
long journal_line_number(const struct journal_reader *reader, size_t index);
/* Decodes it, seq (index + 1) and t (that of the line before) filled in where missing. err->line is set. */
int journal_event(const struct journal_reader *reader, size_t index, struct event *event, struct arena *arena,
                  struct err *err) CHECKED;
/* The same for who only shows it (event_decode_short). */
int journal_event_short(const struct journal_reader *reader, size_t index, struct event *event, struct arena *arena,
                        struct err *err);
bool journal_was_cut(const struct journal_reader *reader);
/* Takes in what was appended since; returns the number of new lines. */
size_t journal_refresh(struct journal_reader *reader);
void journal_reader_free(struct journal_reader *reader);
