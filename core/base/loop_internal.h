#pragma once
/* Shared by loop.c and child.c. No other file includes this. */

struct loop;

/* Counts things that end soon without help, such as a killed child, up and down. loop_free waits for them. */
void loop_count_dying(struct loop *loop, int change);
/* Counts streams that bring more than any receiver keeps, up and down. Returns their number. */
unsigned loop_count_floods(struct loop *loop, int change);
