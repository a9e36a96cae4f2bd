#pragma once
/* Blocks of the documents that a test renders from a table. */

struct strbuf;

/* Checks that the block NAME of the page is `text`. UPDATE_GOLDEN=1 writes it there instead. The block is between a
 * line that begins with `<!-- NAME: ` and `<!-- NAME end -->`; in a manual page, between `.\" NAME: ` and `.\" NAME
 * end`. */
void page_block_check(const char *page, const char *name, const struct strbuf *text);
