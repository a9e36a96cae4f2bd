#include "describe.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/session.h"
#include "event/words.h"
#include "text.h"
#include "tools/tool.h"
#include <stdio.h>
#include <string.h>

void describe_arguments(struct strbuf *out, const struct json *arguments)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    words_arguments(&words, arguments);
    for (const char *at = words.buf; *at; at++) { /* a text of several lines must not look like one line with blanks */
        if (*at == '\n')
            strbuf_addstr(out, text_newline());
        else
            strbuf_addch(out, *at);
    }
}

const char *describe_program_end(int16_t end, char out[DESCRIBE_STATE_MAX])
{
    if (!end)
        return NULL;
    if (end == CALL_END_TIMED_OUT || end == CALL_END_STOPPED)
        return end == CALL_END_STOPPED ? "stopped" : "timed out";
    snprintf(out, DESCRIBE_STATE_MAX, end > 0 ? "exit %d" : "signal %d", end > 0 ? end : -end);
    return out;
}

const char *describe_call_state(const struct session_call *call, char out[DESCRIBE_STATE_MAX])
{
    const char *end = describe_program_end(call->program_end, out);
    return end ? end : call_state_name((enum call_state)call->state);
}

const char *describe_effect(const char *effect)
{
    static const char *const words[][2] = {
        {"READ_ONLY", "read"},      {"LOCAL_WRITE", "write"}, {"NETWORK", "net"},
        {"DESTRUCTIVE", "destroy"}, {"UNKNOWN", "?"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(effect, words[i][0]) == 0)
            return words[i][1];
    return effect;
}

const char *describe_call_effect(const char *effect, const char *tool)
{
    bool within = strcmp(effect, "READ_ONLY") == 0 || strcmp(effect, "LOCAL_WRITE") == 0 || !*effect;
    return within && strcmp(tool, tool_run_script.spec.name) == 0 ? "script" : describe_effect(effect);
}
