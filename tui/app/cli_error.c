/* Prints error messages on stderr. Each message is sent with one write, so that two programs on one terminal do not mix
 * their lines. Texts may come from any file or folder name, so they are sanitized: secrets are redacted, and a line
 * break is made visible instead of printed. */

#include "cli_error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "screen/text.h"
#include <string.h>
#include <unistd.h>

static void say(const char *text)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    CLEANUP(free) char *told = redact_copy(text);
    strbuf_addstr(&line, "keyturn: ");
    text_show(&line, told, strlen(told), 0);
    strbuf_addch(&line, '\n');
    /* If stderr is closed, the message is lost. */
    (void)!file_write_all(STDERR_FILENO, line.buf, line.len);
}

void cli_page(const char *text, size_t len)
{
    CLEANUP(strbuf) struct strbuf page = STRBUF_INIT;
    utf8_sanitize(&page, text, len, UTF8_KEEP_NEWLINE);
    (void)!file_write_all(STDERR_FILENO, page.buf, page.len);
}

static void say_args(const char *fmt, va_list args)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_vaddf(&text, fmt, args);
    say(text.buf);
}

int cli_error(int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_args(fmt, args);
    va_end(args);
    return status;
}

int cli_file_error(int status, const char *file, const struct err *err)
{
    if (err->line > 0)
        return cli_error(status, "%s:%ld: %s", file, err->line, err->text);
    if (strstr(err->text, file))
        return cli_error(status, "%s", err->text);
    return cli_error(status, "%s: %s", file, err->text);
}

void cli_notice(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_args(fmt, args);
    va_end(args);
}
