#pragma once
/* Blocks of our documents that a test renders from a table. */

struct strbuf;

/* What stands between the line that begins with `<!-- NAME: ` and `<!-- NAME end -->` of the page must be `text`.
 * UPDATE_GOLDEN=1 writes it there. */
void page_block_check(const char *page, const char *name, const struct strbuf *text);
