#pragma once
/* A child of child.h and what it did. Real processes on a real clock; the loop sleeps until they do something.
 *
 *     struct loop *loop = *state;                   of child_rig_set_up
 *     struct seen_child child;
 *     seen_shell(&child, loop, "echo out; exit 3", false);
 *     loop_run(loop);
 *     assert_string_equal(child.out.buf, "out\n");
 *     seen_release(&child); */

#include "base/child.h"
#include "base/loop.h"
#include "base/strbuf.h"

struct seen_child {
    struct loop *loop;
    struct child *child;
    struct strbuf out, err;
    int out_ends, err_ends, exits;
    int status, signum;
    bool tty; /* a terminal has one stream */
    bool free_on_output, free_on_exit;
    int kill_on_output;
    void (*heard)(struct seen_child *child); /* called after each piece of its output, and at its end */
};

/* cmocka's state is a loop. */
int child_rig_set_up(void **state);
int child_rig_tear_down(void **state);

/* Callbacks that log in a struct seen_child what happens. */
extern const struct child_ops seen_ops;
/* Fails the test if the child cannot be started. */
void seen_start(struct seen_child *child, struct loop *loop, struct process_spec spec);
/* The same with a control line. */
void seen_start_line(struct seen_child *child, struct loop *loop, const struct process_spec *spec,
                     void (*control)(void *data, const char *bytes, size_t len), void (*socket)(void *data, int fd));
void seen_shell(struct seen_child *child, struct loop *loop, const char *script, bool want_stdin);
void seen_free(struct seen_child *child);
void seen_release(struct seen_child *child);
