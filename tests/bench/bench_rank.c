/* Ranking 16 MB of source text by a question, against a loop over bytes that only finds where words begin. */

#include "base/mem.h"
#include "bench.h"
#include "turn/rank.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIZE     (16 << 20)
#define DOCUMENT 20000

static char *text;
static volatile size_t words;

/* Words like those of source code, in no order that a processor could learn. */
static void make_text(void)
{
    static const char *const parts[] = {
        "static ", "void ", "settleCall", "(struct turn *", "size_t count)", "\n    ", "HTTPServer", "write_file",
        "42",      ", ",    "->",         "journalAppend",  "if (!",         "é",      ";\n"};
    uint32_t seed = 1;
    text = xmalloc(SIZE);
    for (size_t at = 0; at < SIZE;) {
        seed = seed * 1664525u + 1013904223u;
        const char *part = parts[(seed >> 16) % COUNT_OF(parts)];
        size_t len = strlen(part) < SIZE - at ? strlen(part) : SIZE - at;
        memcpy(text + at, part, len);
        at += len;
    }
}

static void rank_text(void *none)
{
    (void)none;
    struct rank *rank = rank_new("where does the journal keep the decision about a write of the model");
    for (size_t at = 0; at < SIZE; at += DOCUMENT)
        rank_add(rank, text + at, SIZE - at < DOCUMENT ? SIZE - at : DOCUMENT);
    rank_free(rank);
}

enum letter { OTHER, SMALL, UPPER, DIGIT };

static void find_words(void *none)
{
    (void)none;
    static unsigned char letters[256];
    for (int c = 0; c < 256; c++)
        letters[c] = c >= 'a' && c <= 'z'                 ? SMALL
                     : c >= 'A' && c <= 'Z'               ? UPPER
                     : (c >= '0' && c <= '9') || c > 0x7f ? DIGIT
                                                          : OTHER;
    size_t count = 0;
    unsigned char before = OTHER;
    for (size_t at = 0; at + 1 < SIZE; at++) {
        unsigned char now = letters[(unsigned char)text[at]];
        if (now != OTHER &&
            (before == OTHER || (now == UPPER && (before != UPPER || letters[(unsigned char)text[at + 1]] == SMALL))))
            count++;
        before = now;
    }
    words = count;
}

int main(void)
{
    make_text();
    struct bench_pair pair = bench_compare(7, rank_text, find_words, NULL);
    bench_report("rank", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.5);
    free(text);
    return bench_status();
}
