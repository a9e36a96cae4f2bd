/* Prepares the situation of a case: files, tools, configuration, and the answers of the model. Also parses the values
 * of words, for all statements. */

#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "case.h"
#include "event/store.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- words ---- */

/* The value of KEY=VALUE among the words from `first` on, or NULL. Marks the word as used. */
const char *case_take_option(struct words *words, size_t first, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = first; i < words->count; i++)
        if (words->item[i] && strncmp(words->item[i], key, len) == 0 && words->item[i][len] == '=') {
            const char *value = words->item[i] + len + 1;
            words->count--;
            memmove(&words->item[i], &words->item[i + 1], (words->count - i + 1) * sizeof(words->item[0]));
            memmove(&words->len[i], &words->len[i + 1], (words->count - i) * sizeof(words->len[0]));
            return value;
        }
    return NULL;
}

void case_check_count(struct case_run *run, const struct words *words, size_t least, size_t most)
{
    if (words->count < least + 1 || words->count > most + 1)
        case_fail(run, "%s takes %zu to %zu words: %s is too much or missing", words->item[0], least, most,
                  words->count > most + 1 ? words->item[most + 1] : "one");
}

int64_t case_duration(struct case_run *run, const char *text)
{
    char *unit;
    double number = strtod(text, &unit);
    double scale = strcmp(unit, "s") == 0 ? 1e6 : strcmp(unit, "ms") == 0 ? 1e3 : strcmp(unit, "us") == 0 ? 1 : 0;
    if (unit == text || !(scale > 0))
        case_fail(run, "%s is no duration (10s, 500ms)", text);
    return (int64_t)(number * scale + 0.5);
}

double case_number(struct case_run *run, const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (!*text || *end)
        case_fail(run, "%s is no number", text);
    return number;
}

bool case_truth(struct case_run *run, const char *text)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        case_fail(run, "%s is neither true nor false", text);
    return *text == 't';
}

/* Settings of a harness, a fake tool or an answer: the kind of each value and its offset. */
enum value_kind { VALUE_BOOL, VALUE_INT, VALUE_INT64, VALUE_DOUBLE, VALUE_TEXT, VALUE_SECONDS, VALUE_MS, VALUE_US };
struct value_row {
    const char *name;
    size_t offset;
    enum value_kind kind;
};

static void store_value(struct case_run *run, void *base, const struct value_row *row, const char *text)
{
    void *at = (char *)base + row->offset;
    switch (row->kind) {
    case VALUE_BOOL:
        *(bool *)at = case_truth(run, text);
        break;
    case VALUE_INT:
        *(int *)at = (int)case_number(run, text);
        break;
    case VALUE_INT64:
        *(int64_t *)at = (int64_t)case_number(run, text);
        break;
    case VALUE_DOUBLE:
        *(double *)at = case_number(run, text);
        break;
    case VALUE_TEXT:
        *(const char **)at = strcmp(text, "-") == 0 ? NULL : text;
        break;
    case VALUE_SECONDS:
        *(double *)at = (double)case_duration(run, text) / 1e6;
        break;
    case VALUE_MS:
        *(int64_t *)at = case_duration(run, text) / 1000;
        break;
    case VALUE_US:
        *(int64_t *)at = strcmp(text, "forever") == 0 ? -1 : case_duration(run, text);
        break;
    }
}

static bool store_named(struct case_run *run, void *base, const struct value_row *rows, size_t count, const char *name,
                        const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) {
            store_value(run, base, &rows[i], text);
            return true;
        }
    return false;
}

/* Every word from `first` on must be KEY=VALUE of these rows. */
static void store_options(struct case_run *run, void *base, const struct value_row *rows, size_t count,
                          const struct words *words, size_t first)
{
    for (size_t i = first; i < words->count; i++) {
        char *value = strchr(words->item[i], '=');
        if (value)
            *value++ = '\0';
        if (!value || !store_named(run, base, rows, count, words->item[i], value))
            case_fail(run, "%s has no option %s", words->item[0], words->item[i]);
    }
}

/* ---- setting up ---- */

void case_check_closed(struct case_run *run, const char *what)
{
    if (run->rig.engine)
        case_fail(run, "%s comes before the first statement that needs the engine", what);
}

void case_do_set(struct case_run *run, struct words *words)
{
#define ROW(member) #member, offsetof(struct engine_config, member)
    static const struct value_row rows[] = {
        {ROW(interactive), VALUE_BOOL},
        {ROW(parallel), VALUE_BOOL},
        {ROW(reflect_on_tool_error), VALUE_BOOL},
        {ROW(select_tools), VALUE_BOOL},
        {ROW(show_citations), VALUE_BOOL},
        {ROW(project_instructions), VALUE_BOOL},
        {ROW(compact), VALUE_BOOL},
        {ROW(clock_runs_while_asking), VALUE_BOOL},
        {ROW(reflect_every), VALUE_INT64},
        {ROW(model_attempts), VALUE_INT},
        {ROW(model_jitter), VALUE_DOUBLE},
        {ROW(system_prompt), VALUE_TEXT},
        {"ask_timeout", offsetof(struct engine_config, ask_timeout_ms), VALUE_MS},
    };
#undef ROW
    struct engine_config *config = &run->rig.config;
    case_check_count(run, words, 2, 3);
    case_check_closed(run, "set");
    const char *name = words->item[1], *value = words->item[2];
    if (store_named(run, config, rows, COUNT_OF(rows), name, value))
        return;
    if (strcmp(name, "thinking") == 0) {
        config->thinking = thinking_level_from_name(value);
    } else if (strcmp(name, "limits") == 0) {
        struct budget_limits defaults = budget_defaults_for(strcmp(value, "interactive") == 0);
        budget_limits_fill(&config->limits, &defaults);
    } else if (strcmp(name, "web") == 0 && web_mode_from_name(value) >= 0) {
        config->web = (enum web_mode)web_mode_from_name(value);
    } else if (strcmp(name, "rules") == 0 && rule_mode_from_name(value) >= 0) {
        rules_free(config->rules);
        bool nobody = words->item[3] && strcmp(words->item[3], "nobody-there") == 0;
        config->rules = rules_new((enum rule_mode)rule_mode_from_name(value), !nobody);
        if (words->item[3] && !nobody && strcmp(words->item[3], "somebody-there") != 0)
            case_fail(run, "set rules MODE [nobody-there]");
    } else if (strcmp(name, "checkpoints") == 0 && strcmp(value, "off") == 0) {
        run->checkpoints = steal(&config->checkpoints);
    } else if (strcmp(name, "artifacts") == 0 && strcmp(value, "off") == 0) {
        run->artifacts = steal(&config->artifacts);
    } else if (strcmp(name, "journal") == 0 && strcmp(value, "file") == 0) {
        run->in_file = true;
    } else if (strcmp(name, "store") == 0 && strcmp(value, "memory") == 0) {
        config->store = store_open(":memory:", NULL);
        config->hooks = finalize_store_hooks(config->store, true);
    } else {
        case_fail(run, "there is nothing to set called %s, or it cannot be %s", name, value);
    }
}

void case_do_secret(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 2, 2);
    redact_add(words->item[1], words->item[2]);
}

void case_do_limit(struct case_run *run, struct words *words)
{
    struct err err = ERR_INIT;
    case_check_count(run, words, 2, 2);
    case_check_closed(run, "limit");
    if (budget_limits_set(&run->rig.config.limits, arena_printf(&run->arena, "%s=%s", words->item[1], words->item[2]),
                          &err) < 0)
        case_fail(run, "%s", err.text);
}

void case_do_file(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 2, 2);
    CLEANUP(free) char *name = xasprintf("work/%s", words->item[1]);
    scratch_write_bytes(&run->rig.scratch, name, words->item[2], words->len[2]);
}

void case_do_folder(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 1, 1);
    CLEANUP(free) char *name = xasprintf("work/%s", words->item[1]);
    scratch_mkdir(&run->rig.scratch, name);
}

void case_do_remove(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 1, 1);
    CLEANUP(free) char *name = xasprintf("work/%s", words->item[1]);
    if (!scratch_exists(&run->rig.scratch, name))
        case_fail(run, "there is no %s", words->item[1]);
    scratch_remove(&run->rig.scratch, name);
}

/* link PATH TARGET, hard-link PATH OTHER, rename PATH OTHER, chmod PATH MODE */
void case_do_name(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 2, 2);
    const char *verb = words->item[0], *second = words->item[2];
    CLEANUP(free) char *path = case_path(run, words->item[1]), *other = case_path(run, second);
    int done = strcmp(verb, "link") == 0        ? symlink(second, path)
               : strcmp(verb, "hard-link") == 0 ? link(path, other)
               : strcmp(verb, "rename") == 0    ? rename(path, other)
                                                : chmod(path, (mode_t)strtoul(second, NULL, 8));
    if (done < 0)
        case_fail(run, "%s: %s", verb, strerror(errno));
}

/* tool NAME EFFECT KEY=VALUE … creates a tool, tool NAME KEY=VALUE … changes it. */
void case_do_tool(struct case_run *run, struct words *words)
{
#define ROW(member)  #member, offsetof(struct fake_tool, member)
#define SPEC(member) offsetof(struct fake_tool, tool.spec.member)
    static const struct value_row rows[] = {
        {"takes", offsetof(struct fake_tool, takes_ms), VALUE_MS},
        {"confirmed_takes", offsetof(struct fake_tool, confirmed_ms), VALUE_MS},
        {ROW(output), VALUE_TEXT},
        {ROW(error), VALUE_TEXT},
        {ROW(final), VALUE_BOOL},
        {ROW(hangs), VALUE_BOOL},
        {ROW(confirmed_hangs), VALUE_BOOL},
        {ROW(heeds_cancel), VALUE_BOOL},
        {ROW(always_asks), VALUE_BOOL},
        {ROW(path), VALUE_TEXT},
        {ROW(text), VALUE_TEXT},
        {ROW(path2), VALUE_TEXT},
        {ROW(text2), VALUE_TEXT},
        {ROW(cites), VALUE_TEXT},
        {ROW(says), VALUE_TEXT},
        {"timeout", SPEC(timeout_s), VALUE_SECONDS},
        {"no_retry", SPEC(no_retry_on_timeout), VALUE_BOOL},
        {"description", SPEC(description), VALUE_TEXT},
    };
#undef ROW
#undef SPEC
    static const char *const asking[] = {"nothing", "proposes", "field", "error", "message"};
    case_check_count(run, words, 1, WORDS_MAX - 1);
    struct case_tool *tool = case_tool_find(run, words->item[1]);
    size_t first = tool ? 2 : 3;
    if (!tool) {
        case_check_closed(run, "a new tool");
        case_check_count(run, words, 2, WORDS_MAX - 1);
        enum effect effect = effect_from_name(words->item[2]);
        if (effect == EFFECT_UNKNOWN && strcmp(words->item[2], "UNKNOWN") != 0)
            case_fail(run, "%s is no effect", words->item[2]);
        tool = xcalloc(1, sizeof(*tool));
        tool->name = arena_strdup(&run->arena, words->item[1]);
        fake_tool_init(&tool->fake, tool->name, effect);
        tool->next = run->tools;
        run->tools = tool;
        turn_rig_add_tool(&run->rig, &tool->fake.tool);
    }
    const char *on_pool = case_take_option(words, first, "on_pool"), *asks = case_take_option(words, first, "asks");
    if (on_pool && case_truth(run, on_pool))
        fake_tool_on_pool(&tool->fake);
    for (size_t i = 0; asks && i <= COUNT_OF(asking); i++) {
        if (i == COUNT_OF(asking))
            case_fail(run, "a tool cannot ask by %s", asks);
        if (strcmp(asks, asking[i]) == 0) {
            tool->fake.asks = (enum fake_asking)i;
            break;
        }
    }
    store_options(run, &tool->fake, rows, COUNT_OF(rows), words, first);
}

/* Returns from the tools that hang. */
void case_do_let_go(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 1, 1);
    struct case_tool *tool = case_tool_find(run, words->item[1]);
    if (!tool)
        case_fail(run, "there is no fake tool %s", words->item[1]);
    fake_tool_let_go(&tool->fake);
    turn_rig_run(&run->rig);
}

/* ---- the model ---- */

void case_do_answer(struct case_run *run, struct words *words)
{
#define ROW(member) #member, offsetof(struct fake_answer, member)
    static const struct value_row rows[] = {
        {ROW(text), VALUE_TEXT},
        {ROW(thinking), VALUE_TEXT},
        {ROW(opaque), VALUE_TEXT},
        {ROW(error), VALUE_TEXT},
        {ROW(stop), VALUE_TEXT},
        {ROW(retryable), VALUE_BOOL},
        {ROW(too_long), VALUE_BOOL},
        {"cost", offsetof(struct fake_answer, cost_usd), VALUE_DOUBLE},
        {"takes", offsetof(struct fake_answer, takes_us), VALUE_US},
        {"retry_after", offsetof(struct fake_answer, retry_after_ms), VALUE_MS},
        {"input", offsetof(struct fake_answer, usage.input), VALUE_INT64},
        {"output", offsetof(struct fake_answer, usage.output), VALUE_INT64},
    };
#undef ROW
    struct fake_provider *model = run->rig.model;
    run->answer =
        strcmp(words->item[0], "reflection") == 0 ? fake_provider_reflection(model) : fake_provider_answer(model);
    store_options(run, run->answer, rows, COUNT_OF(rows), words, 1);
}

/* call ID TOOL JSON, part of the answer above; ID "-": the next of c1, c2 … */
void case_do_call(struct case_run *run, const char *text)
{
    struct words words;
    const char *arguments = case_split_raw(run, text, 3, &words);
    case_check_count(run, &words, 2, 2);
    if (!run->answer)
        case_fail(run, "a call belongs below an answer");
    fake_answer_call(run->answer, strcmp(words.item[1], "-") == 0 ? NULL : words.item[1], words.item[2], arguments);
    run->answer->calls[run->answer->call_count - 1].incomplete = strcmp(words.item[0], "cut-call") == 0;
}

void case_do_delta(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 1, WORDS_MAX - 1);
    if (!run->answer)
        case_fail(run, "a delta belongs below an answer");
    const char **pieces = arena_calloc(&run->arena, words->count, sizeof(*pieces));
    for (size_t i = 1; i < words->count; i++)
        pieces[i - 1] = words->item[i];
    run->answer->deltas = pieces;
}
