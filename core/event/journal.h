#pragma once
/* The journal: the file of a session, as JSON lines that are appended and never changed.
 *
 * Writing. journal_append_all gives events their seq and t, and writes their lines with one write(2) before it returns.
 * So code that acts on an event acts on something recorded. A kill loses nothing that was appended. A power cut loses
 * nothing before the last journal_sync. The journal syncs at decisions, at applied and undone writes and at the end
 * of a turn.
 *
 * Reading is lazy. The file is mapped and its lines are indexed; a line is decoded on access. A last line that a
 * crash cut short is skipped, and journal_was_cut reports it. */

#include "event.h"

struct journal;
struct clock;

/* Creates a file, 0600; it must not exist. `path` NULL: a journal in memory only, which keeps only the numbering. */
struct journal *journal_create(const char *path, struct clock *clock, struct err *err) CHECKED;
/* Continues an existing file: numbering and time continue, and a cut last line is removed first. */
struct journal *journal_resume(const char *path, struct clock *clock, struct err *err) CHECKED;
/* Sets seq and t of the events and writes all of them with one write(2), or none: a failure (disk full) leaves the file
 * as it was before the call. */
int journal_append_all(struct journal *journal, struct event *events, size_t count, struct err *err) CHECKED;
int journal_sync(struct journal *journal, struct err *err) CHECKED;
void journal_close(struct journal *journal);
/* True if a process has the file open for writing now: the session is running. Takes no lock and disturbs no
 * process. */
bool journal_held(const char *path);

struct journal_reader;
/* Opens and indexes a file. Errors are about the file as a whole: missing, a folder, not text, or a first line that
 * is not a session.started of a known version. Sets err->line. Lines are checked when they are decoded. */
struct journal_reader *journal_open(const char *path, struct err *err) CHECKED;
struct journal_reader *journal_open_bytes(const char *bytes, size_t len, struct err *err) CHECKED; /* borrowed */
size_t journal_count(const struct journal_reader *reader); /* lines that are not empty */
/* The text of line `index` (0-based), without its newline. */
const char *journal_line(const struct journal_reader *reader, size_t index, size_t *len);
/* Line number in the file, for messages. */
long journal_line_number(const struct journal_reader *reader, size_t index);
/* Decodes a line. A missing seq becomes index + 1, a missing t that of the line before. Sets err->line. */
int journal_event(const struct journal_reader *reader, size_t index, struct event *event, struct arena *arena,
                  struct err *err) CHECKED;
/* The same for display only (event_decode_short). */
int journal_event_short(const struct journal_reader *reader, size_t index, struct event *event, struct arena *arena,
                        struct err *err);
bool journal_was_cut(const struct journal_reader *reader);
/* Indexes lines that were appended since; returns their number. */
size_t journal_refresh(struct journal_reader *reader);
void journal_reader_free(struct journal_reader *reader);
