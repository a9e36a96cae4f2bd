#pragma once
/* A child of proc.h and what it did. Real processes on a real clock; the loop sleeps until they do something.
 *
 *     struct loop *loop = *state;                   of child_rig_set_up
 *     struct child child;
 *     child_shell(&child, loop, "echo out; exit 3", false);
 *     loop_run(loop);
 *     assert_string_equal(child.out.buf, "out\n");
 *     child_release(&child); */

#include "base/loop.h"
#include "base/proc.h"
#include "base/strbuf.h"

struct child {
    struct loop *loop;
    struct proc *proc;
    struct strbuf out, err;
    int out_ends, err_ends, exits;
    int status, signum;
    bool tty; /* which has one stream */
    bool free_on_output, free_on_exit;
    int kill_on_output;
    void (*heard)(struct child *child); /* after each piece of its output, the end too */
};

/* cmocka's state is a loop. */
int child_rig_set_up(void **state);
int child_rig_tear_down(void **state);

/* Options whose callbacks note in `child`, made anew, what happens. */
struct proc_options child_options(struct child *child, struct loop *loop, struct proc_options options);
/* Nothing fails softly: a child that cannot be started fails the test. */
void child_start(struct child *child, struct loop *loop, struct proc_options options);
void child_shell(struct child *child, struct loop *loop, const char *script, bool want_stdin);
void child_free(struct child *child);
void child_release(struct child *child);
