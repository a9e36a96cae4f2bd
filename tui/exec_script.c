/* A script goes through JSON to Python, and both want UTF-8. What is none would arrive as another script: it is
 * refused. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "exec_inside.h"
#include "say.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SCRIPT_BYTES_MAX (16u << 20)
#define UTF8_MARK        "\xef\xbb\xbf" /* that editors put before a text */

static int read_input(struct strbuf *script)
{
    if (strbuf_read(script, STDIN_FILENO, SCRIPT_BYTES_MAX))
        return say_error(STATUS_USAGE, "cannot read the script from standard input: %s",
                         errno == EFBIG ? "it is larger than 16 MiB" : strerror(errno));
    return 0;
}

static int read_bytes(const char *operand, struct strbuf *script)
{
    struct err err = ERR_INIT;
    if (!operand && isatty(STDIN_FILENO))
        return say_error(STATUS_USAGE, "keyturn exec needs a script (keyturn exec FILE, or pipe it in)");
    if (!operand || strcmp(operand, "-") == 0)
        return read_input(script);
    if (!*operand)
        return say_error(STATUS_USAGE, "FILE is empty (keyturn exec FILE, or - for standard input)");
    return file_read(operand, script, SCRIPT_BYTES_MAX, &err) ? say_file_error(STATUS_USAGE, operand, &err) : 0;
}

/* The first byte that is no text: no UTF-8, or NUL. The length when all of it is. */
static size_t find_foreign(const char *text, size_t len)
{
    size_t used, at = 0;
    while (at < len && text[at]) {
        /* U+FFFD may stand in a script too. */
        if (utf8_decode(text + at, len - at, &used) == UTF8_REPLACEMENT && !utf8_valid(text + at, used))
            break;
        at += used;
    }
    return at;
}

static long line_of(const char *text, size_t at)
{
    long line = 1;
    for (const char *newline = text; (newline = memchr(newline, '\n', at - (size_t)(newline - text))); newline++)
        line++;
    return line;
}

/* Whether one of the first two lines is a comment that names a coding, as Python reads it. */
static bool names_coding(const char *text)
{
    for (int line = 0; line < 2; line++) {
        size_t len = strcspn(text, "\n");
        const char *hash = memchr(text, '#', len);
        const char *coding = hash ? memmem(hash, len - (size_t)(hash - text), "coding", 6) : NULL;
        if (coding && (coding[6] == ':' || coding[6] == '='))
            return true;
        text += len + (text[len] == '\n');
    }
    return false;
}

static int check_text(const char *name, const struct strbuf *script)
{
    size_t at = find_foreign(script->buf, script->len);
    if (at == script->len)
        return 0;
    struct err err = ERR_INIT;
    if (!script->buf[at])
        err_set(&err, "a NUL byte (a script is text)");
    else if (names_coding(script->buf))
        err_set(&err, "not UTF-8 (whatever its coding line says, a script must be: save it as UTF-8)");
    else
        err_set(&err, "not UTF-8 (the byte 0x%02x: save it as UTF-8)", (unsigned char)script->buf[at]);
    err.line = line_of(script->buf, at);
    return say_file_error(STATUS_USAGE, name, &err);
}

static void drop_mark(struct strbuf *script)
{
    size_t len = strlen(UTF8_MARK);
    if (script->len < len || memcmp(script->buf, UTF8_MARK, len) != 0)
        return;
    memmove(script->buf, script->buf + len, script->len - len);
    strbuf_set_len(script, script->len - len);
}

int exec_read_script(const char *operand, struct strbuf *script)
{
    int status = read_bytes(operand, script);
    if (status)
        return status;
    drop_mark(script);
    return check_text(operand && strcmp(operand, "-") != 0 ? operand : "standard input", script);
}
