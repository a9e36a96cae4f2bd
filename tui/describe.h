#pragma once
/* What a screen and an account say of a call beside event/words.h. Nothing here is sanitised: who shows it does that. */

#include <stddef.h>
#include <stdint.h>

struct json;
struct session_call;
struct strbuf;

/* words_arguments, with a sign for each line break. */
void describe_arguments(struct strbuf *out, const struct json *arguments);
/* "exit 3", "signal 11", "stopped", "timed out": how the program of a call ended (session.h); NULL when it ended well. */
#define DESCRIBE_STATE_MAX 16
const char *describe_program_end(int16_t end, char out[DESCRIBE_STATE_MAX]);
/* The call's state in a word, and of one that is done how its program ended where that was not well. */
const char *describe_call_state(const struct session_call *call, char out[DESCRIBE_STATE_MAX]);
/* "read", "write", "net", "destroy"; what it does not know stays as it is. */
const char *describe_effect(const char *effect);
/* The same of a call of this tool. Our own that runs scripts says so, unless the script may do worse than read and write:
 * what it writes stays in its sandbox. Another tool's argument of that name promises nothing. */
const char *describe_call_effect(const char *effect, const char *tool);
