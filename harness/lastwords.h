#pragma once
/* Reports from a dying child that its script used up its memory or its stack. The signal alone names neither. */

/* Call in the child after its limits are set. If the child then dies of memory or stack, it reports that on
 * `events`. */
void last_words_prepare(int events);
/* "Script ran out of memory (512 MB)"; without the number if memory is not limited. */
const char *last_words_memory(void);
