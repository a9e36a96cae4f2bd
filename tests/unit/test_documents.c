/* Tests of the repository's documents: everything they name exists, and nothing cites a missing list. */

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/page_block.h"
#include "support/test.h"
#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t files_read;

static void read_document(const char *path, struct strbuf *text)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *full = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", SOURCE_DIR, path);
    if (file_read(full, text, 0, &err))
        fail_msg("%s: %s", path, err.text);
}

/* ---- decision numbers ---- */

/* "D12" or "D31b" as a word, or a test that is named after one. */
static const char *find_decision_number(const char *text)
{
    for (const char *at = text; *at; at++) {
        bool in_name = strncmp(at, "test_d", 6) == 0 || strncmp(at, "TEST(d", 6) == 0;
        if (at > text && (isalnum((unsigned char)at[-1]) || strchr("_\\\"'%", at[-1])) && !in_name)
            continue;
        size_t head = in_name ? 6 : 1;
        if (!in_name && *at != 'D')
            continue;
        size_t digits = strspn(at + head, "0123456789");
        const char *end = at + head + digits + (islower((unsigned char)at[head + digits]) != 0);
        if (digits && (in_name ? *end == '_' : !isalnum((unsigned char)*end) && *end != '_'))
            return at;
    }
    return NULL;
}

static bool is_source(const char *path)
{
    static const char *const endings[] = {".c", ".h", ".def", ".py", ".sh", ".cmake", ".md", ".txt"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < COUNT_OF(endings); i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static int check_decision_numbers(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    if (type != FTW_F || !is_source(path))
        return 0;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_document(path, &text);
    files_read++;
    const char *number = find_decision_number(text.buf);
    if (number)
        fail_msg("%s: \"%.*s\" (say the decision in words; docs/decisions.md lists them)", path,
                 (int)strcspn(number, "\n"), number);
    return 0;
}

TEST(no_decision_is_cited_by_number)
{
    static const char *const folders[] = {"core", "tui", "harness", "tests", "docs", "docker"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        CLEANUP(free) char *folder = xasprintf("%s/%s", SOURCE_DIR, folders[i]);
        nftw(folder, check_decision_numbers, 16, FTW_PHYS);
    }
    assert_true(files_read > 500);
    assert_non_null(find_decision_number("/* as asked ("
                                         "D31b) */"));
    assert_non_null(find_decision_number("void test_"
                                         "d35_a_refusal(void)"));
    assert_null(find_decision_number("Ctrl-D 0xD8 D12x7 \"D5\" test_duration"));
}

/* ---- length ---- */

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

TEST(readme_has_at_most_180_lines)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_document("README.md", &text);
    assert_true(count_lines(text.buf) <= 180);
}

/* ---- links ---- */

/* Every [text](target) that is not a URL names a file of the repository. */
static void check_links(const char *page)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_document(page, &text);
    const char *slash = strrchr(page, '/');
    for (const char *at = text.buf; (at = strstr(at, "]("));) {
        at += 2;
        size_t len = strcspn(at, ")#\n");
        if (!len || strncmp(at, "http", 4) == 0)
            continue;
        CLEANUP(free)
        char *path = xasprintf("%s/%.*s%.*s", SOURCE_DIR, slash ? (int)(slash - page + 1) : 0, page, (int)len, at);
        if (access(path, F_OK))
            fail_msg("%s links to %.*s, which does not exist", page, (int)len, at);
    }
}

TEST(links_lead_somewhere)
{
    static const char *const pages[] = {"README.md",    "ARCHITECTURE.md", "CONTRIBUTING.md",
                                        "CHANGELOG.md", "SECURITY.md",     "docs/decisions.md"};
    for (size_t i = 0; i < COUNT_OF(pages); i++)
        check_links(pages[i]);
}

/* ---- ARCHITECTURE.md ---- */

static size_t count_words(const char *text)
{
    size_t words = 0;
    for (; *text; text += strcspn(text, " \n")) {
        text += strspn(text, " \n");
        words += *text != '\0';
    }
    return words;
}

TEST(architecture_has_at_most_2500_words)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_document("ARCHITECTURE.md", &text);
    assert_true(count_words(text.buf) <= 2500);
}

/* Returns the text between the next two back quotes before `end` and moves past it; NULL if there is none. */
static char *next_quoted(const char **at, const char *end)
{
    const char *begin = memchr(*at, '`', (size_t)(end - *at));
    const char *close = begin ? memchr(begin + 1, '`', (size_t)(end - begin - 1)) : NULL;
    if (!close)
        return NULL;
    *at = close + 1;
    return xmemdup0(begin + 1, (size_t)(close - begin - 1));
}

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* Returns where `name` occurs in the text as a whole word, or NULL. */
static const char *find_word(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += len)
        if ((at == text || !is_word(at[-1])) && !is_word(at[len]))
            return at;
    return NULL;
}

static bool is_code(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0 || strcmp(dot, ".def") == 0);
}

/* Overwrites the comments of C code with blanks: a symbol that only a comment names is not there any more. */
static void blank_comments(char *text)
{
    for (char *at = text; (at = strstr(at, "/*"));) {
        char *end = strstr(at + 2, "*/");
        end = end ? end + 2 : at + strlen(at);
        memset(at, ' ', (size_t)(end - at));
        at = end;
    }
}

/* "| what | `file` | `symbol` |": the file exists and contains the symbol, outside of comments. */
static void check_row(const char *row, size_t len)
{
    const char *at = row;
    CLEANUP(free) char *file = next_quoted(&at, row + len);
    CLEANUP(free) char *symbol = file ? next_quoted(&at, row + len) : NULL;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    while (symbol && !strchr(file, '/')) { /* the first column may quote something too */
        free(file);
        file = symbol;
        symbol = next_quoted(&at, row + len);
    }
    if (!symbol)
        fail_msg("a row without a file and a symbol: %.*s", (int)len, row);
    read_document(file, &text);
    if (is_code(file))
        blank_comments(text.buf);
    if (!find_word(text.buf, symbol))
        fail_msg("ARCHITECTURE.md: %s does not contain %s: %.*s", file, symbol, (int)len, row);
}

TEST(change_table_names_real_files_and_symbols)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_document("ARCHITECTURE.md", &text);
    const char *at = strstr(text.buf, "\n## Where do I change");
    assert_non_null(at);
    at = strstr(at, "|---|---|---|\n");
    assert_non_null(at);
    size_t rows = 0;
    for (at = strchr(at, '\n') + 1; *at == '|'; at += strcspn(at, "\n") + 1, rows++)
        check_row(at, strcspn(at, "\n"));
    assert_true(rows >= 30);
}

/* Files of our own that a page quotes, such as `core/turn/write.c`; patterns are left out. */
static void check_quoted_files(const char *page)
{
    static const char *const folders[] = {"core/", "tui/",    "harness/", "tests/",
                                          "docs/", "docker/", "themes/",  "fixtures/"};
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_document(page, &text);
    const char *at = text.buf, *end = text.buf + text.len;
    for (char *quoted; (quoted = next_quoted(&at, end)); free(quoted))
        for (size_t i = 0; i < COUNT_OF(folders); i++) {
            if (strncmp(quoted, folders[i], strlen(folders[i])) != 0 || strpbrk(quoted, "* \n"))
                continue;
            CLEANUP(free) char *path = xasprintf("%s/%s", SOURCE_DIR, quoted);
            if (access(path, F_OK) && !strstr(quoted, "NAME"))
                fail_msg("%s names %s, which does not exist", page, quoted);
        }
}

TEST(files_that_documents_name_exist)
{
    static const char *const pages[] = {"README.md",   "ARCHITECTURE.md",   "CONTRIBUTING.md",
                                        "SECURITY.md", "docs/decisions.md", "docs/invariants.md"};
    for (size_t i = 0; i < COUNT_OF(pages); i++)
        check_quoted_files(pages[i]);
}

/* ---- files that comments name ---- */

static struct hash_map sources; /* names of all .c, .h and .def files */
static size_t lost_names;       /* that comments name and the tree does not have */

/* Headers of others, and samples, which the tree does not have. */
static bool is_foreign(const char *name)
{
    static const char *const foreign[] = {"curses.h", "git2.h", "name.c", "uv.h"};
    for (size_t i = 0; i < COUNT_OF(foreign); i++)
        if (strcmp(foreign[i], name) == 0)
            return true;
    return strlen(name) <= 3; /* a.c */
}

static int note_source(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    if (type == FTW_F && is_code(path))
        hash_map_put(&sources, path + ftw->base, 1);
    return 0;
}

/* Names of files in a comment, such as write.c or turn/write.h; folders before them are not looked at. */
static void check_comment(const char *path, const char *text, const char *end)
{
    for (const char *dot = text; (dot = memchr(dot, '.', (size_t)(end - dot))); dot++) {
        const char *from = dot;
        while (from > text && (is_word(from[-1])))
            from--;
        size_t ending = dot[1] == 'c' || dot[1] == 'h' ? 2 : 0;
        if (from == dot || !ending || is_word(dot[ending]))
            continue;
        CLEANUP(free) char *name = xmemdup0(from, (size_t)(dot - from) + ending);
        if (hash_map_has(&sources, name) || is_foreign(name))
            continue;
        print_error("%s: a comment names %s, which does not exist\n", path, name);
        lost_names++;
    }
}

static int check_comments(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    if (type != FTW_F || !is_code(path))
        return 0;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_document(path, &text);
    for (const char *at = text.buf, *end; (at = strstr(at, "/*")) && (end = strstr(at, "*/")); at = end)
        check_comment(path, at, end);
    return 0;
}

TEST(files_that_comments_name_exist)
{
    static const char *const folders[] = {SOURCE_DIR "/core", SOURCE_DIR "/tui", SOURCE_DIR "/harness"};
    assert_int_equal(nftw(SOURCE_DIR "/tests", note_source, 16, FTW_PHYS), 0);
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        assert_int_equal(nftw(folders[i], note_source, 16, FTW_PHYS), 0);
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        assert_int_equal(nftw(folders[i], check_comments, 16, FTW_PHYS), 0);
    hash_map_release(&sources);
    assert_int_equal(lost_names, 0);
}

/* ---- walks ---- */

/* A row for each file that the walk goes through: `file` | functions | events that follow. */
static void render_walk(struct strbuf *table, const char *walk)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, functions = STRBUF_INIT, events = STRBUF_INIT;
    char file[256] = "", next[256], function[256];
    read_document(walk, &text);
    strbuf_addstr(table, "| file | functions | then |\n|---|---|---|\n");
    for (const char *line = text.buf; *line; line += strcspn(line, "\n") + 1) {
        CLEANUP(free) char *copy = xmemdup0(line, strcspn(line, "\n#"));
        if (*copy == '[') {
            copy[strcspn(copy, "]")] = '\0';
            strbuf_addf(&events, "%s`%s`", events.len ? ", " : "", copy + 1);
        } else if (sscanf(copy, "%255s %255s", next, function) == 2 && strchr(next, '/')) {
            CLEANUP(strbuf) struct strbuf source = STRBUF_INIT;
            read_document(next, &source);
            if (!find_word(source.buf, function))
                fail_msg("%s: there is no %s in %s", walk, function, next);
            if (strcmp(file, next) != 0 || events.len) {
                if (*file)
                    strbuf_addf(table, "| `%s` | %s | %s |\n", file, functions.buf, events.buf);
                strbuf_reset(&functions);
                strbuf_reset(&events);
            }
            strbuf_addf(&functions, "%s`%s`", functions.len ? " → " : "", function);
            memcpy(file, next, sizeof(file));
        }
    }
    strbuf_addf(table, "| `%s` | %s | %s |\n", file, functions.buf, events.buf);
}

TEST(walks_are_those_of_tests_shape)
{
    CLEANUP(strbuf) struct strbuf write = STRBUF_INIT, key = STRBUF_INIT;
    render_walk(&write, "tests/shape/write.walk");
    render_walk(&key, "tests/shape/key.walk");
    page_block_check(SOURCE_DIR "/ARCHITECTURE.md", "write walk", &write);
    page_block_check(SOURCE_DIR "/ARCHITECTURE.md", "key walk", &key);
}
