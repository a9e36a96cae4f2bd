#pragma once
/* Describes events, calls and their outcomes in words: for rows of the fold, lists, summaries and headings.
 *
 * These texts are not sanitized for a terminal, and line breaks stay; the code that shows them does both. Arguments,
 * outputs and script data have formats of their own; event_leaf parses them. */

#include "event.h"

struct json;
struct session;
struct session_call;

/* The amount of detail. */
enum words_form {
    WORDS_ROW,   /* one line of a list: "#4 src/lines.c +4 -1" */
    WORDS_PLAIN, /* a sentence of a summary: "wrote src/lines.c +4 -1"; the row if that says as much */
    WORDS_HEAD,  /* a heading above the text: without what the model or a person wrote */
};
/* `session` has folded the event, and gives calls their numbers. NULL: calls are shown by their ids. */
void event_words(struct strbuf *out, enum words_form form, const struct session *session, const struct event *event);
/* "3 steps · 4 calls · 2.1 s": the end of a turn, with its cost; NaN: unknown. */
void words_turn_end(struct strbuf *out, const struct event_turn_finished *finished, double cost_usd);
/* " +1,204 -1": lines added and removed. */
void words_counts(struct strbuf *out, int64_t added, int64_t removed);

/* "3 approved, 1 denied": how many writes; nothing if there were no decisions or they are unknown (negative). */
void words_decisions(struct strbuf *out, int64_t approved, int64_t denied);
/* "approved by the user", "denied by a rule: use tabs": who decided what about a write. */
void words_decision(struct strbuf *out, const char *decision, const char *by, const char *reason);

/* Writes the subject of the call first, without its name, then the rest as name=value: "src/lines.c offset=40". */
void words_arguments(struct strbuf *out, const struct json *arguments);
/* The same for a row with less room: the subject, and the rest only if there is no subject. */
void words_subject(struct strbuf *out, const struct json *arguments);
/* What a script sent: its message, or a value after its name; empty if it is neither. */
void words_script_event(struct strbuf *out, const struct json *sent);
/* "42 lines", "3 entries": the size of a result; empty if no words fit. `output` may be NULL. */
void words_output(struct strbuf *out, const struct json *output);
/* Why a call was not run. `denied` may be NULL. */
void words_denial(struct strbuf *out, const struct event_denied_info *denied);
/* "denied" if a person or a rule said no; "skipped" if the call was a duplicate, wrong, canceled, or over a limit. */
bool words_skipped(const struct event_denied_info *denied);
/* Why a program stopped, from a result whose program_end is CALL_END_STOPPED. */
void words_program_error(struct strbuf *out, const struct json *output);
/* The outcome of a call for its row, on one line: why it failed, else what it returned. `output` is that of its
 * result, NULL: none. `said_no`: the reason with which a person denied it, "" without a reason; NULL: not denied. */
void words_outcome(struct strbuf *out, const struct event_tool_finished *finished, const struct json *output,
                   const char *said_no);
/* A text on one line, with each run of white space as one blank; of a traceback, the exception. Cut after this many
 * characters, which is more than a row of the session keeps, so the row shows that there was more. */
#define WORDS_LINE_CHARS 400
void words_one_line(struct strbuf *out, const char *text);
/* The last line of text[0…*len) that is not empty, and its length. */
const char *words_last_line(const char *text, size_t *len);

/* The last line number of a script, from 1 on, that a traceback or a message names; 0: none. */
size_t words_script_line(const char *text);

/* "exit 3", "signal 11", "stopped", "timed out": how the program of a call ended (session.h); NULL: with success. */
#define WORDS_STATE_MAX 16
const char *words_program_end(int16_t end, char out[WORDS_STATE_MAX]);
/* The call's state in a word. If the call is done but its program failed, how the program ended; if its write was
 * undone, that. */
const char *words_call_state(const struct session_call *call, char out[WORDS_STATE_MAX]);
/* "started at 0.120 s, took 3 ms". */
void words_call_times(struct strbuf *out, const struct session_call *call);
/* "#3": the number of the call with this id, as seen from `turn`; the id if it has none. */
void words_call_number(struct strbuf *out, const struct session *session, const char *id, int64_t turn);
/* "before #3 edit_file src/x.c", "before the model request": a gate for people, from its name in the journal and the
 * call that it holds (NULL: none). Without a session `call` is shown unchanged. */
void words_gate(struct strbuf *out, const struct session *session, const char *gate, const char *call, int64_t turn);
/* Why a wave ends: the reason in the journal, with its call's number instead of its id. */
void words_wave_end(struct strbuf *out, const struct session *session, const char *why, int64_t turn);
/* How a turn ended: "done", "failed", "canceled", "budget". */
const char *words_turn_status(const char *status);
/* "60 s", "30 min", "6 steps", "$5.00": a limit as a person would set it, by the name of its key. */
void words_limit(struct strbuf *out, const char *key, double limit);
/* "the limit of 6 steps, 4 calls skipped": what ended a turn. */
void words_limit_reached(struct strbuf *out, const struct event_limit_info *limit);
/* "60.0 s", "2 steps", "$0.10": an amount of a budget, by the name of its key. */
void words_amount(struct strbuf *out, const char *key, double amount);
/* "read", "write", "net", "destroy"; other effects stay unchanged. */
const char *words_effect(const char *effect);
/* The same for a call of this tool. Our own script tool is named as such, unless the script may do worse than read
 * and write, because its writes stay in its sandbox. Another tool's argument of that name promises nothing. */
const char *words_call_effect(const char *effect, const char *tool);
