/* Logs events and outcomes of calls in a few words. */

#include "call_log.h"
#include "base/mem.h"

void call_log_init(struct call_log *log)
{
    *log = (struct call_log){.words = STRBUF_INIT, .output = STRBUF_INIT};
}

void call_log_release(struct call_log *log)
{
    for (size_t i = 0; i < log->outcome_count; i++)
        outcome_release(&log->outcomes[i]);
    strbuf_release(&log->words);
    strbuf_release(&log->output);
}

void call_log_add(struct call_log *log, const char *word, const char *call)
{
    strbuf_addf(&log->words, "%s%s %s", log->words.len ? ", " : "", word, call);
}

bool call_log_event(struct call_log *log, const struct event *event)
{
    if (event->type == EVENT_WRITE_APPLIED) {
        call_log_add(log, "applied", event->write_applied.call);
    } else if (event->type == EVENT_TOOL_OUTPUT) {
        call_log_add(log, "output", event->tool_output.call);
        strbuf_addstr(&log->output, event->tool_output.text);
    } else if (event->type == EVENT_LATE_SUPPRESSED) {
        call_log_add(log, "late", event->late_suppressed.call);
        strbuf_addf(&log->words, " (%lld ms)", (long long)event->late_suppressed.elapsed_ms);
    } else {
        return false;
    }
    return true;
}

void call_log_outcome(struct call_log *log, const char *call, struct outcome outcome)
{
    call_log_add(log, outcome_type_name(outcome.type), call);
    if (strcmp(outcome.call, call) != 0 || log->outcome_count == COUNT_OF(log->outcomes))
        BUG("an outcome too many, or of another call");
    log->outcomes[log->outcome_count++] = outcome;
}
