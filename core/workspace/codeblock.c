/* Finds fenced code blocks in a text, and names the file and program of each (codeblock.h).
 *
 * An unterminated fence ends the search: every fence after it is unterminated too. */

#include "codeblock.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *trimmed(struct arena *arena, const char *text, size_t len)
{
    while (len && isspace((unsigned char)text[0])) {
        text++;
        len--;
    }
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return arena_memdup0(arena, text, len);
}

size_t code_blocks_find(struct arena *arena, const char *text, size_t len, const char *start, const char *end,
                        struct code_block **blocks)
{
    struct code_block *found = NULL;
    size_t count = 0, room = 0, start_len = strlen(start), end_len = strlen(end);
    const char *at = text, *stop = text + len;
    while (at < stop) {
        const char *fence = memmem(at, (size_t)(stop - at), start, start_len);
        const char *line = fence ? fence + start_len : stop;
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        const char *body = newline ? newline + 1 : NULL;
        const char *close = body ? memmem(body, (size_t)(stop - body), end, end_len) : NULL;
        if (!close)
            break;
        GROW(found, count, room);
        found[count++] = (struct code_block){.language = trimmed(arena, line, (size_t)(newline - line)),
                                             .code = arena_memdup0(arena, body, (size_t)(close - body)),
                                             .len = (size_t)(close - body)};
        at = close + end_len;
    }
    *blocks = count ? memcpy(arena_alloc(arena, count * sizeof(*found)), found, count * sizeof(*found)) : NULL;
    free(found);
    return count;
}

static const struct {
    const char *language, *suffix, *program;
    mode_t mode;
} languages[] = {
    {"python", "py", "python3", 0644}, {"py", "py", "python3", 0644}, {"python3", "py", "python3", 0644},
    {"bash", "sh", "bash", 0755},      {"sh", "sh", "bash", 0755},
};

int code_block_file(struct code_file *file, size_t index, const char *language, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *name = trimmed(&arena, language, strlen(language));
    for (size_t i = 0; i < COUNT_OF(languages); i++) {
        if (strcasecmp(languages[i].language, name) != 0)
            continue;
        *file = (struct code_file){.mode = languages[i].mode, .program = languages[i].program};
        snprintf(file->name, sizeof(file->name), CODE_FILE "%zu.%s", index, languages[i].suffix);
        return 0;
    }
    return err_set(err, "unsupported language: %s", language);
}

void code_result_text(struct strbuf *out, const char *output, const char *const *files, size_t count)
{
    strbuf_addstr(out, "Code execution result:");
    if (count) {
        strbuf_addstr(out, "\n Saved output files:");
        for (size_t i = 0; i < count; i++)
            strbuf_addf(out, "\n%s", files[i]);
    } else if (output && *output) {
        strbuf_addf(out, "\n%s\n", output);
    } else {
        strbuf_addstr(out, " No output or errors.");
    }
}
