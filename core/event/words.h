#pragma once
/* Calls and their outcomes in a few words: what the rows of the fold keep, and what rows and accounts show. Nothing here is
 * made safe for a terminal and line breaks stay as they are: who shows it does that. */

#include "event.h"

struct json;

/* What the call is about goes first and without its name, then the rest as name=value: "src/lines.c offset=40". */
void words_arguments(struct strbuf *out, const struct json *arguments);
/* "42 lines", "3 entries": what came back; nothing when there are no words for it. `output` may be NULL. */
void words_output(struct strbuf *out, const struct json *output);
/* "already done: same call as c1". `denied` may be NULL. */
void words_denial(struct strbuf *out, const struct event_denied_info *denied);
/* "gave up after 45 s; it may be tried again". `timeout` may be NULL. */
void words_timeout(struct strbuf *out, const struct event_timeout_info *timeout);
/* Why a program did not go on, of a result whose program_end is CALL_END_STOPPED. */
void words_program_error(struct strbuf *out, const struct json *output);
/* Of a message with a traceback below it: the message, and the line of the script. */
void words_failure(struct strbuf *out, const char *error);
/* The outcome of a call for its row, on one line: why it did not go well, else what came back. `output` is that of its
 * result, NULL: none. `said_no`: what a person said with their no, "" for no reason; NULL: nobody said no. */
void words_outcome(struct strbuf *out, const struct event_tool_finished *finished, const struct json *output,
                   const char *said_no);
/* A text on one line, white space as one blank each; of a traceback what was raised. */
void words_one_line(struct strbuf *out, const char *text);

/* The line of a script, from 1 on, that a traceback or a message names last; 0: none. */
size_t words_script_line(const char *text);
