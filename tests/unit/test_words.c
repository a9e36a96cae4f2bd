/* Words that comments, messages and documents do not use: British spelling, and riddles that hide who does something.
 *
 * Names in the code are not looked at, nor is a string that is such a word alone ("cancelled"): recordings have words
 * that cannot change any more. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum where { EVERYWHERE, PRODUCT /* tests may say it */ };

/* `left`: how many places still use the word. That number may only become smaller. */
static const struct {
    const char *word, *use;
    enum where where;
    unsigned left;
} banned[] = {
    {"colour", "color", EVERYWHERE, 0},
    {"colours", "colors", EVERYWHERE, 0},
    {"coloured", "colored", EVERYWHERE, 0},
    {"behaviour", "behavior", EVERYWHERE, 0},
    {"cancelled", "canceled", EVERYWHERE, 0},
    {"cancelling", "canceling", EVERYWHERE, 0},
    {"honour", "honor", EVERYWHERE, 0},
    {"honours", "honors", EVERYWHERE, 0},
    {"favour", "favor", EVERYWHERE, 0},
    {"favourite", "favorite", EVERYWHERE, 0},
    {"neighbour", "neighbor", EVERYWHERE, 0},
    {"neighbours", "neighbors", EVERYWHERE, 0},
    {"neighbouring", "neighboring", EVERYWHERE, 0},
    {"labelled", "labeled", EVERYWHERE, 0},
    {"labelling", "labeling", EVERYWHERE, 0},
    {"modelled", "modeled", EVERYWHERE, 0},
    {"travelled", "traveled", EVERYWHERE, 0},
    {"signalled", "signaled", EVERYWHERE, 0},
    {"initialise", "initialize", EVERYWHERE, 0},
    {"initialised", "initialized", EVERYWHERE, 0},
    {"serialise", "serialize", EVERYWHERE, 0},
    {"serialised", "serialized", EVERYWHERE, 0},
    {"normalise", "normalize", EVERYWHERE, 0},
    {"normalised", "normalized", EVERYWHERE, 0},
    {"recognise", "recognize", EVERYWHERE, 0},
    {"recognised", "recognized", EVERYWHERE, 0},
    {"organise", "organize", EVERYWHERE, 0},
    {"optimise", "optimize", EVERYWHERE, 0},
    {"optimisation", "optimization", EVERYWHERE, 0},
    {"summarise", "summarize", EVERYWHERE, 0},
    {"summarised", "summarized", EVERYWHERE, 0},
    {"synchronise", "synchronize", EVERYWHERE, 0},
    {"synchronised", "synchronized", EVERYWHERE, 0},
    {"sanitise", "sanitize", EVERYWHERE, 0},
    {"sanitised", "sanitized", EVERYWHERE, 0},
    {"minimise", "minimize", EVERYWHERE, 0},
    {"maximise", "maximize", EVERYWHERE, 0},
    {"authorise", "authorize", EVERYWHERE, 0},
    {"analyse", "analyze", EVERYWHERE, 0},
    {"centre", "center", EVERYWHERE, 0},
    {"centred", "centered", EVERYWHERE, 0},
    {"grey", "gray", EVERYWHERE, 0},
    {"licence", "license", EVERYWHERE, 0},
    {"defence", "defense", EVERYWHERE, 0},
    {"judgement", "judgment", EVERYWHERE, 0},
    {"artefact", "artifact", EVERYWHERE, 0},
    {"catalogue", "catalog", EVERYWHERE, 0},
    {"dialogue", "dialog", EVERYWHERE, 0},
    {"fulfil", "fulfill", EVERYWHERE, 0},
    {"whilst", "while", EVERYWHERE, 0},
    {"amongst", "among", EVERYWHERE, 0},
    {"towards", "toward", EVERYWHERE, 0},
    {"learnt", "learned", EVERYWHERE, 0},
    {"spoilt", "broken", EVERYWHERE, 0},
    {"misspelt", "misspelled", EVERYWHERE, 2},
    {"agt", "agent", PRODUCT, 0},
    {"anew", "again", PRODUCT, 0},
    {"veil", "redact", PRODUCT, 0},
    {"veils", "redacts", PRODUCT, 0},
    {"go on where", "continue", PRODUCT, 0},
    {"what came of it", "the result", PRODUCT, 0},
    {"could not be asked", "the failure, its cause and what to do", PRODUCT, 0},
    {"nobody", "the actor that does not", PRODUCT, 1},
    {"somebody", "the actor", PRODUCT, 0},
    {"whoever", "the actor", PRODUCT, 0},
};

static unsigned found[COUNT_OF(banned)];
static size_t files_read;

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Counts whole words of a text. A word in quotes is a name: "cancelled", `denied:cancelled`. */
static void count_words(const char *path, const char *text, bool product)
{
    for (size_t i = 0; i < COUNT_OF(banned); i++) {
        size_t len = strlen(banned[i].word);
        if (banned[i].where == PRODUCT && !product)
            continue;
        for (const char *at = text; (at = strcasestr(at, banned[i].word)); at += len) {
            char before = at > text ? at[-1] : ' ', after = at[len];
            if (is_word_character(before) || is_word_character(after) ||
                (banned[i].where == EVERYWHERE && strchr("\"'`:/.", before)))
                continue;
            if (++found[i] > banned[i].left)
                print_error("%s: \"%.*s\": use %s\n", path, (int)strcspn(at, "\n") > 60 ? 60 : (int)strcspn(at, "\n"),
                            at, banned[i].use);
        }
    }
}

/* The comments and strings of C, a line for each; names become blanks. */
static void keep_prose(const char *text, struct strbuf *prose)
{
    enum { CODE, STRING, COMMENT } in = CODE;
    for (const char *at = text; *at; at++) {
        bool begins = in == CODE && at[0] == '/' && at[1] == '*', ends = in == COMMENT && at[0] == '*' && at[1] == '/';
        if (in == CODE && at[0] == '\'' && at[1]) { /* '"' opens no string */
            at += at[1] == '\\' ? 3 : 2;
            continue;
        }
        if (begins)
            in = COMMENT;
        else if (ends)
            in = CODE;
        else if (*at == '"' && in != COMMENT)
            in = in == CODE ? STRING : CODE;
        else if (in == STRING && *at == '\\' && at[1])
            at++;
        strbuf_addch(prose, in != CODE || *at == '"' || *at == '\n' ? *at : ' ');
    }
}

static bool has_ending(const char *path, const char *const *endings)
{
    size_t len = strlen(path);
    for (; *endings; endings++)
        if (len > strlen(*endings) && strcmp(path + len - strlen(*endings), *endings) == 0)
            return true;
    return false;
}

static int check_file(const char *full, const struct stat *st, int kind, struct FTW *where)
{
    static const char *const code[] = {".c", ".h", ".def", NULL}, *const documents[] = {".md", ".1",     ".5",
                                                                                        ".7",  ".theme", NULL};
    (void)st, (void)where;
    const char *path = full + strlen(SOURCE_DIR "/");
    if (kind != FTW_F || (!has_ending(path, code) && !has_ending(path, documents)))
        return 0;
    if (strcmp(path, "tests/unit/test_words.c") == 0) /* which has them all */
        return 0;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf prose = STRBUF_INIT;
    assert_int_equal(file_read(full, &text, 0, NULL), 0);
    files_read++;
    bool is_code = has_ending(path, code);
    if (is_code)
        keep_prose(text.buf, &prose);
    count_words(path, is_code ? prose.buf : text.buf, strncmp(path, "tests/", 6) != 0);
    return 0;
}

TEST(banned_words_become_fewer)
{
    static const char *const places[] = {
        "core",        "tui",       "harness",         "tests",       "docs",
        "themes",      "README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md",
        "CHANGELOG.md"};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, places[i]);
        assert_int_equal(nftw(full, check_file, 16, FTW_PHYS), 0);
    }
    assert_true(files_read > 500);
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(banned); i++) {
        if (found[i] != banned[i].left)
            print_message("\"%s\" stands in %u places; the table says %u\n", banned[i].word, found[i], banned[i].left);
        wrong += found[i] > banned[i].left;
    }
    assert_int_equal(wrong, 0);
}

TEST(prose_is_found_in_code)
{
    CLEANUP(strbuf) struct strbuf prose = STRBUF_INIT;
    keep_prose("int colour; /* a hue */ char c = '\"'; puts(\"say \\\"it\\\" now\"); veil();\n", &prose);
    assert_non_null(strstr(prose.buf, "a hue"));
    assert_non_null(strstr(prose.buf, "\"say "));
    assert_null(strstr(prose.buf, "colour"));
    assert_null(strstr(prose.buf, "veil"));
}
