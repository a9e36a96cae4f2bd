/* Lets an author (a model) write scripts until one works, and records every attempt (orchestrator.h).
 *
 * One step at a time: the author writes, the orchestrator waits for a box, or a script runs. Each step ends in a
 * callback that looks at the result and starts the next step. `end` is the only way out, and it posts. */

#include "orchestrator.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "pool.h"
#include <string.h>

#define SAID_MAX 200 /* characters of the author's answer that a sentence of ours quotes */

struct orchestration {
    struct orchestrator_options options;
    struct orchestrator_author author;
    struct run_record record;
    struct loop_task task;
    bool asked; /* the author is writing */
    struct pool_ticket *ticket;
    struct box *box;
    bool unusable; /* a script failed in this box: it serves the remaining steps and no other run */
    struct script_run *script;
    bool over;
};

/* ---- the record ---- */

void run_record_release(struct run_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        free(record->attempts[i].script);
        script_result_release(&record->attempts[i].result);
    }
    free(record->attempts);
    free(record->why);
    free(record->closing);
    *record = (struct run_record){0};
}

static void add_count(struct json_writer *w, const char *key, int64_t count)
{
    if (count >= 0)
        json_add_int(w, key, count);
    else
        json_add_null(w, key);
}

static void write_attempt(struct json_writer *w, const struct attempt *attempt)
{
    CLEANUP(strbuf) struct strbuf result = STRBUF_INIT;
    script_result_write(&result, &attempt->result);
    json_open(w, NULL, '{');
    json_add_str(w, "script", attempt->script);
    add_count(w, "tokens_in", attempt->authoring.tokens_in);
    add_count(w, "tokens_out", attempt->authoring.tokens_out);
    add_count(w, "latency_ms", attempt->authoring.latency_ms);
    json_add_raw(w, "result", result.buf);
    json_close(w, '}');
}

void run_record_write(struct strbuf *out, const struct run_record *record)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "type", "run_record");
    json_add_bool(&w, "success", record->success);
    json_add_str(&w, "why", record->why);
    json_add_str(&w, "closing", record->closing);
    json_open(&w, "attempts", '[');
    for (size_t i = 0; i < record->count; i++)
        write_attempt(&w, &record->attempts[i]);
    json_close(&w, ']');
    json_close(&w, '}');
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_parts(const struct script_item *a, size_t a_count, const struct script_item *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (strcmp(a[i].label, b[i].label) != 0 || strcmp(a[i].data, b[i].data) != 0)
            return false;
    return true;
}

static bool says_nothing(const struct script_result *result)
{
    return !result->final_data && !result->error && !result->intermediate_count && !result->log_count;
}

static bool is_repeated(const struct attempt *a, const struct attempt *b)
{
    const struct script_result *x = &a->result, *y = &b->result;
    if (says_nothing(x) && says_nothing(y))
        return strcmp(a->script, b->script) == 0;
    return x->success == y->success && same_text(x->final_data, y->final_data) && same_text(x->error, y->error) &&
           same_parts(x->intermediates, x->intermediate_count, y->intermediates, y->intermediate_count) &&
           same_parts(x->logs, x->log_count, y->logs, y->log_count);
}

/* Counts how many of the last attempts had the same result. */
static size_t count_repeats(const struct run_record *record)
{
    size_t count = 1;
    while (count < record->count &&
           is_repeated(&record->attempts[record->count - 1 - count], &record->attempts[record->count - 1]))
        count++;
    return count;
}

static struct attempt *last_attempt(struct orchestration *run)
{
    return &run->record.attempts[run->record.count - 1];
}

/* ---- the end ---- */

static void give_box(struct orchestration *run)
{
    if (run->box)
        pool_give(run->options.pool, steal(&run->box), !run->unusable);
    run->unusable = false;
}

static void deliver(struct loop_task *task)
{
    struct orchestration *run = CONTAINER_OF(task, struct orchestration, task);
    run->author.done(run->author.user, &run->record);
    run_record_release(&run->record);
    free(run);
}

static void end(struct orchestration *run, bool success, char *take_why)
{
    run->over = true;
    run->asked = false;
    run->record.success = success;
    run->record.why = take_why;
    loop_unpost(run->options.loop, &run->task);
    loop_post(run->options.loop, &run->task, deliver);
}

/* ---- the author ---- */

static void ask_author(struct loop_task *task)
{
    struct orchestration *run = CONTAINER_OF(task, struct orchestration, task);
    run->asked = true;
    run->author.next(run->author.user, run, &run->record);
}

static void ask_soon(struct orchestration *run)
{
    loop_post(run->options.loop, &run->task, ask_author);
}

/* ": " and the first line of the author's answer, or nothing. */
static char *said(const struct orchestration *run)
{
    const char *word = run->record.closing;
    if (!word)
        return xstrdup("");
    size_t line = strcspn(word, "\n"), len = utf8_prefix(word, line, SAID_MAX);
    return xasprintf(": %.*s%s", (int)len, word, len < line ? "…" : "");
}

static void author_is_done(struct orchestration *run, const struct authored *authored)
{
    size_t count = run->record.count;
    bool stepping = run->options.mode == SCRIPT_INTERACTIVE;
    give_box(run);
    if (authored->unable) {
        end(run, false, xstrdup(authored->word));
        return;
    }
    run->record.closing = authored->word ? xstrdup(authored->word) : NULL;
    CLEANUP(free) char *word = said(run);
    if (!count)
        end(run, false, xasprintf("the model wrote no script%s", word));
    else if (stepping)
        end(run, last_attempt(run)->result.success,
            xasprintf("the model finished after %zu %s", count, count == 1 ? "step" : "steps"));
    else
        end(run, false,
            xasprintf("the model wrote no other script%s (last error: %s)", word, last_attempt(run)->result.error));
}

/* ---- the result of a script ---- */

static void after_plan(struct orchestration *run)
{
    size_t count = run->record.count;
    const struct script_result *result = &last_attempt(run)->result;
    give_box(run);
    if (result->success)
        end(run, true, xasprintf("attempt %zu returned a result", count));
    else if (count < run->options.attempts)
        ask_soon(run);
    else
        end(run, false,
            count == 1 ? xasprintf("the script failed: %s", result->error)
                       : xasprintf("%zu attempts failed, the last with: %s", count, result->error));
}

static void after_step(struct orchestration *run)
{
    size_t count = run->record.count, repeats = count_repeats(&run->record);
    const struct script_result *result = &last_attempt(run)->result;
    bool finished = result->success && !result->step_done;
    bool stuck = repeats >= ORCHESTRATOR_REPEATS_MAX;
    if (!result->reusable)
        give_box(run);
    if (!finished && !stuck && count < run->options.attempts) {
        ask_soon(run);
        return;
    }
    give_box(run);
    if (finished)
        end(run, true, xasprintf("step %zu returned a result", count));
    else if (stuck)
        end(run, false, xasprintf("%zu steps in a row returned the same result", repeats));
    else
        end(run, false, xasprintf("no result after %zu steps", count));
}

static void on_orchestrator_script_done(void *user, struct script_result *take_result)
{
    struct orchestration *run = user;
    struct script_result *result = &last_attempt(run)->result;
    run->script = NULL;
    *result = *take_result;
    *take_result = (struct script_result){0};
    run->unusable |= !script_result_keeps_box(result);
    if (run->over) { /* canceled; the cancel waited for this result */
        give_box(run);
        loop_post(run->options.loop, &run->task, deliver);
    } else if (run->options.mode == SCRIPT_PLAN) {
        after_plan(run);
    } else {
        after_step(run);
    }
}

static void run_script(struct orchestration *run)
{
    const struct orchestrator_options *options = &run->options;
    struct script_request request = {
        .script = last_attempt(run)->script,
        .mode = options->mode,
        .timeout_s = options->timeout_s,
        .max_output_bytes = options->max_output_bytes,
        .secrets = options->secrets,
        .emitter = options->emitter,
    };
    run->script = script_run_start(options->loop, box_channel(run->box), &request,
                                   &(struct script_listener){.done = on_orchestrator_script_done, .user = run});
}

static void on_orchestrator_box(void *user, struct box *box, const char *why)
{
    struct orchestration *run = user;
    run->ticket = NULL;
    run->box = box;
    if (box) {
        run_script(run);
        return;
    }
    struct script_result *result = &last_attempt(run)->result;
    result->execution_id = xstrdup("");
    result->error = xasprintf("no sandbox: %s", why);
    end(run, false, xstrdup(result->error));
}

/* ---- public functions ---- */

struct orchestration *orchestrator_start(const struct orchestrator_options *options,
                                         const struct orchestrator_author *author)
{
    struct orchestration *run = xcalloc(1, sizeof(*run));
    run->options = *options;
    run->author = *author;
    if (!options->attempts)
        run->options.attempts = options->mode == SCRIPT_PLAN ? ORCHESTRATOR_ATTEMPTS : ORCHESTRATOR_STEPS;
    ask_soon(run);
    return run;
}

void orchestrator_script(struct orchestration *run, const struct authored *authored)
{
    if (run->over) /* canceled while the author was writing */
        return;
    if (!run->asked)
        BUG("a script without a request");
    run->asked = false;
    if (!authored->script) {
        author_is_done(run, authored);
        return;
    }
    struct run_record *record = &run->record;
    GROW(record->attempts, record->count, record->room);
    record->attempts[record->count++] =
        (struct attempt){.script = xstrdup(authored->script), .authoring = authored->authoring};
    if (run->author.begins)
        run->author.begins(run->author.user, record);
    if (run->over) /* the callback canceled the run */
        return;
    if (run->box)
        run_script(run);
    else
        run->ticket = pool_take(run->options.pool, on_orchestrator_box, run);
}

void orchestrator_cancel(struct orchestration *run)
{
    if (run->over)
        return;
    if (run->ticket)
        pool_forget(run->options.pool, steal(&run->ticket));
    if (!run->script)
        give_box(run);
    end(run, false, xstrdup("canceled"));
    if (run->script) { /* the result belongs in the record: deliver the record when the result is there */
        loop_unpost(run->options.loop, &run->task);
        script_run_cancel(run->script, "canceled");
    }
}
