#pragma once
/* Events, calls and their outcomes in words: what the rows of the fold keep, what lists, accounts and heads say.
 * Nothing here is made safe for a terminal and line breaks stay as they are: who shows it does that.
 *
 * Arguments, outputs and what a script sends belong to others: event_leaf is where they are parsed. */

#include "event.h"

struct json;
struct session_call;

/* How much is said of an event. */
enum words_form {
    WORDS_ROW,   /* one line of a list: "c4 src/lines.c +4 -1" */
    WORDS_PLAIN, /* a sentence of an account: "wrote src/lines.c +4 -1"; the row where that says as much */
    WORDS_HEAD,  /* what a screen says above its text: without what the model or a person wrote */
};
void event_words(struct strbuf *out, enum words_form form, const struct event *event);
/* "3 steps · 4 calls · 2.1 s": the end of a turn, with what it cost; NaN: unknown. */
void words_turn_end(struct strbuf *out, const struct event_turn_finished *finished, double cost_usd);
/* " +1,204 -1": the lines of a file that change. */
void words_counts(struct strbuf *out, int64_t added, int64_t removed);

/* What the call is about goes first and without its name, then the rest as name=value: "src/lines.c offset=40". */
void words_arguments(struct strbuf *out, const struct json *arguments);
/* The same in a row that has less room: what the call is about, and the rest only where nothing says that. */
void words_subject(struct strbuf *out, const struct json *arguments);
/* What a script sent: its message, or a value with its name before it; nothing when it is neither. */
void words_script_event(struct strbuf *out, const struct json *sent);
/* "42 lines", "3 entries": what came back; nothing when there are no words for it. `output` may be NULL. */
void words_output(struct strbuf *out, const struct json *output);
/* "already done: same call as c1". `denied` may be NULL. */
void words_denial(struct strbuf *out, const struct event_denied_info *denied);
/* "gave up after 45 s; it may be tried again". `timeout` may be NULL. */
void words_timeout(struct strbuf *out, const struct event_timeout_info *timeout);
/* Why a program did not go on, of a result whose program_end is CALL_END_STOPPED. */
void words_program_error(struct strbuf *out, const struct json *output);
/* The outcome of a call for its row, on one line: why it did not go well, else what came back. `output` is that of its
 * result, NULL: none. `said_no`: what a person said with their no, "" for no reason; NULL: nobody said no. */
void words_outcome(struct strbuf *out, const struct event_tool_finished *finished, const struct json *output,
                   const char *said_no);
/* A text on one line, white space as one blank each; of a traceback what was raised. It ends after so many characters,
 * more than a row of the session keeps, which says that there was more. */
#define WORDS_LINE_CHARS 400
void words_one_line(struct strbuf *out, const char *text);
/* The last line of text[0…*len) that is not empty, and its length. */
const char *words_last_line(const char *text, size_t *len);

/* The line of a script, from 1 on, that a traceback or a message names last; 0: none. */
size_t words_script_line(const char *text);

/* "exit 3", "signal 11", "stopped", "timed out": how the program of a call ended (session.h); NULL when it ended well.
 */
#define WORDS_STATE_MAX 16
const char *words_program_end(int16_t end, char out[WORDS_STATE_MAX]);
/* The call's state in a word, and of one that is done how its program ended where that was not well. */
const char *words_call_state(const struct session_call *call, char out[WORDS_STATE_MAX]);
/* "began at 0.120 s, took 3 ms". */
void words_call_times(struct strbuf *out, const struct session_call *call);
/* "read", "write", "net", "destroy"; what it does not know stays as it is. */
const char *words_effect(const char *effect);
/* The same of a call of this tool. Our own that runs scripts says so, unless the script may do worse than read and
 * write: what it writes stays in its sandbox. Another tool's argument of that name promises nothing. */
const char *words_call_effect(const char *effect, const char *tool);
