/* Tests of the log: off until opened, and one line per message whatever the message holds. */

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

static char *folder;
static char *path;

static int make_folder(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    folder = file_make_temp_dir(NULL, "keyturn-log-", &err);
    path = xasprintf("%s/deep/er/log", folder);
    return folder ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    log_close();
    struct err err = ERR_INIT;
    int failed = file_remove_tree(folder, &err);
    free(folder);
    free(path);
    return failed;
}

static void read_log(struct strbuf *out)
{
    struct err err = ERR_INIT;
    assert_int_equal(file_read(path, out, 0, &err), 0);
}

static size_t count_lines(const struct strbuf *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->buf[i] == '\n';
    return lines;
}

TEST(off_until_opened)
{
    log_error("not logged");
    assert_int_equal(access(path, F_OK), -1);
}

TEST(levels_and_format)
{
    struct err err = ERR_INIT;
    assert_int_equal(log_open(path, LOG_INFO, &err), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    log_debug("too low");
    log_info("number %d", 7);
    errno = ERANGE;
    log_warn("keeps errno");
    assert_int_equal(errno, ERANGE);
    log_close();
    log_error("after the end");
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_log(&text);
    assert_int_equal(count_lines(&text), 2);
    /* "2026-11-16T12:39:42.123Z info  number 7" */
    assert_int_equal(text.buf[4], '-');
    assert_int_equal(text.buf[10], 'T');
    assert_int_equal(text.buf[23], 'Z');
    assert_memory_equal(text.buf + 24, " info  number 7\n", 16);
    assert_non_null(strstr(text.buf, " warn  keeps errno\n"));
    assert_null(strstr(text.buf, "too low"));
    assert_null(strstr(text.buf, "after the end"));
}

TEST(a_message_cannot_forge_a_line)
{
    struct err err = ERR_INIT;
    assert_int_equal(log_open(path, LOG_DEBUG, &err), 0);
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;
    read_log(&before);
    log_error("%s", "text\n2026-01-01T00:00:00.000Z error forged\x1B[2J\xE2\x80\xA8\xFF");
    log_close();
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    read_log(&after);
    assert_int_equal(count_lines(&after), count_lines(&before) + 1); /* appended, and one line */
    assert_memory_equal(after.buf, before.buf, before.len);
    assert_non_null(strstr(after.buf, "text^J2026"));
    assert_non_null(strstr(after.buf, "forged^[[2J<U+2028>\xEF\xBF\xBD\n"));
}

static void *write_many(void *data)
{
    for (int i = 0; i < 200; i++)
        log_info("thread %s says something of a certain length", (const char *)data);
    return NULL;
}

TEST(threads_can_share_the_log)
{
    struct err err = ERR_INIT;
    unlink(path);
    assert_int_equal(log_open(path, LOG_DEBUG, &err), 0);
    pthread_t threads[3];
    static const char *const names[] = {"one", "two", "three"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)names[i]), 0);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    log_close();
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    read_log(&text);
    size_t lines = 0;
    for (const char *at = text.buf; *at; lines++) {
        const char *end = strchr(at, '\n');
        assert_memory_equal(end - 28, "omething of a certain length", 28);
        at = end + 1;
    }
    assert_int_equal(lines, 600);
}

TEST(open_fails_with_a_reason)
{
    struct err err = ERR_INIT;
    assert_int_equal(log_open("/dev/null/x/log", LOG_DEBUG, &err), -1);
    assert_non_null(strstr(err.text, "/dev/null"));
    assert_int_equal(log_open(folder, LOG_DEBUG, &err), -1);
    assert_int_equal(err.code, EISDIR);
}

TEST(secrets_are_not_logged)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    assert_int_equal(log_open(path, LOG_INFO, &err), 0);
    redact_add("API_KEY", "sk-live-0123456789");
    log_error("HTTP 401 for %s", "sk-live-0123456789");
    redact_forget();
    log_close();
    read_log(&text);
    assert_non_null(strstr(text.buf, "HTTP 401 for [secret API_KEY]\n"));
    assert_null(strstr(text.buf, "sk-live"));
}

TEST_GROUP(make_folder, drop_folder)
