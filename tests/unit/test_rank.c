/* Tests of ranking files by the words of a query. */

#include "base/mem.h"
#include "support/test.h"
#include "turn/rank.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) < 1e-12))
        fail_msg("%.17g, not %.17g", got, expected);
}

static size_t words_of(const char *query)
{
    struct rank *rank = rank_new(query);
    size_t words = rank_words(rank);
    rank_free(rank);
    return words;
}

static size_t add(struct rank *rank, const char *text)
{
    return rank_add(rank, text, strlen(text));
}

static bool hits(const char *query, const char *text)
{
    struct rank *rank = rank_new(query);
    bool hit = rank_score(rank, add(rank, text)) > 0;
    rank_free(rank);
    return hit;
}

TEST(words_are_lower_cased_and_counted_once)
{
    assert_int_equal(words_of(""), 0);
    assert_int_equal(words_of(" \t\n.,;:!?()[]{}<>\"'"), 0);
    assert_int_equal(words_of("Read the FILE, read The file."), 3);
    assert_int_equal(words_of("utf8 utf-8"), 3);
    rank_free(NULL);
}

TEST(identifiers_are_split)
{
    assert_int_equal(words_of("write_file"), 2);
    assert_int_equal(words_of("__write__file__"), 2);
    assert_int_equal(words_of("writeFile write_file WriteFile"), 2);
    assert_int_equal(words_of("HTTPServer"), 2);
    assert_true(hits("http server", "class HTTPServer"));
    assert_true(hits("http server", "HTTP_SERVER"));
    assert_true(hits("decode", "utf8Decode"));
    assert_true(hits("ABC", "the abc of it"));
    assert_false(hits("rite", "write"));
    assert_false(hits("write", "rewrite writes"));
}

TEST(other_scripts_are_words_too)
{
    assert_int_equal(words_of("straße größe"), 2);
    assert_true(hits("größe", "die größe der datei"));
    assert_false(hits("größe", "die grösse"));
    assert_true(hits("\xff\xfe", "bytes \xff\xfe of nothing")); /* even what is no UTF-8 */
}

/* The figures of the textbook formula, worked out by hand for three small documents. */
TEST(scores_are_bm25)
{
    struct rank *rank = rank_new("apple pear");
    size_t a = add(rank, "apple apple tree");      /* 3 words */
    size_t b = add(rank, "pear");                  /* 1 word */
    size_t c = add(rank, "apple stone and grass"); /* 4 words */
    double mean = 8.0 / 3;
    double apple = log(1 + (3 - 2 + 0.5) / (2 + 0.5)), pear = log(1 + (3 - 1 + 0.5) / (1 + 0.5));
    assert_near(rank_score(rank, a), apple * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / mean)));
    assert_near(rank_score(rank, b), pear * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / mean)));
    assert_near(rank_score(rank, c), apple * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / mean)));
    rank_free(rank);
}

TEST(no_match_scores_zero)
{
    struct rank *rank = rank_new("apple");
    assert_int_equal(add(rank, ""), 0);
    assert_int_equal(add(rank, "pear"), 1);
    assert_near(rank_score(rank, 0), 0);
    assert_near(rank_score(rank, 1), 0);
    rank_free(rank);
    rank = rank_new("");
    add(rank, "apple");
    assert_near(rank_score(rank, 0), 0);
    rank_free(rank);
}

TEST(a_word_of_every_document_still_counts_a_little)
{
    struct rank *rank = rank_new("the apple");
    add(rank, "the tree");
    add(rank, "the apple");
    assert_true(rank_score(rank, 0) > 0);
    assert_true(rank_score(rank, 1) > rank_score(rank, 0));
    rank_free(rank);
}

TEST(the_word_with_the_highest_score_is_found)
{
    const char *text = "the license of the thing\nand here is parse_line\n";
    struct rank *rank = rank_new("fix the parse_line");
    add(rank, text);
    add(rank, "the other one");
    size_t at = rank_find(rank, text, strlen(text));
    assert_int_equal(at, strstr(text, "parse_line") - text);
    assert_int_equal(rank_find(rank, "nothing", 7), SIZE_MAX);
    assert_int_equal(rank_find(rank, "", 0), SIZE_MAX);
    rank_free(rank);
}

/* The rule as one would write it down, against the one that works on blocks: random texts of all lengths around 64. */
static bool is_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool is_upper(unsigned char c)
{
    return c >= 'A' && c <= 'Z';
}

static size_t word_end(const char *text, size_t len, size_t start)
{
    size_t at = start + 1;
    for (; at < len && is_word((unsigned char)text[at]); at++) {
        bool after_lower = !is_upper((unsigned char)text[at - 1]);
        bool before_lower = at + 1 < len && text[at + 1] >= 'a' && text[at + 1] <= 'z';
        if (is_upper((unsigned char)text[at]) && (after_lower || before_lower))
            break;
    }
    return at;
}

TEST(blocks_split_words_as_the_rule_says)
{
    static const char alphabet[] = "aabzAABZ019__ .\n\x7f@[`{/:\x80\xff\xc3";
    uint32_t seed = 7;
    for (int round = 0; round < 3000; round++) {
        char text[200];
        size_t len = (size_t)round % sizeof(text), words = 0;
        for (size_t i = 0; i < len; i++) {
            seed = seed * 1664525u + 1013904223u;
            /* Long runs of one kind too, so that words reach over the edge of a block. */
            text[i] = round % 3 == 0 && i % 64 > 60 ? 'q' : alphabet[(seed >> 10) % (sizeof(alphabet) - 1)];
        }
        for (size_t at = 0; at < len;) {
            if (!is_word((unsigned char)text[at])) {
                at++;
                continue;
            }
            size_t end = word_end(text, len, at);
            char word[201];
            memcpy(word, text + at, end - at);
            word[end - at] = '\0';
            struct rank *rank = rank_new(word);
            assert_int_equal(rank_words(rank), 1);
            rank_add(rank, text, len);
            assert_true(rank_score(rank, 0) > 0);
            assert_true(rank_find(rank, text, len) <= at);
            assert_int_equal(rank_find(rank, text + at, len - at), 0);
            rank_free(rank);
            words++;
            at = end;
        }
        /* The number of words shows in the length norm: the same text scores the same only with the same count. */
        struct rank *rank = rank_new("needle");
        CLEANUP(free) char *plain = xmalloc(2 * len + 16);
        size_t plain_len = 0;
        for (size_t i = 0; i < words; i++) {
            plain[plain_len++] = 'x';
            plain[plain_len++] = ' ';
        }
        memcpy(plain + plain_len, "needle", 6);
        CLEANUP(free) char *with = xmalloc(len + 16);
        memcpy(with, text, len);
        memcpy(with + len, " needle", 7);
        rank_add(rank, plain, plain_len + 6);
        rank_add(rank, with, len + 7);
        rank_add(rank, "some other text", 15);
        assert_near(rank_score(rank, 0), rank_score(rank, 1));
        rank_free(rank);
    }
}

TEST(many_words_and_documents)
{
    char query[8000] = "";
    size_t len = 0;
    for (int i = 0; i < 1000; i++)
        len += (size_t)snprintf(query + len, sizeof(query) - len, "w%d ", i);
    struct rank *rank = rank_new(query);
    assert_int_equal(rank_words(rank), 1000);
    for (int i = 0; i < 300; i++) {
        char text[64];
        snprintf(text, sizeof(text), "w%d x%d y", i, i);
        add(rank, text);
    }
    for (size_t i = 1; i < 300; i++)
        assert_near(rank_score(rank, i), rank_score(rank, 0));
    assert_true(rank_score(rank, 0) > 0);
    rank_free(rank);
}
