#pragma once
/* What a child can still say when a script has used up its memory or its stack: the signal that ends it then names
 * neither.
 */

/* In the child, with its limits on: from now on the end is told on `events`, where that is what it died of. */
void last_words_prepare(int events);
/* "Script ran out of memory (512 MB)"; without the number where there is no limit. */
const char *last_words_memory(void);
