/* Ranks texts by the words of a query: BM25 (k1 1.2, b 0.75).
 *
 * The index keeps of a document its length in words and a count for each query word in it. A turn starts by reading
 * up to a hundred megabytes here, so the scan works on 64 bytes at a time. Masks show where words begin, without a
 * branch per byte. A word that begins like no query word is skipped before its end is searched; that is nearly every
 * word. Masks rank 440 MB/s; a loop over bytes reaches 280 to 320 MB/s (rank in ./dev bench). SSE2 gave 500 MB/s, too
 * little to keep a second version of the masks for one kind of processor.
 *
 * Words are runs of ASCII letters and digits and of bytes above 0x7f, lower-cased. "_" and a camelCase boundary end a
 * word, so "write_file", "writeFile" and "write file" are the same two words. */

#include "rank.h"
#include "base/mem.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define K1 1.2
#define B  0.75

struct word {
    char *text; /* NULL: an empty slot */
    size_t len;
    uint32_t documents; /* that contain it */
    uint32_t count;     /* in the document being read */
};

struct hit {
    uint32_t word, count;
};

struct ranked_text {
    size_t first_hit, hit_count;
    size_t words;
};

struct rank {
    struct word *slots; /* open addressing, a power of two */
    size_t slot_count, word_count;
    uint64_t lengths[256]; /* by first letter: bit n for words of n bytes, the last one for all longer ones */
    struct hit *hits;
    size_t hit_count, hit_room;
    struct ranked_text *documents;
    size_t document_count, document_room;
    uint64_t words; /* of all documents */
};

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

/* Iterates over words; start with text and len set. */
struct scan {
    const char *text;
    size_t len;
    size_t start, word_len; /* of the word found */

    size_t next;                /* block to look at */
    uint64_t starts;            /* starts of words in the current block, not yet returned */
    bool last_word, last_other; /* the byte before the next block: part of a word; and no capital */
};

struct masks {
    uint64_t word, upper, small; /* small: a…z */
};

#define EACH_BYTE(b) (0x0101010101010101u * (uint64_t)(b))
#define HIGH_BITS    EACH_BYTE(0x80)

/* The high bit of each byte in first…last, both ASCII; `seven` are the bytes without their high bits. */
static uint64_t between(uint64_t seven, unsigned char first, unsigned char last)
{
    return (seven + EACH_BYTE(0x80 - first)) & ~(seven + EACH_BYTE(0x7f - last));
}

/* The high bits of eight bytes as the low bits of one, the first byte lowest. */
static uint64_t gather(uint64_t bytes)
{
    return ((bytes & HIGH_BITS) >> 7) * 0x0102040810204080u >> 56;
}

/* The classes of the bytes of a block, one bit each. */
static inline struct masks block_masks(const char block[64])
{
    struct masks masks = {0};
    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, block + i, sizeof(bytes));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        bytes = __builtin_bswap64(bytes);
#endif
        uint64_t seven = bytes & ~HIGH_BITS;
        uint64_t upper = between(seven, 'A', 'Z') & ~bytes, small = between(seven, 'a', 'z') & ~bytes;
        masks.upper |= gather(upper) << i;
        masks.small |= gather(small) << i;
        masks.word |= gather(upper | small | between(seven, '0', '9') | bytes) << i;
    }
    return masks;
}

static struct masks last_masks(const char *block, size_t count)
{
    char padded[64] = {0};
    memcpy(padded, block, count);
    return block_masks(padded);
}

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_word(char c)
{
    return is_small(c) || is_upper(c) || (c >= '0' && c <= '9') || (unsigned char)c > 0x7f;
}

static void scan_block(struct scan *scan)
{
    const char *block = scan->text + scan->next;
    size_t left = scan->len - scan->next;
    struct masks of = left < 64 ? last_masks(block, left) : block_masks(block);
    uint64_t other = of.word & ~of.upper; /* a capital after it starts a new word */
    uint64_t before_small = of.small >> 1 | (uint64_t)(left > 64 && is_small(block[64])) << 63;
    uint64_t after_word = of.word << 1 | scan->last_word;
    uint64_t after_other = other << 1 | scan->last_other;
    /* fooBar → foo bar, HTTPServer → http server */
    scan->starts = of.word & (~after_word | (of.upper & (after_other | before_small)));
    scan->last_word = of.word >> 63;
    scan->last_other = other >> 63;
    scan->next += 64;
}

/* Finds the start of the next word; false at the end. */
static inline bool scan_start(struct scan *scan)
{
    while (!scan->starts) {
        if (scan->next >= scan->len)
            return false;
        scan_block(scan);
    }
    scan->start = scan->next - 64 + (size_t)__builtin_ctzll(scan->starts);
    scan->starts &= scan->starts - 1;
    return true;
}

/* Finds the end of the word: the rule of scan_block, byte by byte. */
static void scan_end(struct scan *scan)
{
    size_t at = scan->start + 1;
    for (; at < scan->len && is_word(scan->text[at]); at++)
        if (is_upper(scan->text[at]) &&
            (!is_upper(scan->text[at - 1]) || (at + 1 < scan->len && is_small(scan->text[at + 1]))))
            break;
    scan->word_len = at - scan->start;
}

static unsigned char first_letter(const struct scan *scan)
{
    return lower((unsigned char)scan->text[scan->start]);
}

static uint64_t length_bit(const struct scan *scan)
{
    return (uint64_t)1 << (scan->word_len < 63 ? scan->word_len : 63);
}

static bool same_word(const struct word *word, const struct scan *scan)
{
    if (word->len != scan->word_len)
        return false;
    for (size_t i = 0; i < word->len; i++)
        if ((unsigned char)word->text[i] != lower((unsigned char)scan->text[scan->start + i]))
            return false;
    return true;
}

/* The slot of a word, or the empty slot for it. */
static struct word *find_slot(const struct rank *rank, const struct scan *scan)
{
    size_t mask = rank->slot_count - 1;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < scan->word_len; i++)
        hash = (hash ^ lower((unsigned char)scan->text[scan->start + i])) * 16777619u;
    size_t at = (hash ^ hash >> 15) & mask;
    while (rank->slots[at].text && !same_word(&rank->slots[at], scan))
        at = (at + 1) & mask;
    return &rank->slots[at];
}

/* The query word that begins here, or NULL. */
static inline struct word *find_word(const struct rank *rank, struct scan *scan)
{
    uint64_t lengths = rank->lengths[first_letter(scan)];
    if (!lengths)
        return NULL;
    scan_end(scan);
    if (!(lengths & length_bit(scan)))
        return NULL;
    struct word *word = find_slot(rank, scan);
    return word->text ? word : NULL;
}

static size_t count_words(const char *text, size_t len)
{
    size_t count = 0;
    for (struct scan scan = {.text = text, .len = len}; scan_start(&scan);)
        count++;
    return count;
}

struct rank *rank_new(const char *query)
{
    struct rank *rank = xcalloc(1, sizeof(*rank));
    size_t len = strlen(query);
    size_t most = count_words(query, len);
    /* At most a quarter full, so nearly every other word ends at its first probe. */
    rank->slot_count = 16;
    while (rank->slot_count < most * 4)
        rank->slot_count *= 2;
    rank->slots = xcalloc(rank->slot_count, sizeof(*rank->slots));
    for (struct scan scan = {.text = query, .len = len}; scan_start(&scan);) {
        scan_end(&scan);
        struct word *word = find_slot(rank, &scan);
        if (word->text)
            continue;
        *word = (struct word){.text = xmemdup0(query + scan.start, scan.word_len), .len = scan.word_len};
        rank->lengths[first_letter(&scan)] |= length_bit(&scan);
        for (size_t i = 0; i < word->len; i++)
            word->text[i] = (char)lower((unsigned char)word->text[i]);
        rank->word_count++;
    }
    return rank;
}

void rank_free(struct rank *rank)
{
    if (!rank)
        return;
    for (size_t i = 0; i < rank->slot_count; i++)
        free(rank->slots[i].text);
    free(rank->slots);
    free(rank->hits);
    free(rank->documents);
    free(rank);
}

size_t rank_words(const struct rank *rank)
{
    return rank->word_count;
}

size_t rank_add(struct rank *rank, const char *text, size_t len)
{
    GROW(rank->documents, rank->document_count, rank->document_room);
    struct ranked_text *document = &rank->documents[rank->document_count];
    *document = (struct ranked_text){.first_hit = rank->hit_count};
    for (struct scan scan = {.text = text, .len = len}; scan_start(&scan);) {
        document->words++;
        struct word *word = find_word(rank, &scan);
        if (!word)
            continue;
        if (word->count++ == 0) {
            GROW(rank->hits, rank->hit_count, rank->hit_room);
            rank->hits[rank->hit_count++].word = (uint32_t)(word - rank->slots);
        }
    }
    for (size_t i = document->first_hit; i < rank->hit_count; i++) {
        struct word *word = &rank->slots[rank->hits[i].word];
        rank->hits[i].count = word->count;
        word->count = 0;
        word->documents++;
    }
    document->hit_count = rank->hit_count - document->first_hit;
    rank->words += document->words;
    return rank->document_count++;
}

/* The variant that is never negative: a word in every document counts for little, not against. */
static double weight(const struct rank *rank, const struct word *word)
{
    double all = (double)rank->document_count, with = word->documents;
    return log(1 + (all - with + 0.5) / (with + 0.5));
}

double rank_score(const struct rank *rank, size_t document)
{
    const struct ranked_text *doc = &rank->documents[document];
    double mean = (double)rank->words / (double)rank->document_count;
    double score = 0;
    for (size_t i = 0; i < doc->hit_count; i++) {
        const struct hit *hit = &rank->hits[doc->first_hit + i];
        double count = hit->count;
        double norm = count + K1 * (1 - B + B * (double)doc->words / mean);
        score += weight(rank, &rank->slots[hit->word]) * count * (K1 + 1) / norm;
    }
    return score;
}

size_t rank_find(const struct rank *rank, const char *text, size_t len)
{
    const struct word *best = NULL;
    size_t found = SIZE_MAX;
    for (struct scan scan = {.text = text, .len = len}; scan_start(&scan);) {
        const struct word *word = find_word(rank, &scan);
        if (word && (!best || word->documents < best->documents)) {
            best = word;
            found = scan.start;
        }
    }
    return found;
}
