#pragma once
/* Some engines keep a program elsewhere, where neither our death nor a line to us is heard: a daemon runs docker's
 * containers. A guard is a process of its own (keyturn-launch --guard) that outlives us if we are killed, and then asks the
 * engine to stop what was left there. */

struct loop;
struct child;
struct program_vector;

/* NULL where none is needed, or none can be had: the program runs all the same. */
struct child *guard_start(struct loop *loop, const struct program_vector *vector);
/* What it stood for is over. NULL: nothing. */
void guard_dismiss(struct child *guard);
