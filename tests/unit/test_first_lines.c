/* Tests that every source file, script and case file begins with a sentence that says what the file is for. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHORTEST 4 /* words */

/* A first word that continues something a reader has not seen. */
static const char *const mid_thought[] = {"And ", "But ", "Or ", "So ", "Then ", "Also "};

static size_t files_read, wrong;

/* Where the first sentence ends: at a period, or at a colon before a list or an example. */
static const char *end_of_sentence(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((*at == '.' && (!at[1] || isspace((unsigned char)at[1]))) || strncmp(at, ":\n\n", 3) == 0)
            return at;
    return NULL;
}

/* Adds the lines of a comment without the signs before them. */
static void add_lines(struct strbuf *head, const char *text, const char *end, const char *sign)
{
    while (text < end) {
        size_t len = strcspn(text, "\n");
        const char *line = text + strspn(text, " ");
        if (strncmp(line, sign, strlen(sign)) == 0)
            line += strlen(sign);
        line += *line == ' ';
        const char *stop = text + len < end ? text + len : end;
        if (line < stop)
            strbuf_add(head, line, (size_t)(stop - line));
        strbuf_addch(head, '\n');
        text += len + (text[len] == '\n');
    }
}

/* Reads the first comment of C, the doc string of Python, or the first lines with a number sign. */
static bool read_head(const char *text, struct strbuf *head)
{
    if (strncmp(text, "#pragma once\n", 13) == 0)
        text += 13;
    if (strncmp(text, "#!", 2) == 0)
        text += strcspn(text, "\n");
    text += strspn(text, "\n");
    const char *end = NULL;
    if (strncmp(text, "/* ", 3) == 0 && (end = strstr(text, "*/"))) {
        add_lines(head, text + 3, end, "*");
    } else if (strncmp(text, "\"\"\"", 3) == 0 && (end = strstr(text + 3, "\"\"\""))) {
        add_lines(head, text + 3, end, "");
    } else if (strncmp(text, "# ", 2) == 0) {
        for (end = text; *end == '#';)
            end += strcspn(end, "\n") + 1;
        add_lines(head, text, end - 1, "#");
    }
    return end;
}

/* NULL: the file begins as it should. */
static const char *find_fault(const char *file)
{
    CLEANUP(strbuf) struct strbuf head = STRBUF_INIT;
    if (!read_head(file, &head))
        return "it does not begin with a comment";
    const char *text = head.buf, *stop = end_of_sentence(text);
    if (!stop)
        return "its first comment is no sentence";
    size_t words = 1;
    for (const char *at = text; at < stop; at++)
        words += isspace((unsigned char)*at) && !isspace((unsigned char)at[1]);
    if (words < SHORTEST)
        return "its first sentence is too short to say anything";
    for (size_t i = 0; i < COUNT_OF(mid_thought); i++)
        if (strncmp(text, mid_thought[i], strlen(mid_thought[i])) == 0)
            return "its first sentence begins in the middle of a thought";
    /* A name may be small: keyturn-launch, run_script, metadata.json. */
    size_t first = strcspn(text, " \n");
    if (islower((unsigned char)*text) && strcspn(text, "_-.*0123456789") >= first - 1 &&
        strncmp(text, "keyturn", 7) != 0 && strncmp(text, "ncurses", 7) != 0 && strncmp(text, "curl", 4) != 0 &&
        strncmp(text, "lib", 3) != 0)
        return "its first sentence begins with a small letter";
    return NULL;
}

/* Sources, scripts and case files. The first line of a case in tests/cases/wrong is its expected error. */
static bool has_sentence(const char *path)
{
    static const char *const endings[] = {".c", ".h", ".def", ".py", ".sh", ".case", "/run", "dev"};
    size_t len = strlen(path);
    if (strncmp(path, "tests/cases/wrong/", 18) == 0 || strncmp(path, "tests/fuzz/corpus/", 18) == 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (len >= strlen(endings[i]) && strcmp(path + len - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

static int check_file(const char *full, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)where;
    const char *path = full + strlen(SOURCE_DIR "/");
    if (kind != FTW_F || !has_sentence(path))
        return 0;
    if (strstr(path, "_inside.h") || strstr(path, "_private.h")) {
        print_error("%s: what two files share is in a header named _internal.h, the rest in its owner\n", path);
        wrong++;
    }
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_read(full, &text, 0, NULL), 0);
    files_read++;
    const char *fault = find_fault(text.buf);
    if (fault) {
        print_error("%s: %s\n", path, fault);
        wrong++;
    }
    return 0;
}

TEST(first_sentence_says_what_a_file_is_for)
{
    static const char *const folders[] = {"core", "tui", "harness", "tests", "docker", ".ci", "dev"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, folders[i]);
        assert_int_equal(nftw(full, check_file, 16, FTW_PHYS), 0);
    }
    assert_true(files_read > 1000);
    assert_int_equal(wrong, 0);
}

TEST(faults_are_found)
{
    assert_null(find_fault("/* Reads settings from a file. */\n"));
    assert_null(find_fault("#pragma once\n/* The loop: one thread waits for all others. */\n"));
    assert_null(find_fault("/* metadata.json: what a workspace has. */\n"));
    assert_null(find_fault("/* How to make a test of it:\n *\n *     TEST(x)\n */\n"));
    assert_null(find_fault("#!/bin/sh\n# Runs a test: run NAME.\n# More.\nset -e\n"));
    assert_null(find_fault("\"\"\"Runs a fake server on stdio.\"\"\"\nimport os\n"));
    assert_non_null(find_fault("#!/bin/sh\nset -e\n"));
    assert_non_null(find_fault("# Runs a test\nset -e\n# and ends here.\n"));
    assert_non_null(find_fault("import os\n"));
    assert_non_null(find_fault("#include <stdio.h>\n"));
    assert_non_null(find_fault("/* See scope.h. */\n"));
    assert_non_null(find_fault("/* And then the rest is read. */\n"));
    assert_non_null(find_fault("/* what the rest of it is. */\n"));
    assert_non_null(find_fault("/* A comment without an end */\n"));
}
