#pragma once
/* Code in a text: the fenced blocks of an answer, the file and the command of each, and the sentence that reports
 * the result. */

#include "base/err.h"
#include <stddef.h>
#include <sys/types.h>

struct arena;
struct strbuf;

#define CODE_FENCE  "```"   /* default of both ends */
#define CODE_FOLDER "src"   /* where blocks are written and run, relative to the workspace */
#define CODE_FILE   "code_" /* prefix of their numbers */

struct code_block {
    const char *language; /* the text after the fence, trimmed; "" if there is none */
    const char *code;     /* unchanged, including the last newline */
    size_t len;
};

/* Finds the blocks of a text in order, in the arena: `start`, the rest of the line, then everything up to the next
 * `end`. Both marks are literal. Text without an `end` is not a block. Returns the number of blocks. */
size_t code_blocks_find(struct arena *arena, const char *text, size_t len, const char *start, const char *end,
                        struct code_block **blocks);

struct code_file {
    char name[32]; /* "code_0.py" */
    mode_t mode;
    const char *program; /* its only argument is the file */
};

/* The file and program of block number `index`. Fails for a language that Keyturn does not run. */
int code_block_file(struct code_file *file, size_t index, const char *language, struct err *err) CHECKED;

/* The text for the model: the names of saved files, else the output, else a note that there was none. */
void code_result_text(struct strbuf *out, const char *output, const char *const *files, size_t count);
