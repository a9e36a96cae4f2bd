/* Fuzzes the search for code blocks: a start fence, a newline, an end fence, a newline, a text. Blocks have the order
 * of the text, do not overlap, and each is in the text with its fences. */

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "workspace/codeblock.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *text = (const char *)data, *fences[2];
    for (int i = 0; i < 2; i++) {
        const char *newline = size ? memchr(text, '\n', size) : NULL;
        if (!newline || memchr(text, '\0', (size_t)(newline - text)))
            return 0;
        fences[i] = arena_memdup0(&arena, text, (size_t)(newline - text));
        size -= (size_t)(newline + 1 - text);
        text = newline + 1;
    }
    struct code_block *blocks;
    size_t count = code_blocks_find(&arena, text, size, fences[0], fences[1], &blocks);
    const char *at = text, *end = text + size;
    for (size_t i = 0; i < count; i++) {
        const char *start = memmem(at, (size_t)(end - at), fences[0], strlen(fences[0]));
        const char *body =
            start ? memchr(start + strlen(fences[0]), '\n', (size_t)(end - start) - strlen(fences[0])) : NULL;
        if (!body || (size_t)(end - body) < blocks[i].len + 1 || memcmp(body + 1, blocks[i].code, blocks[i].len) != 0)
            BUG("block %zu is not in the text", i);
        if (*fences[1] && memmem(blocks[i].code, blocks[i].len, fences[1], strlen(fences[1])))
            BUG("block %zu continues after its end", i);
        at = body + 1 + blocks[i].len + strlen(fences[1]);
    }
    return 0;
}
