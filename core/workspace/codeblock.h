#pragma once
/* Code in a text: the fenced blocks of an answer, the file and the command that each one becomes, and the sentence that
 * tells what came of running them. */

#include "base/err.h"
#include <stddef.h>
#include <sys/types.h>

struct arena;
struct strbuf;

#define CODE_FENCE  "```"   /* both ends, unless somebody says otherwise */
#define CODE_FOLDER "src"   /* where blocks are put and run, relative to the workspace */
#define CODE_FILE   "code_" /* before their numbers */

struct code_block {
    const char *language; /* what stands behind the fence, trimmed; "" when nothing does */
    const char *code;     /* byte for byte, the last newline included */
    size_t len;
};

/* The blocks of a text in its order, in the arena: `start`, the rest of the line, then everything up to the next `end`.
 * Both are taken literally. What has no `end` is no block. Returns how many there are. */
size_t code_blocks_find(struct arena *arena, const char *text, size_t len, const char *start, const char *end,
                        struct code_block **blocks);

struct code_file {
    char name[32]; /* "code_0.py" */
    mode_t mode;
    const char *program; /* its only argument is the file */
};

/* What block number `index` becomes; an error for a language that nobody here runs. */
int code_block_file(struct code_file *file, size_t index, const char *language, struct err *err) CHECKED;

/* What a model is told: the names of files that were saved, else the output, else that there was none. */
void code_result_text(struct strbuf *out, const char *output, const char *const *files, size_t count);
