/* Tests of allocation that aborts, scope cleanup and growing arrays. */

#include "base/mem.h"
#include "support/test.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* Runs in a child, because the call must not return. */
static void assert_aborts(void (*run)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(2);
        run();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void overflow(void)
{
    free(xreallocarray(NULL, SIZE_MAX / 2, 4));
}

TEST(overflow_aborts)
{
    assert_aborts(overflow);
}

TEST(zero_sizes_are_pointers)
{
    void *all[] = {xmalloc(0), xcalloc(0, 8), xcalloc(8, 0), xreallocarray(NULL, 0, 8)};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_non_null(all[i]);
        free(all[i]);
    }
}

TEST(calloc_is_zeroed)
{
    unsigned char *bytes = xcalloc(64, 16);
    for (size_t i = 0; i < 64 * 16; i++)
        assert_int_equal(bytes[i], 0);
    free(bytes);
}

TEST(texts_and_bytes_are_copied)
{
    char *text = xstrdup("turn");
    assert_string_equal(text, "turn");
    free(text);
    char *bytes = xmemdup0("a\0bXX", 3);
    assert_memory_equal(bytes, "a\0b\0", 4);
    free(bytes);
    char *empty = xmemdup0(NULL, 0);
    assert_string_equal(empty, "");
    free(empty);
    char *made = xasprintf("%d-%s", 7, "x");
    assert_string_equal(made, "7-x");
    free(made);
}

TEST(grow_keeps_items)
{
    int *items = NULL;
    size_t count = 0;
    size_t room = 0;
    for (int i = 0; i < 1000; i++) {
        GROW(items, count, room);
        items[count++] = i;
        assert_true(count <= room);
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    assert_int_equal(room, 1024);
    free(items);
}

static char *make_text(void)
{
    CLEANUP(free) char *text = xstrdup("kept");
    return steal(&text);
}

TEST(cleanup_and_steal)
{
    char *text = make_text(); /* a use after free for ASan, were it not stolen */
    assert_string_equal(text, "kept");
    free(text);

    int seen;
    {
        CLEANUP(fd) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        seen = fd;
        CLEANUP(fd) int none = -1;
        (void)none;
    }
    assert_int_equal(fcntl(seen, F_GETFD), -1);
}
