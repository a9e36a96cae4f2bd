/* The small change of tools: names of effects, and the reply a tool fills in. */

#include "tool.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bounded.h"
#include "event/emitter.h"
#include "outcome.h"
#include <stdarg.h>
#include <string.h>
#include <strings.h>

static const char *const effect_names[] = {
    [EFFECT_UNKNOWN] = "UNKNOWN", [EFFECT_READ_ONLY] = "READ_ONLY",     [EFFECT_LOCAL_WRITE] = "LOCAL_WRITE",
    [EFFECT_NETWORK] = "NETWORK", [EFFECT_DESTRUCTIVE] = "DESTRUCTIVE",
};

const char *effect_name(enum effect effect)
{
    return (size_t)effect < COUNT_OF(effect_names) ? effect_names[effect] : effect_names[EFFECT_UNKNOWN];
}

enum effect effect_from_name(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(effect_names); i++)
        if (strcasecmp(name, effect_names[i]) == 0)
            return (enum effect)i;
    return EFFECT_UNKNOWN;
}

enum effect effect_stronger(enum effect a, enum effect b)
{
    if (a == EFFECT_UNKNOWN || b == EFFECT_UNKNOWN)
        return EFFECT_UNKNOWN;
    return a > b ? a : b;
}

enum effect tool_call_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                             const struct json *arguments)
{
    return tool->effect ? tool->effect(tool, env, call, arguments) : tool->spec.effect;
}

bool tool_run_must_ask(const struct tool_run *run)
{
    return !run->confirm_write &&
           tool_call_effect(run->tool, run->env, run->call, run->arguments) == EFFECT_DESTRUCTIVE;
}

/* A reply may be set again; the last word counts. Citations stay. */
static void forget_body(struct tool_reply *reply)
{
    free(reply->output);
    free(reply->error);
    change_set_free(reply->changes);
    if (reply->recorded)
        outcome_release(reply->recorded);
    free(reply->recorded);
    reply->output = NULL;
    reply->error = NULL;
    reply->changes = NULL;
    reply->recorded = NULL;
}

void tool_reply_release(struct tool_reply *reply)
{
    forget_body(reply);
    for (size_t i = 0; i < reply->citation_count; i++)
        free(reply->citations[i].ref);
    free(reply->citations);
    *reply = (struct tool_reply){0};
}

void tool_reply_error(struct tool_reply *reply, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    forget_body(reply); /* only now: the arguments may point into it */
    reply->type = REPLY_ERROR;
    reply->error = strbuf_detach(&text, NULL);
}

void tool_reply_output(struct tool_reply *reply, char *take_json)
{
    forget_body(reply);
    reply->type = REPLY_OUTPUT;
    reply->output = take_json;
}

void tool_reply_page(struct tool_reply *reply, char *take_json)
{
    tool_reply_output(reply, take_json);
    reply->page = true;
}

void tool_reply_recorded(struct tool_reply *reply, const struct outcome *take_outcome)
{
    forget_body(reply);
    reply->type = REPLY_RECORDED;
    reply->recorded = xcalloc(1, sizeof(*reply->recorded));
    *reply->recorded = *take_outcome;
}

void tool_reply_propose(struct tool_reply *reply, struct change_set *take_changes)
{
    forget_body(reply);
    reply->type = REPLY_PROPOSAL;
    reply->changes = take_changes;
}

void tool_reply_propose_own(struct tool_reply *reply, struct change_set *take_changes)
{
    tool_reply_propose(reply, take_changes);
    reply->tool_writes = true;
}

void tool_reply_ask(struct tool_reply *reply)
{
    tool_reply_output(reply, xstrdup("{\"needs_confirmation\":true}"));
}

void tool_reply_cite(struct tool_reply *reply, const char *ref, bool web)
{
    GROW(reply->citations, reply->citation_count, reply->citation_room);
    reply->citations[reply->citation_count++] = (struct citation){xstrdup(ref), web};
}

void tool_run_say(struct tool_run *run, const char *stream, const char *text)
{
    emit(run->emitter, &(struct event){.type = EVENT_TOOL_OUTPUT,
                                       .tool_output = {.call = run->call, .stream = stream, .text = text}});
}

int web_mode_from_name(const char *name)
{
    static const char *const names[] = {[WEB_OFF] = "off", [WEB_AUTO] = "auto", [WEB_ON] = "on"};
    for (size_t i = 0; name && i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}
