/* Errors as text (err.h).
 *
 * The text is built in a separate buffer first, because the arguments may include the text of the same error: that
 * is how a caller wraps one. A text that is too long is cut, never inside a character. */

#include "err.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes away the rest of a character that the end of the buffer cut through. */
static void trim_partial(char *text, size_t room)
{
    size_t len = strlen(text);
    if (len + 1 < room)
        return;
    size_t back = 0;
    while (back < 3 && back < len && ((unsigned char)text[len - 1 - back] & 0xC0) == 0x80)
        back++;
    if (back < len && (unsigned char)text[len - 1 - back] >= 0xC0)
        text[len - 1 - back] = '\0';
}

static void put(struct err *err, const char *text)
{
    size_t len = strnlen(text, sizeof(err->text) - 1);
    memcpy(err->text, text, len);
    err->text[len] = '\0';
    trim_partial(err->text, sizeof(err->text));
}

/* Into an array of the function whose arguments these are. */
#define FORMAT(text, fmt)                         \
    do {                                          \
        va_list args;                             \
        va_start(args, fmt);                      \
        vsnprintf(text, sizeof(text), fmt, args); \
        va_end(args);                             \
    } while (0)

int err_set(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char text[sizeof(err->text)];
    FORMAT(text, fmt);
    err->code = 0;
    err->line = 0;
    put(err, text);
    return -1;
}

int err_set_errno(struct err *err, int code, const char *fmt, ...)
{
    if (!err)
        return -1;
    char text[sizeof(err->text)];
    FORMAT(text, fmt);

    /* The reason matters more than the end of a long path, so the text before it is shortened. */
    char buf[128];
    char reason[sizeof(buf) + 2];
    snprintf(reason, sizeof(reason), ": %s", strerror_r(code, buf, sizeof(buf)));
    size_t most = sizeof(text) - 1 - strlen(reason);
    if (strlen(text) > most) {
        text[most] = '\0';
        trim_partial(text, most + 1);
    }
    err->code = code;
    err->line = 0;
    put(err, text);
    size_t len = strlen(err->text);
    memcpy(err->text + len, reason, strlen(reason) + 1);
    return -1;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char prefix[sizeof(err->text)];
    FORMAT(prefix, fmt);
    char text[2 * sizeof(err->text) + 2];
    snprintf(text, sizeof(text), "%s: %s", prefix, err->text);
    put(err, text);
    return -1;
}

void (*bug_redact)(char *text, size_t room);

void bug_at(const char *file, int line, const char *fmt, ...)
{
    char text[1024];
    FORMAT(text, fmt);
    if (bug_redact)
        bug_redact(text, sizeof(text));
    fprintf(stderr, "BUG: %s:%d: %s\n", file, line, text);
    fflush(stderr);
    abort();
}
