#pragma once
/* Calls and their outcomes in a few words, for rows and accounts. Nothing here is sanitised: who shows it does that. */

#include <stddef.h>
#include <stdint.h>

struct event_denied_info;
struct event_timeout_info;
struct json;
struct session_call;
struct strbuf;

/* What the call is about goes first and without its name, then the rest as name=value: "src/lines.c offset=40". A
 * line break is shown as a sign. */
void describe_arguments(struct strbuf *out, const struct json *arguments);
/* "42 lines", "3 entries": what came back; nothing when there are no words for it. `output` may be NULL. */
void describe_output(struct strbuf *out, const struct json *output);
/* "already done: same call as c1". `denied` may be NULL. */
void describe_denial(struct strbuf *out, const struct event_denied_info *denied);
/* "gave up after 45 s; it may be tried again". `timeout` may be NULL. */
void describe_timeout(struct strbuf *out, const struct event_timeout_info *timeout);
/* "exit 3", "signal 11", "stopped", "timed out": how the program of a call ended (session.h); NULL when it ended well. */
#define DESCRIBE_STATE_MAX 16
const char *describe_program_end(int16_t end, char out[DESCRIBE_STATE_MAX]);
/* Why a program did not go on, of a result whose program_end is CALL_END_STOPPED. */
void describe_program_error(struct strbuf *out, const struct json *output);
/* The call's state in a word, and of one that is done how its program ended where that was not well. */
const char *describe_call_state(const struct session_call *call, char out[DESCRIBE_STATE_MAX]);
/* "read", "write", "net", "destroy"; what it does not know stays as it is. */
const char *describe_effect(const char *effect);
/* The same of a call of this tool. Our own that runs scripts says so, unless the script may do worse than read and write:
 * what it writes stays in its sandbox. Another tool's argument of that name promises nothing. */
const char *describe_call_effect(const char *effect, const char *tool);
