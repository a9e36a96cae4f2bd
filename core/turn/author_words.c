#include "author_words.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/toolset.h"
#include "workspace/codeblock.h"
#include "workspace/process_output.h"
#include <string.h>

#define TOLD_MAX  8000 /* bytes of what a step said */
#define ERROR_MAX 2000

static const char what_a_script_is[] = "You write Python scripts for a wish of the user. A script runs in a sandbox: "
                                       "no network, nothing of the user's machine, "
                                       "Python's standard library, and an empty folder of its own, which is the "
                                       "current one (/workspace in most sandboxes). "
                                       "These functions are there without an import:\n"
                                       "- emit_result(data): the result, once; anything that JSON can hold\n"
                                       "- emit_intermediate(label, data): a part of it, or how far it is\n"
                                       "- emit_log(message, level=\"info\"): a note\n"
                                       "print() is shown too.";

static const char plan_rules[] = "Answer with one whole script in one fenced block that begins with ```python, and use "
                                 "no such fence within it. It must "
                                 "call emit_result. If it fails you are told the error, and write the whole script "
                                 "again: each begins in an empty folder.";

static const char interactive_rules[] =
    "Go step by step. Answer with the script of the next step in one fenced block that begins with ```python, and use "
    "no such "
    "fence within it; you are then told what it said. Files stay from step to step, variables do not. The step that "
    "has the "
    "result calls emit_result, which ends it; where there is none, answer without a block when all is done. Two steps "
    "running that say the same end it too.";

const char author_words_astray[] =
    "No block of your answer is a Python script that calls emit_result, and nothing else "
    "is run here. Write the whole script in one fenced block that begins with ```python.";

void author_rules(struct strbuf *out, enum script_mode mode, const struct toolset *tools, const char *const *secrets)
{
    strbuf_addstr(out, what_a_script_is);
    for (size_t i = 0; i < tools->count; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "\nSo are these tools: ", tools->items[i].name);
    for (const char *const *name = secrets; name && *name; name++)
        strbuf_addf(out, "%s%s", name == secrets ? "\nIn os.environ are: " : ", ", *name);
    strbuf_addf(out, "\n\n%s", mode == SCRIPT_PLAN ? plan_rules : interactive_rules);
}

static void add_error(struct strbuf *out, const struct script_result *result)
{
    strbuf_addstr(out, "It failed: ");
    window_text(out, result->error, strlen(result->error), ERROR_MAX);
    strbuf_addch(out, '\n');
    if (result->traceback && *result->traceback)
        strbuf_addf(out, "The end of its traceback:\n%s\n", script_traceback_end(result->traceback));
}

/* Printed text as it is; what was logged with its level. */
static void add_logs(struct strbuf *out, const struct script_result *result)
{
    for (size_t i = 0; i < result->log_count; i++) {
        const struct script_part *log = &result->logs[i];
        bool printed = strcmp(log->label, "stdout") == 0 || strcmp(log->label, "stderr") == 0;
        if (!printed)
            strbuf_addf(out, "[%s] ", log->label);
        strbuf_addf(out, "%s\n", log->data);
    }
}

static void add_step(struct strbuf *out, const struct script_result *result)
{
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    for (size_t i = 0; i < result->intermediate_count; i++)
        strbuf_addf(&said, "%s: %s\n", result->intermediates[i].label, result->intermediates[i].data);
    add_logs(&said, result);
    if (!said.len && !result->error)
        strbuf_addstr(out, "The step ended and said nothing.\n");
    if (said.len) {
        strbuf_addstr(out, "The step said:\n");
        window_text(out, said.buf, said.len, TOLD_MAX);
    }
}

void author_tell_attempt(struct strbuf *out, enum script_mode mode, const struct script_result *result)
{
    if (mode == SCRIPT_INTERACTIVE)
        add_step(out, result);
    if (result->error)
        add_error(out, result);
    strbuf_addstr(out, mode == SCRIPT_PLAN ? "Write the whole script again, mended."
                                           : "Write the next step, or say that all is done.");
}

static bool is_python(const struct code_block *block)
{
    struct code_file file;
    return code_block_file(&file, 0, block->language, NULL) == 0 && strcmp(file.program, "python3") == 0;
}

static bool emits(const char *text)
{
    return strstr(text, "emit_") != NULL;
}

const char *author_find_script(struct arena *arena, enum script_mode mode, const char *answer)
{
    /* A last fence that is not closed ends with the text; behind closed ones one more changes nothing. */
    CLEANUP(free) char *closed = xasprintf("%s\n" CODE_FENCE, answer);
    struct code_block *blocks;
    size_t count = code_blocks_find(arena, closed, strlen(closed), CODE_FENCE, CODE_FENCE, &blocks);
    for (size_t i = 0; i < count; i++)
        if (is_python(&blocks[i]))
            return blocks[i].code;
    for (size_t i = 0; i < count && mode == SCRIPT_PLAN; i++)
        if (!*blocks[i].language && emits(blocks[i].code))
            return blocks[i].code;
    return mode == SCRIPT_PLAN && !strstr(answer, CODE_FENCE) && emits(answer) ? answer : NULL;
}
