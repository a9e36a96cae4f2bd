/* Words that comments, messages and documents do not use: British spelling, and riddles that hide who does something.
 *
 * Every text file of the tree is read, except recordings and goldens (see `unread`). In C only comments and strings
 * count. Recorded values that cannot change, such as "cancelled", are allowed as a quoted word. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <ctype.h>
#include <fnmatch.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum kind { SPELLING, RIDDLE };
enum part { PRODUCT, TESTS, PARTS };

/* `left`: how many places still use the word, in the product and in tests. These numbers may only become smaller. */
static const struct {
    const char *word, *use;
    enum kind kind;
    unsigned left[PARTS];
} banned[] = {
    {"colour", "color", SPELLING, {0}},
    {"colours", "colors", SPELLING, {1, 1}},
    {"coloured", "colored", SPELLING, {0}},
    {"behaviour", "behavior", SPELLING, {0}},
    {"cancelled", "canceled", SPELLING, {0, 9 /* outcomes in tables of case files */}},
    {"cancelling", "canceling", SPELLING, {0}},
    {"honour", "honor", SPELLING, {0}},
    {"honours", "honors", SPELLING, {0}},
    {"favour", "favor", SPELLING, {0}},
    {"favourite", "favorite", SPELLING, {0}},
    {"neighbour", "neighbor", SPELLING, {0}},
    {"neighbours", "neighbors", SPELLING, {0}},
    {"neighbouring", "neighboring", SPELLING, {0}},
    {"labelled", "labeled", SPELLING, {0}},
    {"labelling", "labeling", SPELLING, {0}},
    {"modelled", "modeled", SPELLING, {0}},
    {"travelled", "traveled", SPELLING, {0}},
    {"signalled", "signaled", SPELLING, {0}},
    {"initialise", "initialize", SPELLING, {0}},
    {"initialised", "initialized", SPELLING, {0}},
    {"serialise", "serialize", SPELLING, {0}},
    {"serialised", "serialized", SPELLING, {0}},
    {"normalise", "normalize", SPELLING, {0}},
    {"normalised", "normalized", SPELLING, {0}},
    {"recognise", "recognize", SPELLING, {0}},
    {"recognised", "recognized", SPELLING, {0}},
    {"organise", "organize", SPELLING, {0}},
    {"optimise", "optimize", SPELLING, {0}},
    {"optimisation", "optimization", SPELLING, {0}},
    {"summarise", "summarize", SPELLING, {0}},
    {"summarised", "summarized", SPELLING, {0}},
    {"synchronise", "synchronize", SPELLING, {0}},
    {"synchronised", "synchronized", SPELLING, {0}},
    {"sanitise", "sanitize", SPELLING, {0}},
    {"sanitised", "sanitized", SPELLING, {0}},
    {"minimise", "minimize", SPELLING, {0}},
    {"maximise", "maximize", SPELLING, {0}},
    {"authorise", "authorize", SPELLING, {0}},
    {"analyse", "analyze", SPELLING, {0}},
    {"centre", "center", SPELLING, {0}},
    {"centred", "centered", SPELLING, {0}},
    {"grey", "gray", SPELLING, {0}},
    {"licence", "license", SPELLING, {0}},
    {"defence", "defense", SPELLING, {0}},
    {"judgement", "judgment", SPELLING, {0}},
    {"artefact", "artifact", SPELLING, {0}},
    {"catalogue", "catalog", SPELLING, {0}},
    {"dialogue", "dialog", SPELLING, {0}},
    {"fulfil", "fulfill", SPELLING, {0}},
    {"whilst", "while", SPELLING, {0}},
    {"amongst", "among", SPELLING, {0}},
    {"towards", "toward", SPELLING, {0}},
    {"learnt", "learned", SPELLING, {0}},
    {"spoilt", "broken", SPELLING, {0}},
    {"misspelt", "misspelled", SPELLING, {0}},
    {"agt", "agent", RIDDLE, {0}},
    {"anew", "again", RIDDLE, {0}},
    {"veil", "redact", RIDDLE, {0}},
    {"veils", "redacts", RIDDLE, {0}},
    {"told", "reported, shown, recorded", RIDDLE, {4, 1}},
    {"goes on", "continues", RIDDLE, {0}},
    {"going on", "continuing", RIDDLE, {0}},
    {"gone on", "continued", RIDDLE, {0}},
    {"went on", "continued", RIDDLE, {0}},
    {"go on with", "continue", RIDDLE, {0}},
    {"go on where", "continue", RIDDLE, {0}},
    {"what came", "the result", RIDDLE, {1, 0}},
    {"came of", "the result", RIDDLE, {0}},
    {"comes of", "the result", RIDDLE, {0}},
    {"become of", "the result", RIDDLE, {0}},
    {"becomes of", "the result", RIDDLE, {0}},
    {"became of", "the result", RIDDLE, {0}},
    {"is asked", "the question is open, needs approval, a request is sent", RIDDLE, {9, 1}},
    {"are asked", "the question is open, need approval, requests are sent", RIDDLE, {0}},
    {"could not be asked", "the failure, its cause and what to do", RIDDLE, {0}},
    {"as it was", "unchanged", RIDDLE, {1, 1}},
    {"as ever", "as usual", RIDDLE, {0}},
    {"in vain", "what does not happen", RIDDLE, {0}},
    {"for ever", "forever, without end", RIDDLE, {0}},
    {"all the same", "still, anyway", RIDDLE, {2, 0}},
    {"lets go", "releases, continues", RIDDLE, {1, 0}},
    {"nobody", "the actor that does not", RIDDLE, {0, 1}},
    {"somebody", "the actor", RIDDLE, {0}},
    {"whoever", "the actor", RIDDLE, {0}},
};

/* Places where a banned word is the right one. */
static const struct {
    const char *phrase, *why;
} allowed[] = {
    {"user nobody", "the user of that name"},
    {"user:nobody", "the user of that name in an access list"},
    {"\"nobody\"", "who released a gate without a user, in recordings"},
    {"by=nobody", "the same in case files"},
    {"nobody-there", "a word of case files"},
    {"somebody-there", "a word of case files"},
    {"type nobody", "what a screen case filters for"},
    {"status cancelled", "a status in recordings, in case files"},
};

/* Files whose text is not ours to word, or is there to be wrong. */
static const struct {
    const char *pattern, *why;
} unread[] = {
    {"tests/unit/test_words.c", "it has all of them"},
    {"tests/vectors/cases.jsonl", "given cases, which must stay as they are"},
    {"tests/fuzz/corpus/*", "inputs of fuzzers"},
    {"tests/fold/*/*", "recordings and their goldens"},
    {"tests/unit/golden/*", "goldens"},
    {"tests/e2e/account/*", "a recording and its goldens"},
    {"tests/e2e/printable/*", "a recording and its files"},
    {"tests/screens/*.screen", "goldens"},
    {"tests/screens/*.jsonl", "recordings"},
    {"tests/fold/*.jsonl", "recordings"},
    {"fixtures/*.jsonl", "recordings"},
    {"fixtures/oversized-output/*", "the minutes that make an output long"},
};

static unsigned found[COUNT_OF(banned)][PARTS];
static size_t files_read;

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns true if the word at `at` is part of an allowed phrase. */
static bool is_allowed(const char *text, const char *at, const char *word)
{
    for (size_t i = 0; i < COUNT_OF(allowed); i++) {
        const char *in_phrase = strstr(allowed[i].phrase, word);
        size_t before = in_phrase ? (size_t)(in_phrase - allowed[i].phrase) : 0;
        if (in_phrase && (size_t)(at - text) >= before &&
            strncasecmp(at - before, allowed[i].phrase, strlen(allowed[i].phrase)) == 0)
            return true;
    }
    return false;
}

/* Counts whole words of a text. A word in quotes is a name: "cancelled", `denied:cancelled`. */
static void count_words(const char *path, const char *text, enum part part)
{
    for (size_t i = 0; i < COUNT_OF(banned); i++) {
        size_t len = strlen(banned[i].word);
        for (const char *at = text; (at = strcasestr(at, banned[i].word)); at += len) {
            char before = at > text ? at[-1] : ' ', after = at[len];
            if (is_word_character(before) || is_word_character(after) ||
                (banned[i].kind == SPELLING && strchr("\"'`:/.", before)) || is_allowed(text, at, banned[i].word))
                continue;
            if (++found[i][part] > banned[i].left[part])
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

static bool is_unread(const char *path)
{
    for (size_t i = 0; i < COUNT_OF(unread); i++)
        if (fnmatch(unread[i].pattern, path, 0) == 0)
            return true;
    return false;
}

/* Build folders, repositories and caches are no part of the tree. */
static bool is_foreign_folder(const char *name)
{
    return (name[0] == '.' && strcmp(name, ".ci") != 0) || strncmp(name, "build", 5) == 0 ||
           strcmp(name, "__pycache__") == 0;
}

static int check_file(const char *full, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    if (kind == FTW_D && where->level > 0 && is_foreign_folder(full + where->base))
        return FTW_SKIP_SUBTREE;
    const char *path = full + strlen(SOURCE_DIR "/");
    if (kind != FTW_F || full[where->base] == '.' || is_unread(path))
        return FTW_CONTINUE;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf prose = STRBUF_INIT;
    assert_int_equal(file_read(full, &text, 0, NULL), 0);
    files_read++;
    const char *dot = strrchr(path, '.');
    bool is_code = dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0 || strcmp(dot, ".def") == 0);
    if (is_code)
        keep_prose(text.buf, &prose);
    count_words(path, is_code ? prose.buf : text.buf, strncmp(path, "tests/", 6) == 0 ? TESTS : PRODUCT);
    return FTW_CONTINUE;
}

TEST(banned_words_become_fewer)
{
    assert_int_equal(nftw(SOURCE_DIR, check_file, 16, FTW_PHYS | FTW_ACTIONRETVAL), 0);
    assert_true(files_read > 1500);
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(banned); i++) {
        for (int part = 0; part < PARTS; part++) {
            unsigned left = banned[i].left[part];
            if (found[i][part] != left)
                print_message("\"%s\" is in %u places of the %s; the table says %u\n", banned[i].word, found[i][part],
                              part == PRODUCT ? "product" : "tests", left);
            wrong += found[i][part] > left;
        }
    }
    assert_int_equal(wrong, 0);
}

TEST(allowed_phrases_do_not_count)
{
    const char *text = "run it as the user nobody", *other = "what nobody reads";
    assert_true(is_allowed(text, strstr(text, "nobody"), "nobody"));
    assert_false(is_allowed(other, strstr(other, "nobody"), "nobody"));
    assert_true(is_unread("tests/screens/cases/trace/80x24.screen"));
    assert_false(is_unread("tests/screens/cases/trace/case"));
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
