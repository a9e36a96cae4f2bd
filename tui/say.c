/* A message is made whole and sent with one write, so that two programs on one terminal do not mix their lines. Texts
 * come from files and folders of any name: they are sanitised, secrets are left out, and a line break in one is shown,
 * not sent. */

#include "say.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "text.h"
#include <string.h>
#include <unistd.h>

static void say(const char *text)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    CLEANUP(free) char *told = redact_copy(text);
    strbuf_addstr(&line, "keyturn: ");
    text_show(&line, told, strlen(told), 0);
    strbuf_addch(&line, '\n');
    /* Where stderr is gone there is nobody to tell. */
    (void)!file_write_all(STDERR_FILENO, line.buf, line.len);
}

void say_page(const char *text, size_t len)
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

int say_error(int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_args(fmt, args);
    va_end(args);
    return status;
}

int say_file_error(int status, const char *file, const struct err *err)
{
    if (err->line > 0)
        return say_error(status, "%s:%ld: %s", file, err->line, err->text);
    if (strstr(err->text, file))
        return say_error(status, "%s", err->text);
    return say_error(status, "%s: %s", file, err->text);
}

void say_notice(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_args(fmt, args);
    va_end(args);
}
