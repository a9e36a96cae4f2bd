/* Reads case files: blocks of lines, and the words of a line.
 *
 * A file is read completely before its cases run. Each line is interpreted when it runs, because variables have their
 * values only then. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "case.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail_reading(const char *path, int line, const char *why)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, why);
    exit(2);
}

static struct case_block *add_block(struct case_block **blocks, size_t *count, size_t *room, const char *name)
{
    GROW(*blocks, *count, *room);
    struct case_block *block = &(*blocks)[(*count)++];
    *block = (struct case_block){.name = xstrdup(name)};
    return block;
}

/* The block that a line begins; NULL if the line belongs to the present block. */
static struct case_block *begin_block(struct case_file *file, const char *text, int number)
{
    bool setup = strncmp(text, "setup ", 6) == 0;
    if (!setup && strncmp(text, "case ", 5) != 0)
        return NULL;
    const char *name = text + (setup ? 6 : 5);
    for (size_t i = 0; !setup && i < file->case_count; i++)
        if (strcmp(file->cases[i].name, name) == 0)
            fail_reading(file->path, number, "another case has this name");
    return setup ? add_block(&file->setups, &file->setup_count, &file->setup_room, name)
                 : add_block(&file->cases, &file->case_count, &file->case_room, name);
}

void case_file_read(struct case_file *file, const char *path)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    *file = (struct case_file){.path = path};
    if (file_read(path, &text, 0, &err) < 0)
        fail_reading(path, 0, err.text);
    struct case_block *block = &file->all;
    char *rest = text.buf;
    int number = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        number++;
        line += strspn(line, " \t");
        size_t len = strlen(line);
        while (len && isspace((unsigned char)line[len - 1]))
            line[--len] = '\0';
        if (!*line || *line == '#')
            continue;
        struct case_block *begun = begin_block(file, line, number);
        if (begun) {
            block = begun;
            continue;
        }
        GROW(block->lines, block->count, block->room);
        block->lines[block->count++] = (struct case_line){.number = number, .text = xstrdup(line)};
    }
    if (!file->case_count)
        fail_reading(path, number, "there is no case in this file");
}

static void release_block(struct case_block *block)
{
    for (size_t i = 0; i < block->count; i++)
        free(block->lines[i].text);
    free(block->lines);
    free(block->name);
}

void case_file_release(struct case_file *file)
{
    release_block(&file->all);
    for (size_t i = 0; i < file->setup_count; i++)
        release_block(&file->setups[i]);
    for (size_t i = 0; i < file->case_count; i++)
        release_block(&file->cases[i]);
    free(file->setups);
    free(file->cases);
}

const struct case_block *case_file_setup(const struct case_file *file, const char *name)
{
    for (size_t i = 0; i < file->setup_count; i++)
        if (strcmp(file->setups[i].name, name) == 0)
            return &file->setups[i];
    return NULL;
}

/* ---- words ---- */

void case_set(struct case_run *run, const char *name, const char *value)
{
    struct case_variable *variable = arena_calloc(&run->arena, 1, sizeof(*variable));
    *variable = (struct case_variable){
        .name = arena_strdup(&run->arena, name), .value = arena_strdup(&run->arena, value), .next = run->variables};
    run->variables = variable;
}

/* Adds the value of the variable at `at`, after its dollar sign. Sets where the text continues. */
static const char *add_variable(struct case_run *run, struct strbuf *out, const char *at)
{
    if (*at == '$') {
        strbuf_addch(out, '$');
        return at + 1;
    }
    size_t len = 0;
    while (isalnum((unsigned char)at[len]) || at[len] == '_')
        len++;
    for (const struct case_variable *variable = run->variables; variable; variable = variable->next)
        if (strlen(variable->name) == len && strncmp(variable->name, at, len) == 0) {
            strbuf_addstr(out, variable->value);
            return at + len;
        }
    case_fail(run, "there is no variable $%.*s ($$ is a dollar sign)", (int)len, at);
}

static const char *add_escape(struct case_run *run, struct strbuf *out, const char *at)
{
    static const char names[] = "ntr0e\"\\$", meant[] = "\n\t\r\0\x1b\"\\$";
    const char *name = *at ? strchr(names, *at) : NULL;
    if (name) {
        strbuf_addch(out, meant[name - names]);
        return at + 1;
    }
    char digits[3] = {0};
    if (*at == 'x' && at[1])
        memcpy(digits, at + 1, 2);
    char *end;
    unsigned long byte = strtoul(digits, &end, 16);
    if (end != digits + 2)
        case_fail(run, "unknown escape \\%c", *at);
    strbuf_addch(out, (char)byte);
    return at + 3;
}

/* Variables outside of quotes are replaced before the line is split, so they may hold several words, or quotes. */
static const char *expand_bare(struct case_run *run, const char *at)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    char quote = '\0';
    while (*at) {
        if (*at == quote || (!quote && (*at == '"' || *at == '\'')))
            quote = quote ? '\0' : *at;
        if (*at == '\\' && quote == '"' && at[1])
            strbuf_addch(&out, *at++);
        if (*at == '$' && !quote)
            at = add_variable(run, &out, at + 1);
        else
            strbuf_addch(&out, *at++);
    }
    return arena_memdup0(&run->arena, out.buf, out.len);
}

/* One word: 'literal', "with escapes and $variables", or bare, or several of them without a blank between. */
static const char *split_word(struct case_run *run, const char *at, struct words *words)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    char quote = '\0';
    for (; *at && (quote || !isspace((unsigned char)*at));) {
        if (*at == quote || (!quote && (*at == '"' || *at == '\''))) {
            quote = quote ? '\0' : *at;
            at++;
        } else if (*at == '$' && quote == '"') {
            at = add_variable(run, &out, at + 1);
        } else if (*at == '\\' && quote == '"') {
            at = add_escape(run, &out, at + 1);
        } else {
            strbuf_addch(&out, *at++);
        }
    }
    if (quote)
        case_fail(run, "a quote is not closed");
    if (words->count == WORDS_MAX)
        case_fail(run, "more than %d words", WORDS_MAX);
    words->item[words->count] = arena_memdup0(&run->arena, out.buf, out.len);
    words->len[words->count++] = out.len;
    return at;
}

static const char *split_words(struct case_run *run, const char *at, size_t count, struct words *words)
{
    *words = (struct words){0};
    for (at += strspn(at, " \t"); *at && *at != '#' && words->count < count; at += strspn(at, " \t"))
        at = split_word(run, at, words);
    return at;
}

void case_split(struct case_run *run, const char *text, struct words *words)
{
    split_words(run, expand_bare(run, text), SIZE_MAX, words);
}

const char *case_split_raw(struct case_run *run, const char *text, size_t count, struct words *words)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    for (const char *at = text; *at;) {
        if (*at == '$')
            at = add_variable(run, &out, at + 1);
        else
            strbuf_addch(&out, *at++);
    }
    return split_words(run, arena_memdup0(&run->arena, out.buf, out.len), count, words);
}
