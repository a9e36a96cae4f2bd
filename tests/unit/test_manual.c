/* The manual pages list every command, option, key, role, config entry, event, engine and refused system call.
 *
 * Each list is a block of the page that is rendered here from the table the program itself uses. A row that is missing
 * in the page fails the test; UPDATE_GOLDEN=1 build/tests/unit_test_manual writes the blocks. */

#include "app/command.h"
#include "app/keymap.h"
#include "app/ui.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cli/options.h"
#include "config/config.h"
#include "mcp/mcp.h"
#include "mcp/server.h"
#include "sandbox/engines.h"
#include "sandbox/engines_program.h"
#include "screen/theme.h"
#include "support/page_block.h"
#include "support/test.h"
#include "tools/registry.h"
#include "tools/tool.h"
#include "turn/budget.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MANUAL     SOURCE_DIR "/docs/keyturn.1"
#define CONFIG     SOURCE_DIR "/docs/keyturn-config.5"
#define TRANSCRIPT SOURCE_DIR "/docs/keyturn-transcript.5"
#define SANDBOX    SOURCE_DIR "/docs/keyturn-sandbox.7"

/* ---- roff ---- */

/* Text of a line that does not begin with a macro. */
static void add_text(struct strbuf *out, const char *text, size_t len)
{
    if (len && (*text == '.' || *text == '\''))
        strbuf_addstr(out, "\\&");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\')
            strbuf_addstr(out, "\\e");
        else if (text[i] == '-')
            strbuf_addstr(out, "\\-");
        else
            strbuf_addch(out, text[i]);
    }
}

static void add_words(struct strbuf *out, const char *text)
{
    add_text(out, text, strlen(text));
}

static void add_bold(struct strbuf *out, const char *text)
{
    strbuf_addstr(out, "\\fB");
    add_words(out, text);
    strbuf_addstr(out, "\\fR");
}

/* Help texts of tables are phrases in lower case; the manual has sentences, each on its own line. */
static void add_sentence(struct strbuf *out, const char *text)
{
    size_t len = strlen(text);
    strbuf_addch(out, (char)toupper((unsigned char)*text));
    add_text(out, text + 1, len - 1);
    strbuf_addstr(out, strchr(".?!", text[len - 1]) ? "\n" : ".\n");
}

/* Paragraphs; lines that begin with two spaces stay as they are. */
static void add_paragraphs(struct strbuf *out, const char *text)
{
    bool verbatim = false;
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        bool is_example = strncmp(text, "  ", 2) == 0;
        if (is_example != verbatim)
            strbuf_addstr(out, is_example ? ".IP\n.nf\n" : ".fi\n");
        verbatim = is_example;
        if (!len)
            strbuf_addstr(out, text[1] && strncmp(text + 1, "  ", 2) != 0 ? ".IP\n" : "");
        else {
            add_text(out, text + (is_example ? 2 : 0), len - (is_example ? 2 : 0));
            strbuf_addch(out, '\n');
        }
    }
    strbuf_addstr(out, verbatim ? ".fi\n" : "");
}

/* ---- keyturn(1) ---- */

/* The parts of `keyturn COMMAND --help`: "keyturn run [PROMPT] [OPTION]...: help", an empty line, more help, an empty
 * line, and a line for each option. */
struct command_page {
    struct strbuf text;
    char *synopsis, *help, *more, *options;
};

static void command_page_read(struct command_page *page, enum cli_command command)
{
    page->text = (struct strbuf)STRBUF_INIT;
    cli_command_help(&page->text, command);
    page->synopsis = page->text.buf;
    page->options = strstr(page->text.buf, "\n\n  --");
    page->help = strstr(page->text.buf, ": ");
    assert_non_null(page->options);
    assert_non_null(page->help);
    *page->options++ = '\0';
    *page->help = '\0';
    page->help += 2;
    page->more = strstr(page->help, "\n\n");
    assert_non_null(page->more);
    *page->more = '\0';
    page->more += 2;
}

TEST(every_command_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        struct command_page page;
        command_page_read(&page, (enum cli_command)i);
        char *rest = strstr(page.synopsis, " [OPTION]");
        if (rest)
            *rest = '\0';
        strbuf_addstr(&block, ".TP\n");
        add_bold(&block, page.synopsis);
        strbuf_addch(&block, '\n');
        add_sentence(&block, page.help);
        strbuf_addstr(&block, ".IP\n");
        add_paragraphs(&block, page.more);
        strbuf_release(&page.text);
    }
    page_block_check(MANUAL, "commands", &block);
}

struct option_help {
    char *help;
    unsigned commands;
};

struct option_row {
    char *name; /* "--workspace DIR" */
    struct option_help helps[COMMAND_COUNT];
    size_t count;
};

/* Adds the option of one line of a command's help. */
static void option_rows_add(struct option_row *rows, size_t *count, const char *line, size_t len, unsigned command)
{
    CLEANUP(free) char *copy = xmemdup0(line, len);
    char *gap = strstr(copy, "  ");
    assert_non_null(gap);
    const char *help = gap + strspn(gap, " ");
    *gap = '\0';
    size_t at = 0, of = 0;
    while (at < *count && strcmp(rows[at].name, copy) != 0)
        at++;
    struct option_row *row = &rows[at];
    if (at == *count) {
        assert_true(*count < 64);
        rows[(*count)++].name = xstrdup(copy);
    }
    while (of < row->count && strcmp(row->helps[of].help, help) != 0)
        of++;
    if (of == row->count)
        row->helps[row->count++].help = xstrdup(help);
    row->helps[of].commands |= 1u << command;
}

static void add_option(struct strbuf *block, const struct option_row *row)
{
    size_t name = strcspn(row->name, " ");
    CLEANUP(free) char *dashes = xmemdup0(row->name, name);
    strbuf_addstr(block, ".TP\n");
    add_bold(block, dashes);
    if (row->name[name]) {
        strbuf_addstr(block, " \\fI");
        add_words(block, row->name + name + 1);
        strbuf_addstr(block, "\\fR");
    }
    strbuf_addch(block, '\n');
    for (size_t i = 0; i < row->count; i++) {
        strbuf_addstr(block, i ? ".br\n" : "");
        add_sentence(block, row->helps[i].help);
        if (row->helps[i].commands == (1u << COMMAND_COUNT) - 1) {
            strbuf_addstr(block, "(all commands)\n");
            continue;
        }
        const char *before = "(";
        for (unsigned command = 0; command < COMMAND_COUNT; command++)
            if (row->helps[i].commands & 1u << command) {
                strbuf_addf(block, "%s%s", before, cli_command_name((enum cli_command)command));
                before = ", ";
            }
        strbuf_addstr(block, ")\n");
    }
}

TEST(every_option_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    struct option_row rows[64] = {0};
    size_t count = 0;
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        struct command_page page;
        command_page_read(&page, (enum cli_command)i);
        for (char *line = page.options; (line = strstr(line, "\n  --"));) {
            line += 3;
            option_rows_add(rows, &count, line, strcspn(line, "\n"), i);
        }
        strbuf_release(&page.text);
    }
    for (size_t i = 0; i < count; i++)
        add_option(&block, &rows[i]);
    page_block_check(MANUAL, "options", &block);
    for (size_t i = 0; i < count; i++) {
        free(rows[i].name);
        for (size_t k = 0; k < rows[i].count; k++)
            free(rows[i].helps[k].help);
    }
}

TEST(every_key_is_in_the_manual)
{
    static const enum context order[] = {IN_ALL, IN_STEP, IN_QUESTION, IN_PROGRAM, IN_REPLAY};
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    struct keymap *keymap = keymap_new();
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        strbuf_addf(&block, ".SS %s\n.PD 0\n", context_title(order[i]));
        for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
            if (!(action_contexts(action) & order[i]))
                continue;
            CLEANUP(strbuf) struct strbuf keys = STRBUF_INIT;
            keymap_keys(keymap, action, &keys);
            strbuf_addstr(&block, ".TP 14\n");
            add_bold(&block, keys.buf);
            strbuf_addch(&block, '\n');
            add_sentence(&block, action_help(action));
            strbuf_addstr(&block, "\\fI");
            add_words(&block, action_name(action));
            strbuf_addstr(&block, "\\fR\n");
        }
        strbuf_addstr(&block, ".PD\n");
    }
    keymap_free(keymap);
    page_block_check(MANUAL, "keys", &block);
}

/* The commands that `:` takes. Tab on an empty line offers all of them. */
TEST(every_colon_command_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT, completed = STRBUF_INIT, offers = STRBUF_INIT;
    command_complete(NULL, "", &completed, &offers);
    strbuf_addstr(&block, ".PD 0\n");
    for (const char *at = offers.buf; *at; at += strspn(at, " ")) {
        CLEANUP(free) char *name = xmemdup0(at, strcspn(at, " "));
        at += strlen(name);
        CLEANUP(free) char *usage = xstrdup(command_usage(name));
        char *help = strstr(usage, "  ");
        assert_non_null(help);
        *help = '\0';
        help += 2;
        strbuf_addstr(&block, ".TP 20\n");
        add_bold(&block, usage);
        strbuf_addch(&block, '\n');
        add_sentence(&block, help + strspn(help, " "));
    }
    strbuf_addstr(&block, ".PD\n");
    page_block_check(MANUAL, "colon commands", &block);
}

TEST(every_tool_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    for (size_t i = 0; builtin_tools[i]; i++) {
        const struct tool_spec *spec = &builtin_tools[i]->spec;
        const char *end = strstr(spec->description, ". ");
        strbuf_addstr(&block, ".TP\n");
        add_bold(&block, spec->name);
        strbuf_addf(&block, " (%s)\n", effect_name(spec->effect));
        CLEANUP(free)
        char *first = xmemdup0(spec->description, end ? (size_t)(end - spec->description) : strlen(spec->description));
        add_sentence(&block, first);
    }
    page_block_check(MANUAL, "tools", &block);
}

TEST(every_protected_path_is_in_the_manual)
{
    static const struct {
        const char *level, *pattern, *reason;
    } places[] = {
#define GUARD(level, pattern, reason) {#level, pattern, reason},
#include "tools/protected.def"
#undef GUARD
    };
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    strbuf_addstr(&block, ".PD 0\n");
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        strbuf_addstr(&block, ".TP 26\n");
        add_bold(&block, places[i].pattern);
        strbuf_addf(&block, "\n%s: ", strcmp(places[i].level, "PROTECTED") == 0 ? "protected" : "dangerous");
        add_words(&block, places[i].reason);
        strbuf_addstr(&block, ".\n");
    }
    strbuf_addstr(&block, ".PD\n");
    page_block_check(MANUAL, "places", &block);
}

TEST(roles)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    strbuf_addstr(&block, ".PD 0\n");
    for (enum look look = 0; look < LOOK_COUNT; look++) {
        strbuf_addstr(&block, ".TP 26\n");
        add_bold(&block, look_name(look));
        strbuf_addch(&block, '\n');
        add_words(&block, look_doc(look));
        strbuf_addstr(&block, ".\n");
    }
    strbuf_addstr(&block, ".PD\n");
    page_block_check(MANUAL, "roles", &block);
}

TEST(pages_name_this_version)
{
    static const char *const pages[] = {MANUAL, CONFIG, TRANSCRIPT, SANDBOX};
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        CLEANUP(strbuf) struct strbuf page = STRBUF_INIT;
        struct err err = ERR_INIT;
        assert_int_equal(file_read(pages[i], &page, 1 << 20, &err), 0);
        page.buf[strcspn(page.buf, "\n")] = '\0';
        if (!strstr(page.buf, "\"keyturn " KEYTURN_VERSION "\""))
            fail_msg("%s: %s", pages[i], page.buf);
    }
}

/* ---- keyturn-config(5) ---- */

TEST(every_config_entry_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    size_t count;
    const struct config_entry *entries = config_entries(&count);
    const char *object = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!object || strcmp(object, entries[i].object) != 0)
            strbuf_addf(&block, ".SS %s\n", *entries[i].object ? entries[i].object : "Top level");
        object = entries[i].object;
        strbuf_addstr(&block, ".TP\n");
        add_bold(&block, entries[i].name);
        strbuf_addf(&block, " (%s", entries[i].type);
        if (*entries[i].standard) {
            strbuf_addstr(&block, "; default: ");
            add_words(&block, entries[i].standard);
        }
        strbuf_addstr(&block, ")\n");
        add_words(&block, entries[i].help); /* whole sentences already */
        strbuf_addch(&block, '\n');
    }
    page_block_check(CONFIG, "entries", &block);
}

static const char *default_of(const char *object, const char *name)
{
    size_t count;
    const struct config_entry *entries = config_entries(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].object, object) == 0 && strcmp(entries[i].name, name) == 0)
            return entries[i].standard;
    fail_msg("config.def has no %s.%s", object, name);
    return "";
}

TEST(config_defaults_are_those_of_the_program)
{
    struct budget_limits limits = budget_defaults_for(true), headless = budget_defaults_for(false);
    const struct {
        const char *object, *name;
        double value;
    } known[] = {
        {"budget", "wall_s", limits.wall_s},
        {"budget", "steps", (double)limits.steps},
        {"budget", "cost_usd", limits.cost_usd},
        {"budget", "reflections", (double)limits.reflections},
        {"budget", "context_tokens", (double)limits.context_tokens},
        {"budget", "tool_cap_s", limits.tool_cap_s},
        {"", "question_grace_ms", UI_GRACE_US / 1000},
        {"", "mcp_wait_s", MCP_WAIT_S},
        {"mcpServers.NAME", "timeout_s", MCP_CALL_S},
        {"workspace", "memory_mb", PROGRAM_MEMORY_MB},
        {"workspace", "pids", PROGRAM_PIDS},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_float_equal(strtod(default_of(known[i].object, known[i].name), NULL), known[i].value, 0);
    CLEANUP(free) char *wall = xasprintf("3600; without the workbench %g", headless.wall_s);
    CLEANUP(free) char *steps = xasprintf("100; without the workbench %lld", (long long)headless.steps);
    assert_string_equal(default_of("budget", "wall_s"), wall);
    assert_string_equal(default_of("budget", "steps"), steps);
    assert_true(headless.tool_calls < 0 && isnan(headless.cost_usd));
}

/* ---- keyturn-transcript(5) ---- */

struct event_row {
    const char *name, *help, *fields; /* fields: "STR call\nRECS files, proposed_file\n" */
};

#define F(kind, ...)   #kind " " #__VA_ARGS__ "\n"
#define REC(name, ...) {#name, NULL, "" __VA_ARGS__},
#define EVENT(ID, member, name, help, ...)
static const struct event_row records[] = {
#include "event/event.def"
};
#undef REC
#undef EVENT
#define REC(name, ...)
#define EVENT(ID, member, name, help, ...) {name, help, "" __VA_ARGS__},
static const struct event_row events[] = {
#include "event/event.def"
};
#undef F
#undef REC
#undef EVENT

static const char *kind_words(const char *kind, size_t len)
{
    static const struct {
        const char *kind, *words;
    } kinds[] = {
        {"STR", "string"},
        {"NSTR", "string or null"},
        {"JSON", "any JSON"},
        {"LIST", "list"},
        {"OBJ", "object"},
        {"INT", "integer"},
        {"NINT", "integer or null"},
        {"OINT", "integer, may be missing"},
        {"NUM", "number"},
        {"NNUM", "number or null"},
        {"BOOL", "true or false"},
        {"YES", "true or false; missing means true"},
        {"FLAG", "true, or missing"},
        {"STRS", "list of strings"},
        {"INTS", "list of integers"},
        {"OREC", "record"},
        {"RECS", "list of"},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strlen(kinds[i].kind) == len && memcmp(kinds[i].kind, kind, len) == 0)
            return kinds[i].words;
    fail_msg("unknown kind of field %.*s", (int)len, kind);
    return "";
}

static void add_event_rows(struct strbuf *block, const struct event_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        strbuf_addstr(block, ".TP\n");
        add_bold(block, rows[i].name);
        strbuf_addch(block, '\n');
        if (rows[i].help)
            add_sentence(block, rows[i].help);
        for (const char *field = rows[i].fields; *field; field += strcspn(field, "\n") + 1) {
            size_t kind = strcspn(field, " "), name = strcspn(field + kind + 1, ",\n");
            const char *record = field + kind + 1 + name;
            strbuf_addf(block, "%s\\fI", field > rows[i].fields || rows[i].help ? ".br\n" : "");
            add_text(block, field + kind + 1, name);
            strbuf_addf(block, "\\fR: %s", kind_words(field, kind));
            if (*record == ',')
                strbuf_addf(block, " \\fB%.*s\\fR", (int)strcspn(record + 2, "\n"), record + 2);
            strbuf_addch(block, '\n');
        }
    }
}

TEST(every_event_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    add_event_rows(&block, events, COUNT_OF(events));
    page_block_check(TRANSCRIPT, "events", &block);
}

TEST(every_event_record_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    add_event_rows(&block, records, COUNT_OF(records));
    page_block_check(TRANSCRIPT, "records", &block);
}

/* ---- keyturn-sandbox(7) ---- */

TEST(every_engine_is_in_the_manual)
{
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    struct sandbox_engines engines = {0};
    struct err err = ERR_INIT;
    assert_int_equal(sandbox_engines_load(&engines, NULL, &err), 0);
    for (size_t i = 0; i < engines.count; i++) {
        strbuf_addstr(&block, ".TP\n");
        add_bold(&block, engines.items[i].name);
        strbuf_addch(&block, '\n');
        add_sentence(&block, engines.items[i].about);
        strbuf_addstr(&block, engines.items[i].program ? "Runs scripts and programs.\n" : "Runs scripts only.\n");
    }
    sandbox_engines_release(&engines);
    page_block_check(SANDBOX, "engines", &block);
}

TEST(every_refused_system_call_is_in_the_manual)
{
    static const struct {
        const char *row, *answer, *when, *reason;
    } calls[] = {
#define REFUSE(row, call, answer, when, reason, ...) {#row, #answer, #when, reason},
#include "sandbox/program_syscalls.def"
#undef REFUSE
    };
    CLEANUP(strbuf) struct strbuf block = STRBUF_INIT;
    strbuf_addstr(&block, ".PD 0\n");
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        strbuf_addstr(&block, ".TP 24\n");
        add_bold(&block, calls[i].row);
        strbuf_addf(&block, "\n%s%s.\n", calls[i].answer,
                    strcmp(calls[i].when, "ALWAYS") == 0 ? "" : ", only without a control group");
        add_sentence(&block, calls[i].reason);
    }
    strbuf_addstr(&block, ".PD\n");
    page_block_check(SANDBOX, "system calls", &block);
}

/* ---- warnings of man ---- */

TEST(pages_have_no_warnings)
{
    static const char *const pages[] = {MANUAL, CONFIG, TRANSCRIPT, SANDBOX};
    if (system("command -v groff >/dev/null 2>&1"))
        skip();
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        CLEANUP(free) char *command = xasprintf("test -z \"$(groff -k -man -Tutf8 -ww -z '%s' 2>&1)\"", pages[i]);
        if (system(command))
            fail_msg("%s: groff -man -ww has something to say", pages[i]);
    }
}
