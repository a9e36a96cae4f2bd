#pragma once
/* Tools that do what a test tells them to, and remember what was done to them.
 *
 *     struct fake_tool slow;
 *     fake_tool_init(&slow, "slow", EFFECT_READ_ONLY);
 *     slow.takes_ms = 8000;                        in the loop's time, virtual or not
 *     … &slow.tool …
 *     assert_int_equal(slow.executions, 1);
 *     fake_tool_release(&slow);                    after the loop is done with it
 *
 * Everything may be changed between executions. An execution that is cancelled goes on to its end unless
 * `heeds_cancel`. */

#include "tools/tool.h"
#include <pthread.h>
#include <stdatomic.h>

enum fake_asking {
    FAKE_ASKS_NOTHING,
    FAKE_PROPOSES,   /* as a tool server: proposes to make `path` hold `text`, runs again to commit what was approved */
    FAKE_ASKS_FIELD, /* as a foreign tool: {"needs_confirmation":true} */
    FAKE_ASKS_ERROR, /* {"status":"error","error":"Write confirmation required"} */
    FAKE_ASKS_MESSAGE, /* {"message":"Write confirmation required"} */
};

struct fake_run;

struct fake_tool {
    struct tool tool; /* the spec may be changed before its first use */

    /* What it does. Texts are borrowed. */
    int64_t takes_ms;     /* of the first execution, 0: answers from within `start` */
    int64_t confirmed_ms; /* of the second */
    const char *output;   /* JSON; NULL: {"ok":true} */
    const char *error;    /* answers with this error instead */
    bool final;           /* and says that nothing can mend it */
    bool hangs;           /* first executions do not come back before fake_tool_let_go */
    bool confirmed_hangs; /* second ones likewise */
    bool heeds_cancel;    /* comes back at once with an error when cancelled */
    enum fake_asking asks;
    bool always_asks;          /* after confirm_write too */
    const char *path, *text;   /* of FAKE_PROPOSES */
    const char *path2, *text2; /* a second file, when given */
    const char *cites;         /* a source, when given; web when it begins with http */
    const char *says;          /* shown to people at the start of an execution */

    /* What happened. */
    atomic_int executions; /* begun, of both kinds */
    atomic_int confirmed;  /* of them with confirm_write */
    atomic_int finished;
    atomic_int cancels;                /* times `cancel` was called */
    char *arguments;                   /* of the last execution */
    double token_s;                    /* what its token said when it began; loop executions only */
    const struct change_set *approved; /* what the last confirmed execution was given; only to compare with NULL */

    struct fake_run *runs; /* under way on the loop */
    pthread_mutex_t lock;  /* of `open` */
    pthread_cond_t door;
    bool open;
};

void fake_tool_init(struct fake_tool *fake, const char *name, enum effect effect);
/* Makes it one that runs on a pool thread: takes no time, but can hang there. Before its first use. */
void fake_tool_on_pool(struct fake_tool *fake);
/* Lets executions that hang come back now, and later ones not hang. On the loop thread. */
void fake_tool_let_go(struct fake_tool *fake);
/* BUG when an execution is under way. */
void fake_tool_release(struct fake_tool *fake);
