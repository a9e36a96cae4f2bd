/* Every source file begins with a sentence that says what the file is for. */

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
static const char *end_of_sentence(const char *text, const char *end)
{
    for (const char *at = text; at < end; at++)
        if ((*at == '.' && isspace((unsigned char)at[1])) || (*at == ':' && strncmp(at + 1, "\n *\n", 4) == 0))
            return at;
    return NULL;
}

/* NULL: the file begins as it should. */
static const char *find_fault(const char *text)
{
    if (strncmp(text, "#pragma once\n", 13) == 0)
        text += 13;
    text += strspn(text, "\n");
    const char *end = strstr(text, "*/");
    if (strncmp(text, "/* ", 3) != 0 || !end)
        return "it does not begin with a comment";
    text += 3;
    const char *stop = end_of_sentence(text, end);
    if (!stop)
        return "its first comment is no sentence";
    size_t words = 1;
    for (const char *at = text; at < stop; at++)
        words += isspace((unsigned char)*at) && !isspace((unsigned char)at[1]) && at[1] != '*';
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

static int check_file(const char *full, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)where;
    const char *path = full + strlen(SOURCE_DIR "/"), *dot = strrchr(path, '.');
    if (kind != FTW_F || !dot || (strcmp(dot, ".c") != 0 && strcmp(dot, ".h") != 0))
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
    static const char *const folders[] = {"core", "tui", "harness", "tests"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, folders[i]);
        assert_int_equal(nftw(full, check_file, 16, FTW_PHYS), 0);
    }
    assert_true(files_read > 500);
    assert_int_equal(wrong, 0);
}

TEST(faults_are_found)
{
    assert_null(find_fault("/* Reads settings from a file. */\n"));
    assert_null(find_fault("#pragma once\n/* The loop: one thread waits for all others. */\n"));
    assert_null(find_fault("/* metadata.json: what a workspace has. */\n"));
    assert_null(find_fault("/* How to make a test of it:\n *\n *     TEST(x)\n */\n"));
    assert_non_null(find_fault("#include <stdio.h>\n"));
    assert_non_null(find_fault("/* See scope.h. */\n"));
    assert_non_null(find_fault("/* And then the rest is read. */\n"));
    assert_non_null(find_fault("/* what the rest of it is. */\n"));
    assert_non_null(find_fault("/* A comment without an end */\n"));
}
