#pragma once
/* Runs test code in a child that has entered the layers of the sandbox, and returns its result. */

#include "../../harness/sandbox.h"

/* Runs `what` in a child that has entered the layers. Returns its result (0 or an errno value), or minus the signal
 * that killed the child. A child that cannot enter fails the test. */
int inside(const struct sandbox_options *options, int (*what)(const void *), const void *argument);

/* A system call with up to six arguments. Returns 0 or the errno value. */
struct attempt {
    long number, args[6];
};
int attempt(const void *attempt);
