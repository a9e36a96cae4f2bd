#pragma once
/* Errors a caller is expected to handle.
 *
 * A function that can fail takes `struct err *err` last, returns 0 or -1 (or a pointer or NULL), and leaves `err`
 * untouched on success. The text is one sentence for a person, without a prefix and without a full stop; the place that
 * shows it adds the file. `BUG` is for broken invariants of our own and aborts. */

#include <stdarg.h>
#include <stddef.h>

#define CHECKED __attribute__((warn_unused_result))

struct err {
    int code;  /* an errno value where one is the cause, else 0 */
    long line; /* of the file being read; 0: not applicable */
    char text[480];
};

#define ERR_INIT ((struct err){0, 0, ""})

/* Sets the text and returns -1, so that `return err_set(err, …)` reads well. `err` may be NULL. */
int err_set(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with ": strerror(code)" added and the code kept. */
int err_set_errno(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts "text: " before the present text. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Redacts the text of a bug before it is shown; NULL: unchanged, because not every program knows secrets. */
extern void (*bug_redact)(char *text, size_t room);
_Noreturn void bug_at(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
