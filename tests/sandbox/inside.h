#pragma once
/* Things done in a child that has put on the layers, and how they ended. */

#include "../../harness/sandbox.h"

/* Runs `what` in a child that entered. What it returns (0 or an errno value, say) comes back; a child that was killed
 * gives minus the signal's number; one that could not enter fails the test. */
int inside(const struct sandbox_options *options, int (*what)(const void *), const void *argument);

/* A system call with up to six arguments: 0, or the errno value. */
struct attempt {
    long number, args[6];
};
int attempt(const void *attempt);
