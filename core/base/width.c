/* Width: how many columns of a terminal a character takes.
 *
 * The classes come from utf8proc. Where terminals disagree with it, what the C library and tmux do counts, because most
 * terminals follow them:
 * - Spacing marks (Mc) and the visible format characters (Cf) have a column of their own.
 * - Vowels and finals that join a Hangul syllable have none.
 * - All of planes 2 and 3 is wide, as Unicode says of ideographs that are still to come.
 * Ambiguous characters and those of private use have one column. Hidden characters have none: they are spelled out
 * before they are measured.
 *
 * The harness shares utf8.c with us and never draws, so it has no width.c and does not link utf8proc. */

#include "utf8.h"

#include <utf8proc.h>

static bool joins_hangul_syllable(uint32_t cp)
{
    return (cp >= 0x1160 && cp <= 0x11FF) || (cp >= 0xD7B0 && cp <= 0xD7FF);
}

int utf8_width(uint32_t cp)
{
    if (cp >= 0x20 && cp < 0x7F)
        return 1;
    if (utf8_unsafe(cp) || joins_hangul_syllable(cp))
        return 0;
    if (cp >= 0x20000 && cp <= 0x3FFFD)
        return 2;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)cp);
    if (category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CS)
        return 1;
    return utf8proc_charwidth((utf8proc_int32_t)cp);
}

size_t utf8_columns(const char *text, size_t len)
{
    size_t columns = 0;
    for (size_t at = 0; at < len;) {
        unsigned char c = (unsigned char)text[at];
        if (c >= 0x20 && c < 0x7F) {
            columns++;
            at++;
            continue;
        }
        size_t used;
        char spelled[16];
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        size_t width = utf8_spell(cp, spelled);
        columns += width ? width : (size_t)utf8_width(cp);
        at += used;
    }
    return columns;
}
