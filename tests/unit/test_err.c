/* Errors: text, code, line, and texts built from their own text. */

#include "base/err.h"
#include "base/utf8.h"
#include "support/test.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(errors_have_code_and_text)
{
    struct err err = {EIO, 12, "old"};
    assert_int_equal(err_set(&err, "no %s in line %d", "key", 3), -1);
    assert_string_equal(err.text, "no key in line 3");
    assert_int_equal(err.code, 0);
    assert_int_equal(err.line, 0);
}

TEST(null_errors_are_ignored)
{
    assert_int_equal(err_set(NULL, "x"), -1);
    assert_int_equal(err_set_errno(NULL, EIO, "x"), -1);
    assert_int_equal(err_prefix(NULL, "x"), -1);
}

TEST(errno_is_named_and_kept)
{
    struct err err = ERR_INIT;
    assert_int_equal(err_set_errno(&err, ENOSPC, "cannot write %s", "/x/y"), -1);
    assert_string_equal(err.text, "cannot write /x/y: No space left on device");
    assert_int_equal(err.code, ENOSPC);
}

TEST(text_may_be_its_own_argument)
{
    struct err err = ERR_INIT;
    err_set(&err, "inner");
    err_set(&err, "outer (%s) and again (%s)", err.text, err.text);
    assert_string_equal(err.text, "outer (inner) and again (inner)");
    err_set_errno(&err, ENOENT, "twice %s", err.text);
    assert_string_equal(err.text, "twice outer (inner) and again (inner): No such file or directory");
}

TEST(prefix_keeps_code_and_line)
{
    struct err err = ERR_INIT;
    err_set_errno(&err, EACCES, "cannot open it");
    err.line = 4;
    assert_int_equal(err_prefix(&err, "config %d", 1), -1);
    assert_string_equal(err.text, "config 1: cannot open it: Permission denied");
    assert_int_equal(err.code, EACCES);
    assert_int_equal(err.line, 4);
}

TEST(long_texts_are_cut_between_characters)
{
    char big[2000];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(big, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof(big); i += 3)
            memcpy(big + i, "\xE2\x82\xAC", 4);
        struct err err = ERR_INIT;
        err_set(&err, "%s", big);
        assert_true(strlen(err.text) > sizeof(err.text) - 5);
        assert_true(utf8_valid(err.text, strlen(err.text)));
        err_prefix(&err, "%s", "before");
        assert_memory_equal(err.text, "before: ", 8);
        assert_true(utf8_valid(err.text, strlen(err.text)));
        /* A cut text keeps the reason. */
        err_set_errno(&err, ENOSPC, "%s", big);
        assert_string_equal(err.text + strlen(err.text) - 25, ": No space left on device");
        assert_true(utf8_valid(err.text, strlen(err.text)));
    }
}

TEST(bug_aborts_with_its_position)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        BUG("the %s is broken", "invariant");
    }
    close(ends[1]);
    char text[512] = "";
    ssize_t got = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_true(got > 0);
    assert_non_null(strstr(text, "test_err.c:"));
    assert_non_null(strstr(text, "the invariant is broken"));
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
