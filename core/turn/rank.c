/* BM25 (k1 1.2, b 0.75). A document is read once: its words are hashed as they are scanned, and only a word whose hash
 * is in the small table of the query is looked at again. What is kept of a document is its length in words and a count
 * for each word of the query that it has.
 *
 * Words are runs of ASCII letters and digits and of bytes above 0x7f, lower-cased; "_" and a step in camelCase end one,
 * so "write_file", "writeFile" and "write file" are the same two words. */

#include "rank.h"
#include "base/mem.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define K1 1.2
#define B 0.75

struct word {
    char *text; /* NULL: an empty slot */
    size_t len;
    uint32_t hash;
    uint32_t documents; /* that have it */
    uint32_t count;     /* in the document being read */
};

struct hit {
    uint32_t word, count;
};

struct document {
    size_t first_hit, hit_count;
    size_t words;
};

struct rank {
    struct word *slots; /* open addressing, a power of two */
    size_t slot_count, word_count;
    struct hit *hits;
    size_t hit_count, hit_room;
    struct document *documents;
    size_t document_count, document_room;
    uint64_t words; /* of all documents */
};

enum class { OTHER, LOWER, UPPER };

static const unsigned char classes[256] = {
    ['0' ... '9'] = LOWER, ['a' ... 'z'] = LOWER, [0x80 ... 0xff] = LOWER, ['A' ... 'Z'] = UPPER};

static unsigned char lower(unsigned char c)
{
    return classes[c] == UPPER ? (unsigned char)(c + 32) : c;
}

struct scan {
    const char *text;
    size_t len, next;
    size_t start; /* of the word found, and its length */
    size_t word_len;
    uint32_t hash;
};

/* The next word, false at the end. */
static bool scan_next(struct scan *scan)
{
    const unsigned char *text = (const unsigned char *)scan->text;
    size_t at = scan->next;
    while (at < scan->len && classes[text[at]] == OTHER)
        at++;
    scan->start = at;
    uint32_t hash = 2166136261u;
    while (at < scan->len && classes[text[at]] != OTHER) {
        if (classes[text[at]] == UPPER && at > scan->start) {
            /* fooBar → foo bar, HTTPServer → http server */
            bool after_lower = classes[text[at - 1]] == LOWER;
            bool before_lower = at + 1 < scan->len && text[at + 1] >= 'a' && text[at + 1] <= 'z';
            if (after_lower || before_lower)
                break;
        }
        hash = (hash ^ lower(text[at])) * 16777619u;
        at++;
    }
    scan->hash = hash ^ hash >> 15;
    scan->word_len = at - scan->start;
    scan->next = at;
    return scan->word_len > 0;
}

static bool same_word(const struct word *word, const struct scan *scan)
{
    if (word->hash != scan->hash || word->len != scan->word_len)
        return false;
    for (size_t i = 0; i < word->len; i++)
        if ((unsigned char)word->text[i] != lower((unsigned char)scan->text[scan->start + i]))
            return false;
    return true;
}

/* Its slot, or the empty one where it would stand. */
static struct word *find_slot(const struct rank *rank, const struct scan *scan)
{
    size_t mask = rank->slot_count - 1;
    size_t at = scan->hash & mask;
    while (rank->slots[at].text && !same_word(&rank->slots[at], scan))
        at = (at + 1) & mask;
    return &rank->slots[at];
}

static struct word *find_word(const struct rank *rank, const struct scan *scan)
{
    struct word *word = find_slot(rank, scan);
    return word->text ? word : NULL;
}

static size_t count_words(const char *text, size_t len)
{
    size_t count = 0;
    for (struct scan scan = {.text = text, .len = len}; scan_next(&scan);)
        count++;
    return count;
}

struct rank *rank_new(const char *query)
{
    struct rank *rank = xcalloc(1, sizeof(*rank));
    size_t len = strlen(query);
    size_t most = count_words(query, len);
    /* At most a quarter full, so nearly every foreign word ends at its first probe. */
    rank->slot_count = 16;
    while (rank->slot_count < most * 4)
        rank->slot_count *= 2;
    rank->slots = xcalloc(rank->slot_count, sizeof(*rank->slots));
    for (struct scan scan = {.text = query, .len = len}; scan_next(&scan);) {
        struct word *word = find_slot(rank, &scan);
        if (word->text)
            continue;
        *word = (struct word){.text = xmemdup0(query + scan.start, scan.word_len), .len = scan.word_len,
                              .hash = scan.hash};
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
    struct document *document = &rank->documents[rank->document_count];
    *document = (struct document){.first_hit = rank->hit_count};
    for (struct scan scan = {.text = text, .len = len}; scan_next(&scan);) {
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

/* The form that is never negative, so a word that every document has counts for little and not against. */
static double weight(const struct rank *rank, const struct word *word)
{
    double all = (double)rank->document_count, with = word->documents;
    return log(1 + (all - with + 0.5) / (with + 0.5));
}

double rank_score(const struct rank *rank, size_t document)
{
    const struct document *doc = &rank->documents[document];
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
    for (struct scan scan = {.text = text, .len = len}; scan_next(&scan);) {
        const struct word *word = find_word(rank, &scan);
        if (word && (!best || word->documents < best->documents)) {
            best = word;
            found = scan.start;
        }
    }
    return found;
}
