/* Fake tools that a test configures. An execution on the loop is a fake_run with a timer; one on the pool is a thread
 * that waits at `door`. Both end in answer(), which reads the fake's settings at that moment. */

#include "fake_tools.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <stddef.h>

struct fake_run {
    struct fake_tool *fake;
    struct tool_run *run;
    struct fake_run *next;
    struct loop_timer timer;
};

static struct fake_tool *fake_of(const struct tool_run *run)
{
    return run->tool->data;
}

static int propose_file(struct change_set *set, const struct tool_run *run, const char *path, const char *text,
                        struct err *err)
{
    struct change *change = change_set_add(set, run->env->root, path, err);
    if (!change)
        return -1;
    change_side_set(&change->new, text, strlen(text), change->old.exists ? change->old.mode : 0644);
    return 0;
}

static void propose(const struct tool_run *run, struct tool_reply *reply)
{
    struct fake_tool *fake = fake_of(run);
    struct change_set *set = change_set_new();
    struct err err = ERR_INIT;
    if (propose_file(set, run, fake->path, fake->text, &err) ||
        (fake->path2 && propose_file(set, run, fake->path2, fake->text2, &err))) {
        change_set_free(set);
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    tool_reply_propose_own(reply, set);
}

/* Asks for confirmation if the settings say so; returns true if it did. */
static bool ask(const struct tool_run *run, struct tool_reply *reply)
{
    struct fake_tool *fake = fake_of(run);
    if (run->confirm_write && !fake->always_asks)
        return false;
    switch (fake->asks) {
    case FAKE_ASKS_NOTHING:
        return false;
    case FAKE_PROPOSES:
        propose(run, reply);
        return true;
    case FAKE_ASKS_FIELD:
        tool_reply_output(reply, xstrdup("{\"needs_confirmation\":true}"));
        return true;
    case FAKE_ASKS_ERROR:
        tool_reply_output(reply, xstrdup("{\"status\":\"error\",\"error\":\"Write confirmation required\"}"));
        return true;
    case FAKE_ASKS_MESSAGE:
        tool_reply_output(reply, xstrdup("{\"message\":\"Write confirmation required\"}"));
        return true;
    }
    return false;
}

static void answer(const struct tool_run *run, struct tool_reply *reply)
{
    struct fake_tool *fake = fake_of(run);
    struct err err = ERR_INIT;
    reply->final = fake->final;
    if (fake->error) {
        tool_reply_error(reply, "%s", fake->error);
        return;
    }
    if (ask(run, reply))
        return;
    if (fake->cites)
        tool_reply_cite(reply, fake->cites, strncmp(fake->cites, "http", 4) == 0);
    if (run->approved && change_set_commit(run->approved, run->env->root, &err))
        tool_reply_error(reply, "%s", err.text);
    else
        tool_reply_output(reply, xstrdup(fake->output ? fake->output : "{\"ok\":true}"));
}

static void note_start(struct tool_run *run)
{
    struct fake_tool *fake = fake_of(run);
    struct strbuf text = STRBUF_INIT;
    json_write(&text, run->arguments, JSON_CANONICAL);
    pthread_mutex_lock(&fake->lock);
    free(fake->arguments);
    fake->arguments = strbuf_detach(&text, NULL);
    if (run->confirm_write)
        fake->approved = run->approved;
    pthread_mutex_unlock(&fake->lock);
    atomic_fetch_add(&fake->executions, 1);
    atomic_fetch_add(&fake->confirmed, run->confirm_write ? 1 : 0);
}

static bool is_to_hang(const struct tool_run *run)
{
    const struct fake_tool *fake = fake_of(run);
    return !fake->open && (run->confirm_write ? fake->confirmed_hangs : fake->hangs);
}

/* ---- on the loop ---- */

static void end_run(struct fake_run *fake_run, struct tool_reply *take_reply)
{
    struct fake_tool *fake = fake_run->fake;
    struct tool_run *run = fake_run->run;
    struct fake_run **link = &fake->runs;
    while (*link != fake_run)
        link = &(*link)->next;
    *link = fake_run->next;
    loop_timer_stop(run->env->loop, &fake_run->timer);
    free(fake_run);
    atomic_fetch_add(&fake->finished, 1);
    tool_run_finish(run, take_reply);
}

static void end_with_answer(struct fake_run *fake_run)
{
    struct tool_reply reply = {0};
    answer(fake_run->run, &reply);
    end_run(fake_run, &reply);
}

static void on_timer(struct loop_timer *timer)
{
    end_with_answer((struct fake_run *)((char *)timer - offsetof(struct fake_run, timer)));
}

static void start(struct tool_run *run)
{
    struct fake_tool *fake = fake_of(run);
    struct fake_run *fake_run = xcalloc(1, sizeof(*fake_run));
    *fake_run = (struct fake_run){.fake = fake, .run = run, .next = fake->runs};
    fake->runs = fake_run;
    fake->token_s = deadline_remaining_s(&run->deadline);
    note_start(run);
    if (fake->says)
        tool_run_say(run, "stdout", fake->says);
    int64_t takes_ms = run->confirm_write ? fake->confirmed_ms : fake->takes_ms;
    if (is_to_hang(run))
        return;
    if (takes_ms > 0)
        loop_timer_start(run->env->loop, &fake_run->timer, loop_now_us(run->env->loop) + takes_ms * 1000, on_timer);
    else
        end_with_answer(fake_run);
}

static void cancel(struct tool_run *run)
{
    struct fake_tool *fake = fake_of(run);
    atomic_fetch_add(&fake->cancels, 1);
    if (!fake->heeds_cancel)
        return;
    for (struct fake_run *fake_run = fake->runs; fake_run; fake_run = fake_run->next)
        if (fake_run->run == run) {
            struct tool_reply reply = {0};
            tool_reply_error(&reply, "stopped");
            end_run(fake_run, &reply);
            return;
        }
}

/* ---- on the pool ---- */

static void work(struct tool_run *run, struct tool_reply *reply)
{
    struct fake_tool *fake = fake_of(run);
    note_start(run);
    pthread_mutex_lock(&fake->lock);
    while (is_to_hang(run) && !(fake->heeds_cancel && tool_run_cancelled(run))) {
        /* A canceled token sends no signal, so poll it. */
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&fake->door, &fake->lock, &until);
    }
    pthread_mutex_unlock(&fake->lock);
    if (fake->heeds_cancel && tool_run_cancelled(run))
        tool_reply_error(reply, "stopped");
    else
        answer(run, reply);
    atomic_fetch_add(&fake->finished, 1);
}

void fake_tool_init(struct fake_tool *fake, const char *name, enum effect effect)
{
    *fake = (struct fake_tool){
        .tool =
            {
                .spec = {.name = name,
                         .description = "does what a test tells it to",
                         .effect = effect,
                         .idempotent = effect == EFFECT_READ_ONLY,
                         .parameters = "{\"type\":\"object\"}"},
                .start = start,
                .cancel = cancel,
                .data = fake,
            },
    };
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->door, NULL);
}

void fake_tool_on_pool(struct fake_tool *fake)
{
    fake->tool.start = NULL;
    fake->tool.work = work;
}

static struct fake_run *find_hanging(const struct fake_tool *fake)
{
    struct fake_run *fake_run = fake->runs;
    while (fake_run && loop_timer_armed(&fake_run->timer))
        fake_run = fake_run->next;
    return fake_run;
}

void fake_tool_let_go(struct fake_tool *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->open = true;
    pthread_cond_broadcast(&fake->door);
    pthread_mutex_unlock(&fake->lock);
    for (struct fake_run *fake_run; (fake_run = find_hanging(fake));)
        end_with_answer(fake_run);
}

void fake_tool_release(struct fake_tool *fake)
{
    if (fake->runs)
        BUG("the fake tool %s is still running", fake->tool.spec.name);
    free(fake->arguments);
    pthread_mutex_destroy(&fake->lock);
    pthread_cond_destroy(&fake->door);
}
