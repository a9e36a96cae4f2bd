#pragma once
/* Fake tools that do what a test sets, and count what happened to them.
 *
 *     struct fake_tool slow;
 *     fake_tool_init(&slow, "slow", EFFECT_READ_ONLY);
 *     slow.takes_ms = 8000;                        in the loop's time, virtual or not
 *     … &slow.tool …
 *     assert_int_equal(slow.executions, 1);
 *     fake_tool_release(&slow);                    after the loop is done with it
 *
 * A test may change everything between executions. A canceled execution runs to its end unless `heeds_cancel`. */

#include "tools/tool.h"
#include <pthread.h>
#include <stdatomic.h>

enum fake_asking {
    FAKE_ASKS_NOTHING,
    FAKE_PROPOSES, /* like a tool server: proposes to change `path` to `text`, runs again to commit what was approved */
    FAKE_ASKS_FIELD,   /* like a foreign tool: {"needs_confirmation":true} */
    FAKE_ASKS_ERROR,   /* {"status":"error","error":"Write confirmation required"} */
    FAKE_ASKS_MESSAGE, /* {"message":"Write confirmation required"} */
};

struct fake_run;

struct fake_tool {
    struct tool tool; /* a test may change the spec before the first use */

    /* What the fake does. Texts are borrowed. */
    int64_t takes_ms;     /* first execution; 0: answers within `start` */
    int64_t confirmed_ms; /* second execution */
    const char *output;   /* JSON; NULL: {"ok":true} */
    const char *error;    /* answers with this error instead */
    bool final;           /* … and marks it as final */
    bool hangs;           /* first executions do not return before fake_tool_let_go */
    bool confirmed_hangs; /* nor do second ones */
    bool heeds_cancel;    /* returns at once with an error if canceled */
    enum fake_asking asks;
    bool always_asks;          /* even after confirm_write */
    const char *path, *text;   /* of FAKE_PROPOSES */
    const char *path2, *text2; /* a second file, or NULL */
    const char *cites;         /* a source, or NULL; web if it begins with http */
    const char *says;          /* shown to people at the start of an execution */

    /* What happened. */
    atomic_int executions; /* begun, of both kinds */
    atomic_int confirmed;  /* of them with confirm_write */
    atomic_int finished;
    atomic_int cancels;                /* times `cancel` was called */
    char *arguments;                   /* of the last execution */
    double token_s;                    /* time left in its token when it began; loop executions only */
    const struct change_set *approved; /* what the last confirmed execution got; only to compare with NULL */

    struct fake_run *runs; /* running on the loop */
    pthread_mutex_t lock;  /* of `open` */
    pthread_cond_t door;
    bool open;
};

void fake_tool_init(struct fake_tool *fake, const char *name, enum effect effect);
/* Makes the tool run on a pool thread: takes no time, but can hang there. Call before its first use. */
void fake_tool_on_pool(struct fake_tool *fake);
/* Lets hanging executions return now, and later ones not hang. Call on the loop thread. */
void fake_tool_let_go(struct fake_tool *fake);
/* BUG if an execution is running. */
void fake_tool_release(struct fake_tool *fake);
