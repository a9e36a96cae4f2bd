/* Runs the seven steps of the finalizer, one after the other. A step reports through its status only, so a failing
 * step cannot stop the ones after it. */

#include "finalize.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "prepare.h"

static const char done[] = "done", skipped[] = "skipped", failed[] = "failed";

static void settle_step(struct finalization *out, enum finalize_step step, int result, const struct err *err)
{
    out->status[step] = result ? failed : done;
    if (result)
        out->reason[step] = xstrdup(err->text[0] ? err->text : "no reason given");
}

static bool cited_before(const struct finalization *out, const struct citation *citation)
{
    for (size_t i = 0; i < out->citation_count; i++)
        if (out->citations[i].web == citation->web && strcmp(out->citations[i].ref, citation->ref) == 0)
            return true;
    return false;
}

/* The first ones of each kind, local before web. */
static void choose_citations(struct finalization *out, const struct finalize_input *input)
{
    out->citations = xcalloc(2 * FINALIZE_CITATIONS_MAX, sizeof(*out->citations));
    for (int web = 0; web <= 1; web++) {
        size_t of_kind = 0;
        for (size_t i = 0; i < input->citation_count && of_kind < FINALIZE_CITATIONS_MAX; i++) {
            const struct citation *citation = &input->citations[i];
            if (citation->web != web || cited_before(out, citation))
                continue;
            out->citations[out->citation_count++] =
                (struct citation){.ref = xstrdup(citation->ref), .web = citation->web};
            of_kind++;
        }
    }
}

static void step_citations(struct finalization *out, const struct finalize_input *input,
                           const struct finalize_hooks *hooks)
{
    struct err err = ERR_INIT;
    if (!input->show_citations)
        return;
    settle_step(out, FINALIZE_CITATIONS, hooks->citations ? hooks->citations(hooks->data, &err) : 0, &err);
    if (out->status[FINALIZE_CITATIONS] == failed)
        return;
    choose_citations(out, input);
}

static void step_usage(struct finalization *out, const struct finalize_input *input, const struct finalize_hooks *hooks)
{
    struct err err = ERR_INIT;
    const struct usage *usage = &input->usage;
    if (hooks->usage && (usage->input || usage->output || usage->cache_read || usage->cache_write))
        settle_step(out, FINALIZE_USAGE, hooks->usage(hooks->data, usage, &err), &err);
}

static void step_log(struct finalization *out, const struct finalize_hooks *hooks)
{
    struct err err = ERR_INIT;
    if (hooks->log)
        settle_step(out, FINALIZE_LOG, hooks->log(hooks->data, "assistant", out->text, &err), &err);
}

static void step_record(struct finalization *out, enum finalize_step step, const struct finalize_input *input,
                        void *data, int (*hook)(void *, const struct finalize_input *, struct err *))
{
    struct err err = ERR_INIT;
    if (hook)
        settle_step(out, step, hook(data, input, &err), &err);
}

struct finalization finalize_turn(const struct finalize_input *input, const struct finalize_hooks *hooks)
{
    static const struct finalize_hooks none;
    struct finalization out = {.text = xstrdup(input->text ? input->text : "")};
    if (!hooks)
        hooks = &none;
    for (int step = 0; step < FINALIZE_STEP_COUNT; step++)
        out.status[step] = skipped;
    step_citations(&out, input, hooks);
    step_usage(&out, input, hooks);
    step_log(&out, hooks);
    step_record(&out, FINALIZE_DECISION, input, hooks->data, hooks->decision);
    step_record(&out, FINALIZE_MEMORY, input, hooks->data, hooks->memory);
    step_record(&out, FINALIZE_LEARNER, input, hooks->data, hooks->learner);
    step_record(&out, FINALIZE_JUDGES, input, hooks->data, hooks->judges);
    return out;
}

void finalization_release(struct finalization *finalization)
{
    free(finalization->text);
    for (size_t i = 0; i < finalization->citation_count; i++)
        free(finalization->citations[i].ref);
    free(finalization->citations);
    for (int step = 0; step < FINALIZE_STEP_COUNT; step++)
        free(finalization->reason[step]);
    *finalization = (struct finalization){0};
}

static const struct event_final_status *status_to_event(struct arena *arena, const struct finalization *finalization,
                                                        enum finalize_step step)
{
    struct event_final_status *status = arena_calloc(arena, 1, sizeof(*status));
    status->status = finalization->status[step];
    status->reason = finalization->reason[step];
    return status;
}

void finalization_to_event(struct event_turn_finalized *event, struct arena *arena,
                           const struct finalization *finalization)
{
    struct event_citation *citations = arena_calloc(arena, finalization->citation_count + 1, sizeof(*citations));
    for (size_t i = 0; i < finalization->citation_count; i++)
        citations[i] = (struct event_citation){.ref = finalization->citations[i].ref,
                                               .kind = finalization->citations[i].web ? "web" : "local"};
    *event = (struct event_turn_finalized){.citations = {citations, finalization->citation_count},
                                           .memory = status_to_event(arena, finalization, FINALIZE_MEMORY),
                                           .decisions = status_to_event(arena, finalization, FINALIZE_DECISION),
                                           .judges = status_to_event(arena, finalization, FINALIZE_JUDGES)};
}

static int store_memory(void *data, const struct finalize_input *input, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    memory_extract(&text, input->prompt, input->text, input->status);
    return text.len ? store_memory_add(data, input->project, input->session, text.buf, input->wall_us, err) : 0;
}

struct finalize_hooks finalize_store_hooks(struct store *store, bool memory)
{
    if (!store)
        return (struct finalize_hooks){0};
    return (struct finalize_hooks){.data = store, .memory = memory ? store_memory : NULL};
}
