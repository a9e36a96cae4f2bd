#pragma once
/* Between loop.c and child.c; nobody else includes it. */

struct loop;

/* Something that ends by itself in a moment, such as a killed child: counted up and down, and awaited by loop_free. */
void loop_count_dying(struct loop *loop, int change);
/* Streams that bring more than anybody keeps: counted up and down; how many there are then. */
unsigned loop_count_floods(struct loop *loop, int change);
