#pragma once
/* UTF-8: decoding that never fails, display width, and making hostile text harmless. Everything the project shows or
 * counts goes through here, so there is one idea of what a character is and how wide. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

#define UTF8_REPLACEMENT 0xFFFDu

/* Decodes one code point of text[0…len), len > 0, and sets how many bytes it took (at least 1). Malformed, overlong
 * and surrogate sequences give UTF8_REPLACEMENT for the longest prefix that could have started a valid one. */
uint32_t utf8_decode(const char *text, size_t len, size_t *used);
/* Writes one code point to out[4] and returns the number of bytes. */
size_t utf8_encode(uint32_t cp, char out[4]);
/* How many bytes at the end are the beginning of a character that more bytes may complete. */
size_t utf8_unfinished(const char *text, size_t len);
bool utf8_valid(const char *text, size_t len);
/* Number of code points; malformed bytes count as utf8_decode reads them. */
size_t utf8_count(const char *text, size_t len);
/* Number of bytes of the first `chars` code points, at most len. */
size_t utf8_prefix(const char *text, size_t len, size_t chars);
/* width.c. Columns of a terminal: 0 combining, 1, or 2 wide. Control characters are 0; they are never sent. */
int utf8_width(uint32_t cp);
/* True if a character must not be sent to a terminal unchanged: controls (C0, DEL, C1), bidirectional controls, line
 * separators, and invisible characters. */
bool utf8_unsafe(uint32_t cp);
/* How a character is shown that cannot be sent as it is (^X, <U+202E>): writes it to `out` and returns its length,
 * which is its width too. 0: it can be sent. */
size_t utf8_spell(uint32_t cp, char out[16]);
/* width.c. Columns that text takes after utf8_sanitize. */
size_t utf8_columns(const char *text, size_t len);
/* Appends valid UTF-8: malformed bytes become U+FFFD, everything else stays. */
void utf8_scrub(struct strbuf *out, const char *text, size_t len);

enum utf8_keep {
    UTF8_KEEP_NOTHING = 0,
    UTF8_KEEP_NEWLINE = 1, /* '\n' passes; otherwise it is shown as ^J */
    UTF8_KEEP_TAB = 2,
};

/* Appends text made fit for a terminal: malformed bytes as U+FFFD, C0 and C1 controls as ^X, bidirectional controls and
 * invisible characters as <U+202E>. What comes out holds no byte below 0x20 but those kept, no DEL, no C1, and nothing
 * that reorders or hides its neighbors. */
void utf8_sanitize(struct strbuf *out, const char *text, size_t len, unsigned keep);
