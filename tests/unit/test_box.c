/* Tests of boxes: real processes, with a harness that only speaks the protocol (support/fake_harness.sh). */

#include "base/file.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/box.h"
#include "support/test.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char harness[] = SOURCE_DIR "/tests/support/fake_harness.sh";
static struct loop *loop;

struct holder {
    struct box *box;
    struct strbuf got;
    char *why;
    int pid, ready, gone, ended, idle;
    bool free_when_ready, ask_when_ready;
    const char *request;
};

static void on_received(struct channel *channel, const char *bytes, size_t len)
{
    struct holder *holder = channel->listener;
    strbuf_add(&holder->got, bytes, len);
    if (strstr(holder->got.buf, "script_done")) {
        channel->received = NULL;
        loop_stop(loop);
    }
}

static void on_ended(struct channel *channel)
{
    ((struct holder *)channel->listener)->ended++;
}

static void ask(struct holder *holder, const char *request)
{
    struct channel *channel = box_channel(holder->box);
    channel->received = on_received;
    channel->ended = on_ended;
    channel->listener = holder;
    assert_int_equal(channel->ops->write(channel, request, strlen(request)), 0);
}

static void on_ready(void *user, struct box *box, const struct json *ready)
{
    struct holder *holder = user;
    holder->ready++;
    holder->pid = (int)json_int(json_get(ready, "pid"), 0);
    assert_string_equal(json_str(json_at(json_get(ready, "tools"), 0), ""), "add");
    if (holder->free_when_ready) {
        box_free(box);
        holder->box = NULL;
        loop_stop(loop);
    } else if (holder->request) {
        ask(holder, holder->request);
    } else {
        loop_stop(loop);
    }
}

static void on_gone(void *user, struct box *box, const char *why)
{
    struct holder *holder = user;
    holder->gone++;
    holder->why = xstrdup(why);
    assert_int_equal(box_is_missing(box), strstr(why, "it is not in PATH") != NULL);
    box_free(box);
    holder->box = NULL;
    loop_stop(loop);
}

static void on_idle(void *user, struct box *box)
{
    struct holder *holder = user;
    assert_true(box_is_idle(box));
    holder->idle++;
    loop_stop(loop);
}

static void start(struct holder *holder, const struct sandbox_engine *engine, const char *const *secrets)
{
    struct err err = ERR_INIT;
    struct box_listener listener = {.ready = on_ready, .gone = on_gone, .idle = on_idle, .user = holder};
    struct box_options spec = {.engine = engine, .harness = harness, .workspace = "/tmp", .secrets = secrets};
    strbuf_init(&holder->got);
    holder->box = box_start(loop, &spec, "keyturn-test", &listener, &err);
    if (!holder->box)
        fail_msg("%s", err.text);
    assert_int_equal(holder->ready + holder->gone, 0); /* never from within */
}

static void finish(struct holder *holder)
{
    box_free(holder->box);
    strbuf_release(&holder->got);
    free(holder->why);
}

static int begin(void **state)
{
    (void)state;
    loop = loop_new(clock_system());
    return 0;
}

static int end(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

#define ENGINE(...)                                                              \
    {                                                                            \
        .name = "fake", .argv = (char *[]){__VA_ARGS__, NULL}, .env = (char *[]) \
        {                                                                        \
            NULL                                                                 \
        }                                                                        \
    }
#define REQUEST(script) "{\"execution_id\":\"e1\",\"script\":\"" script "\"}\n"

/* A zombie does not count as alive. */
static bool is_alive(int pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const char *name_end = file_read(path, &text, 0, NULL) ? NULL : strrchr(text.buf, ')');
    return name_end && name_end[2] != 'Z' && name_end[2] != 'X';
}

static void assert_dies(int pid)
{
    assert_true(pid > 1);
    for (int i = 0; i < 5000 && is_alive(pid); i++)
        usleep(1000);
    if (is_alive(pid))
        fail_msg("process %d lives on", pid);
}

TEST_WITH(one_script, begin, end)
{
    struct sandbox_engine engine = ENGINE("{harness}", "noise", "complain", "{workspace}");
    struct holder holder = {.request = REQUEST("fine")};
    start(&holder, &engine, NULL);
    loop_run(loop);
    assert_int_equal(holder.ready, 1);
    CLEANUP(free)
    char *want = xasprintf("{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":%d}\n"
                           "{\"type\":\"script_done\",\"execution_id\":\"e1\"}\n",
                           holder.pid);
    assert_string_equal(holder.got.buf, want);
    assert_true(box_channel(holder.box)->ordered);
    assert_string_equal(box_layers(holder.box), "{\"fake\":true}");
    assert_string_equal(box_name(holder.box), "keyturn-test");
    assert_string_equal(box_stderr(holder.box), "line one\n  line two\n");
    assert_true(box_kept_still(holder.box));
    finish(&holder);
    assert_dies(holder.pid);
}

static struct {
    struct loop_timer timer;
    struct box *box;
    size_t notes; /* bytes */
} looking;

static void look(struct loop_timer *timer)
{
    if (box_kept_still(looking.box))
        loop_timer_start(loop, timer, loop_now_us(loop) + 1000, look);
    else
        loop_stop(loop);
}

static void look_for_notes(struct loop_timer *timer)
{
    if (strlen(box_notes(looking.box)) < looking.notes)
        loop_timer_start(loop, timer, loop_now_us(loop) + 1000, look_for_notes);
    else
        loop_stop(loop);
}

TEST_WITH(output_without_a_listener, begin, end)
{
    struct sandbox_engine engine = ENGINE("{harness}", "unordered");
    struct holder holder = {.request = REQUEST("late")};
    start(&holder, &engine, NULL);
    loop_run(loop);
    assert_false(box_channel(holder.box)->ordered);
    /* A script that ends only after its listener was removed. */
    ask(&holder, REQUEST("late"));
    box_channel(holder.box)->received = NULL;
    assert_false(box_is_idle(holder.box));
    loop_run(loop);
    assert_int_equal(holder.idle, 1);
    /* Then it sends one more event. */
    looking.box = holder.box;
    loop_timer_start(loop, &looking.timer, 0, look);
    loop_run(loop);
    finish(&holder);
}

/* Messages about loaded tools belong to no script and do not count as noise. */
TEST_WITH(notes_of_the_harness_are_reported, begin, end)
{
    static const char note[] =
        "{\"type\":\"log\",\"execution_id\":null,\"message\":\"tools: b.py: broken\",\"level\":\"error\"}\n";
    CLEANUP(free) char *both = xasprintf("%s%s", note, note);
    struct sandbox_engine engine = ENGINE("{harness}", "complain", "note");
    struct holder holder = {.request = REQUEST("fine")};
    start(&holder, &engine, NULL);
    loop_run(loop); /* to the end of a script: all notes have come by then */
    assert_string_equal(box_notes(holder.box), both);
    CLEANUP(free) char *line = box_complaints_line(holder.box);
    assert_non_null(strstr(line, "tools: b.py: broken; tools: b.py: broken"));
    assert_true(box_is_idle(holder.box));
    assert_true(box_kept_still(holder.box));
    /* A harness that loads them again reports them again, between scripts too. */
    CLEANUP(free) char *three = xasprintf("%s%s", both, note);
    ask(&holder, REQUEST("note"));
    loop_run(loop);
    looking.box = holder.box;
    looking.notes = strlen(three);
    loop_timer_start(loop, &looking.timer, 0, look_for_notes);
    loop_run(loop);
    assert_string_equal(box_notes(holder.box), three);
    assert_true(box_kept_still(holder.box));
    finish(&holder);

    struct sandbox_engine babbles = ENGINE("{harness}", "babble");
    struct holder noisy = {0};
    start(&noisy, &babbles, NULL);
    loop_run(loop);
    looking.box = noisy.box;
    loop_timer_start(loop, &looking.timer, 0, look);
    loop_run(loop);
    assert_string_equal(box_notes(noisy.box), note);
    finish(&noisy);
}

TEST_WITH(secrets_come_by_the_environment, begin, end)
{
    static const char *const names[] = {"BOX_SECRET", "BOX_MISSING", NULL};
    setenv("BOX_SECRET", "sesame", 1);
    struct sandbox_engine engine = ENGINE("{harness}");
    struct holder holder = {.request = REQUEST("env")};
    start(&holder, &engine, names);
    loop_run(loop);
    assert_non_null(strstr(holder.got.buf, "BOX_SECRET=sesame"));
    assert_null(strstr(holder.got.buf, "BOX_MISSING"));
    assert_null(strstr(holder.got.buf, "HOME="));
    finish(&holder);
}

static void assert_fails(struct sandbox_engine *engine, const char *request, const char *why)
{
    struct holder holder = {.request = request};
    start(&holder, engine, NULL);
    loop_run(loop);
    assert_int_equal(holder.gone, 1);
    assert_string_equal(holder.why, why);
    if (request)
        assert_int_equal(holder.ended, 1);
    finish(&holder);
}

TEST_WITH(failures_name_their_cause, begin, end)
{
    struct sandbox_engine missing = ENGINE("no-such-sandbox");
    assert_fails(&missing, NULL, "cannot start no-such-sandbox: it is not in PATH");
    struct sandbox_engine leaves = ENGINE("{harness}", "complain", "leave");
    assert_fails(&leaves, NULL, "fake ended with status 3 before it was ready: line one; line two; no room for you");
    struct sandbox_engine fine = ENGINE("{harness}");
    assert_fails(&fine, REQUEST("leave"), "fake ended with status 4");
    struct sandbox_engine killed = ENGINE("sh", "-c", "kill -9 $$");
    assert_fails(&killed, NULL, "fake was killed by signal 9 before it was ready");
    struct sandbox_engine placeless = ENGINE("{harness}", "{host}");
    struct box_options spec = {.engine = &placeless};
    struct err err = ERR_INIT;
    assert_null(box_start(loop, &spec, "x", &(struct box_listener){0}, &err));
    assert_non_null(strstr(err.text, "needs a host"));
}

/* Known error messages of a harness that never gets ready come with what to do. */
TEST_WITH(known_causes, begin, end)
{
    struct sandbox_engine none = ENGINE("sh", "-c", "echo \"Error: $0: image not known\" >&2; exit 125", "{image}");
    assert_fails(&none, NULL,
                 "image " BOX_IMAGE
                 " does not exist; ./dev image builds it: fake ended with status 125 before it was ready: "
                 "Error: " BOX_IMAGE ": image not known");
    struct sandbox_engine old = ENGINE("sh", "-c", "echo keyturn-harness: unknown option >&2; exit 2", "{image}");
    assert_fails(&old, NULL,
                 "its keyturn-harness has another version (./dev image rebuilds the image): fake ended with status 2 "
                 "before it was ready: keyturn-harness: unknown option");
    struct sandbox_engine installed = ENGINE("sh", "-c", "echo keyturn-harness: unknown option >&2; exit 2");
    assert_fails(
        &installed, NULL,
        "its keyturn-harness has another version: fake ended with status 2 before it was ready: keyturn-harness: "
        "unknown option");
}

/* Of a long message the end is shown, from the beginning of a line, a word or at least a character. */
TEST_WITH(long_complaints, begin, end)
{
    struct sandbox_engine lines = ENGINE("sh", "-c", "printf 'a %0290d\\nthe end\\n' 1 >&2; exit 1");
    assert_fails(&lines, NULL, "fake ended with status 1 before it was ready: … the end");
    struct sandbox_engine words = ENGINE("sh", "-c", "printf 'aaaa %0290d the end\\n' 1 >&2; exit 1");
    struct holder holder = {0};
    start(&holder, &words, NULL);
    loop_run(loop);
    CLEANUP(free) char *want = xasprintf("fake ended with status 1 before it was ready: … %0290d the end", 1);
    assert_string_equal(holder.why, want);
    finish(&holder);
    struct sandbox_engine letters = ENGINE("sh", "-c", "for i in $(seq 200); do printf 'xü'; done >&2; exit 1");
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "fake ended with status 1 before it was ready: … ");
    for (int i = 0; i < 100; i++)
        strbuf_addstr(&text, "xü");
    assert_fails(&letters, NULL, text.buf);
}

TEST_WITH(second_try, begin, end)
{
    struct sandbox_engine engine = ENGINE("sh", "-c", "echo cgroups in hybrid mode >&2; exit 1");
    engine.retry_on = "hybrid mode";
    engine.retry = (char *[]){"-e", NULL};
    assert_fails(&engine, NULL, "fake ended with status 1 before it was ready: cgroups in hybrid mode"); /* only one */
    engine.retry = (char *[]){"{harness}", NULL};
    struct holder holder = {0};
    start(&holder, &engine, NULL);
    loop_run(loop);
    assert_int_equal(holder.ready, 1);
    assert_string_equal(box_stderr(holder.box), "");
    finish(&holder);
}

TEST_WITH(not_ready_in_time, begin, end)
{
    struct loop *real = loop;
    struct fake_clock fake;
    fake_clock_init(&fake);
    loop = loop_new(&fake.base);
    struct sandbox_engine engine = ENGINE("{harness}", "mute");
    struct holder holder = {0};
    start(&holder, &engine, NULL);
    loop_run(loop);
    assert_int_equal(holder.gone, 1);
    assert_string_equal(holder.why, "fake was not ready within 30 s");
    finish(&holder);
    loop_free(loop);
    loop = real;
}

TEST_WITH(a_flood_before_it_is_ready, begin, end)
{
    struct sandbox_engine engine = ENGINE("yes");
    struct holder holder = {0};
    start(&holder, &engine, NULL);
    loop_run(loop);
    assert_int_equal(holder.gone, 1);
    assert_string_equal(holder.why, "fake printed more than 4 MB, but no ready event");
    finish(&holder);
}

TEST_WITH(close_and_free, begin, end)
{
    struct sandbox_engine engine = ENGINE("{harness}");
    struct holder holder = {0};
    start(&holder, &engine, NULL);
    loop_run(loop);
    struct channel *channel = box_channel(holder.box);
    ask(&holder, REQUEST("flood"));
    channel->ops->pause(channel, true);
    channel->ops->close(channel);
    assert_int_equal(channel->ops->write(channel, "x", 1), -1);
    loop_run(loop);
    assert_int_equal(holder.got.len, 0);
    assert_int_equal(holder.ended, 0);
    assert_string_equal(holder.why, "fake was ended");
    finish(&holder);
    assert_dies(holder.pid);

    struct holder hasty = {.free_when_ready = true};
    start(&hasty, &engine, NULL);
    loop_run(loop);
    assert_int_equal(hasty.ready, 1);
    finish(&hasty);
    struct holder never = {0};
    start(&never, &engine, NULL);
    finish(&never);
    struct sandbox_engine missing = ENGINE("no-such-sandbox");
    struct holder nothing = {0};
    start(&nothing, &missing, NULL);
    finish(&nothing); /* before its callback */
    box_free(NULL);
}

TEST_WITH(a_stopped_box_ends, begin, end)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-box-", &err);
    CLEANUP(free) char *script = xasprintf("echo {name} >> %s/stopped", folder);
    CLEANUP(free) char *made = xasprintf("%s/stopped", folder);
    struct sandbox_engine engine = ENGINE("{harness}");
    engine.stop = (char *[]){"sh", "-c", script, NULL};
    /* A box that exits needs no stopping. */
    struct holder left = {.request = REQUEST("leave")};
    start(&left, &engine, NULL);
    loop_run(loop);
    finish(&left);
    struct holder holder = {0};
    start(&holder, &engine, NULL);
    loop_run(loop);
    finish(&holder);
    loop_free(loop); /* waits for the stop */
    loop = loop_new(clock_system());
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_read(made, &text, 0, &err), 0);
    assert_string_equal(text.buf, "keyturn-test\n");
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

/* The box ends with the program in every way, here by SIGKILL while the harness is behind a process that does not read
 * its stdin. */
TEST_WITH(nothing_outlives_the_program, begin, end)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t program = fork();
    if (program == 0) {
        loop = loop_new(clock_system());
        struct sandbox_engine engine = ENGINE("sh", "-c", "{harness}; sleep 100");
        struct holder holder = {0};
        start(&holder, &engine, NULL);
        loop_run(loop);
        (void)!write(ends[1], &holder.pid, sizeof(holder.pid));
        pause();
    }
    int pid = 0;
    assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
    assert_true(is_alive(pid));
    kill(program, SIGKILL);
    assert_int_equal(waitpid(program, NULL, 0), program);
    assert_dies(pid);
    close(ends[0]);
    close(ends[1]);
}
