/* Starts a child for a test and logs what it did. */

#include "child_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

int child_rig_set_up(void **state)
{
    *state = loop_new(clock_system());
    return 0;
}

int child_rig_tear_down(void **state)
{
    loop_free(*state);
    return 0;
}

static void take_stdout(struct seen_child *child, const char *bytes, size_t len)
{
    assert_int_equal(child->out_ends, 0);
    assert_int_equal(child->exits, 0);
    strbuf_add(&child->out, bytes, len);
    child->out_ends += len == 0;
    bool line = strchr(child->out.buf, '\n') != NULL;
    if (line && child->kill_on_output)
        child_kill(child->child, child->kill_on_output);
    if (line && child->free_on_output)
        seen_free(child);
    else if (child->heard)
        child->heard(child);
}

static void on_output(void *data, enum process_stream stream, const char *bytes, size_t len)
{
    struct seen_child *child = data;
    if (stream == PROCESS_STDOUT) {
        take_stdout(child, bytes, len);
        return;
    }
    assert_int_equal(child->err_ends, 0);
    strbuf_add(&child->err, bytes, len);
    child->err_ends += len == 0;
}

static void on_exit_(void *data, int status, int signum)
{
    struct seen_child *child = data;
    assert_int_equal(child->out_ends, 1);
    assert_int_equal(child->err_ends, child->tty ? 0 : 1);
    child->exits++;
    child->status = status;
    child->signum = signum;
    if (child->free_on_exit)
        seen_free(child);
}

const struct child_ops seen_ops = {.output = on_output, .exited = on_exit_};

void seen_start_line(struct seen_child *child, struct loop *loop, const struct process_spec *spec,
                     void (*control)(void *data, const char *bytes, size_t len), void (*socket)(void *data, int fd))
{
    struct err err = ERR_INIT;
    struct child_ops ops = seen_ops;
    ops.control = control;
    ops.socket = socket;
    *child =
        (struct seen_child){.loop = loop, .out = STRBUF_INIT, .err = STRBUF_INIT, .tty = spec->open == PROCESS_PTY};
    child->child = child_start(loop, spec, &ops, child, &err);
    if (!child->child)
        fail_msg("%s", err.text);
    assert_true(child_pid(child->child) > 0);
}

void seen_start(struct seen_child *child, struct loop *loop, struct process_spec spec)
{
    seen_start_line(child, loop, &spec, NULL, NULL);
}

void seen_shell(struct seen_child *child, struct loop *loop, const char *script, bool want_stdin)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    seen_start(child, loop, (struct process_spec){.argv = argv, .keep_input = want_stdin});
}

void seen_free(struct seen_child *child)
{
    child_free(child->child);
    child->child = NULL;
}

void seen_release(struct seen_child *child)
{
    seen_free(child);
    strbuf_release(&child->out);
    strbuf_release(&child->err);
}
