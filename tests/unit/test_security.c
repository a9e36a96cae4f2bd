/* SECURITY.md says what tests/sandbox/promises.def says (UPDATE_GOLDEN=1 writes its tables), every attack on scripts
 * belongs to a promise, and every test that a promise names exists. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/page_block.h"
#include "support/test.h"
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define PAGE   SOURCE_DIR "/SECURITY.md"
#define BODIES SOURCE_DIR "/tests/sandbox/bodies"

static const struct {
    const char *sentence, *engines, *users;
} programs[] = {
#define PROMISE(sentence, engines, users, attack) {sentence, engines, users},
#include "../sandbox/promises.def"
};

static const struct {
    const char *sentence, *bodies;
} scripts[] = {
#define SCRIPT(sentence, bodies) {sentence, bodies},
#include "../sandbox/promises.def"
};

static const struct {
    const char *sentence, *test;
} guards[] = {
#define GUARD(sentence, test) {sentence, test},
#include "../sandbox/promises.def"
};

/* ---- the page ---- */

/* "bwrap podman" → "bwrap, podman" */
static void add_words(struct strbuf *out, const char *words)
{
    for (; *words; words++)
        strbuf_addf(out, "%s%c", *words == ' ' ? "," : "", *words);
}

/* What the tests run under each user: containers only as root. */
TEST(security_page_lists_the_promises_about_programs)
{
    CLEANUP(strbuf) struct strbuf table = STRBUF_INIT;
    strbuf_addstr(&table, "| promise | tried as root in | as a user in |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        assert_non_null(strstr(programs[i].users, "root"));
        assert_non_null(strstr(programs[i].engines, "bwrap"));
        strbuf_addf(&table, "| %s | ", programs[i].sentence);
        add_words(&table, programs[i].engines);
        strbuf_addf(&table, " | %s |\n", strstr(programs[i].users, "user") ? "bwrap" : "");
    }
    page_block_check(PAGE, "programs", &table);
}

static size_t count_bodies(const char *beginning)
{
    size_t count = 0;
    DIR *list = opendir(BODIES);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        count += strncmp(entry->d_name, beginning, strlen(beginning)) == 0 && strstr(entry->d_name, ".py");
    closedir(list);
    return count;
}

TEST(security_page_lists_the_promises_about_scripts)
{
    size_t total = 0;
    CLEANUP(strbuf) struct strbuf table = STRBUF_INIT;
    strbuf_addstr(&table, "| promise | attacks |\n|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        size_t count = count_bodies(scripts[i].bodies);
        assert_true(count > 0);
        total += count;
        strbuf_addf(&table, "| %s | %zu (`%s*`) |\n", scripts[i].sentence, count, scripts[i].bodies);
    }
    assert_int_equal(total, count_bodies(""));
    page_block_check(PAGE, "scripts", &table);
}

TEST(security_page_names_existing_tests)
{
    CLEANUP(strbuf) struct strbuf table = STRBUF_INIT;
    strbuf_addstr(&table, "| promise | test |\n|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        CLEANUP(free) char *path = xasprintf("%s/%s", SOURCE_DIR, guards[i].test);
        if (access(path, R_OK))
            fail_msg("%s: there is no %s", guards[i].sentence, guards[i].test);
        strbuf_addf(&table, "| %s | `%s` |\n", guards[i].sentence, guards[i].test);
    }
    page_block_check(PAGE, "keyturn", &table);
}
