/* Runs cases: each statement prepares something, acts as the user, or checks a result.
 *
 *     case_runner [--story] FILE.case ['name of a case*']        --story also prints the events
 *
 * The first statement that needs the engine opens it; a setup statement after that is an error. A statement that acts
 * runs the loop until nothing more can happen, or for=DURATION. Each case ends with the checks of turn_check.h and an
 * idle engine. */

#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "case.h"
#include "event/store.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINE_MAX_SHOWN 300 /* bytes of an event in a story: its first fields */

static void run_line(struct case_run *run, const struct case_line *line, const char *text, bool from_hook);

void case_fail(struct case_run *run, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    print_error("%s:%d: %s\n%s\n", run->file->path, run->line->number, run->line->text, text.buf);
    run->explained = true;
    _fail(run->file->path, run->line->number);
    abort(); /* _fail does not return */
}

/* Prints the events since the last statement, below that statement. */
static void print_story(const struct case_run *run)
{
    size_t event = 0;
    for (size_t i = 0; i <= run->mark_count; i++) {
        size_t until = i < run->mark_count ? run->marks[i].events : run->rig.event_count;
        for (; event < until; event++) {
            const struct event *told = &run->rig.events[event];
            const char *type = memmem(told->raw, told->raw_len, "\"turn\":", 7);
            size_t len = told->raw_len - (size_t)(type - told->raw);
            fprintf(stderr, "    #%zu %.3fs %.*s%s\n", event + 1, (double)told->t / 1e6,
                    (int)(len < LINE_MAX_SHOWN ? len : LINE_MAX_SHOWN), type, len < LINE_MAX_SHOWN ? "" : " …");
        }
        if (i < run->mark_count)
            fprintf(stderr, "  %d: %s\n", run->marks[i].line->number, run->marks[i].line->text);
    }
}

static bool begins_with(const char *text, const char *word)
{
    size_t len = strlen(word);
    return strncmp(text, word, len) == 0 && (!text[len] || text[len] == ' ');
}

/* ---- hooks ---- */

static void run_hook(struct loop_task *task)
{
    struct case_hook *hook = CONTAINER_OF(task, struct case_hook, task);
    run_line(hook->run, hook->line, hook->statement, true);
}

static bool is_of_files(const char *statement)
{
    static const char *const verbs[] = {"file", "remove", "link", "rename", "chmod"};
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (begins_with(statement, verbs[i]))
            return true;
    return false;
}

/* Files change at once, as if another program wrote them; actions of the user come from the loop. */
static void on_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct case_run *run = CONTAINER_OF(sink, struct case_run, sink);
    (void)session;
    for (struct case_hook *hook = run->hooks; hook; hook = hook->next) {
        if (hook->done || hook->type != event->type)
            continue;
        hook->done = true;
        if (is_of_files(hook->statement))
            run_line(run, hook->line, hook->statement, true);
        else
            loop_post(run->rig.loop, &hook->task, run_hook);
    }
}

static void open_engine(struct case_run *run)
{
    if (run->rig.engine)
        return;
    run->sink = (struct sink){.event = on_event};
    run->rig.sink.next = &run->sink;
    CLEANUP(free) char *path = scratch_path(&run->rig.scratch, "s.jsonl");
    turn_check_open(&run->rig, run->in_file ? path : NULL);
}

/* ---- statements ---- */

static void do_on(struct case_run *run, const struct case_line *line, const char *text)
{
    struct words words;
    struct case_hook *hook = arena_calloc(&run->arena, 1, sizeof(*hook));
    const char *statement = case_split_raw(run, text, 2, &words);
    case_check_count(run, &words, 1, 1);
    *hook = (struct case_hook){.run = run,
                               .type = case_event_type(run, words.item[1]),
                               .line = line,
                               .statement = statement,
                               .next = run->hooks};
    run->hooks = hook;
}

/* let NAME TEXT [times=N] */
static void do_let(struct case_run *run, struct words *words)
{
    const char *times = case_take_option(words, 2, "times");
    case_check_count(run, words, 2, 2);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int i = times ? (int)case_number(run, times) : 1; i > 0; i--)
        strbuf_addstr(&text, words->item[2]);
    case_set(run, words->item[1], text.buf);
}

static const struct {
    const char *name;
    void (*run)(struct case_run *run, struct words *words);
    bool needs_engine;
} statements[] = {
    {"set", case_do_set, false},
    {"limit", case_do_limit, false},
    {"file", case_do_file, false},
    {"folder", case_do_folder, false},
    {"remove", case_do_remove, false},
    {"link", case_do_name, false},
    {"hard-link", case_do_name, false},
    {"rename", case_do_name, false},
    {"chmod", case_do_name, false},
    {"tool", case_do_tool, false},
    {"answer", case_do_answer, false},
    {"reflection", case_do_answer, false},
    {"delta", case_do_delta, false},
    {"auto", case_do_auto, false},
    {"recorded", case_do_recorded, false},
    {"let", do_let, false},
    {"run", case_do_run, true},
    {"walk", case_do_walk, true},
    {"resume", case_do_resume, true},
    {"secret", case_do_secret, false},
    {"let-go", case_do_let_go, true},
};

static const struct case_line *refusal_below(const struct case_run *run, const struct case_line *line)
{
    const struct case_line *next = line + 1;
    return next < run->block_end && begins_with(next->text, "refused") ? next : NULL;
}

static void run_line(struct case_run *run, const struct case_line *line, const char *text, bool from_hook)
{
    struct words words;
    run->line = line;
    if (begins_with(text, "call") || begins_with(text, "cut-call")) {
        case_do_call(run, text);
        return;
    }
    if (begins_with(text, "on")) {
        do_on(run, line, text);
        return;
    }
    case_split(run, text, &words);
    for (size_t i = 0; i < COUNT_OF(statements); i++)
        if (strcmp(statements[i].name, words.item[0]) == 0) {
            if (statements[i].needs_engine)
                open_engine(run);
            statements[i].run(run, &words);
            return;
        }
    open_engine(run);
    if (strcmp(words.item[0], "expect") == 0) {
        case_expect(run, &words);
        return;
    }
    if (strcmp(words.item[0], "remember") == 0) {
        case_remember(run, &words);
        return;
    }
    if (!case_do_wish(run, &words, from_hook ? NULL : refusal_below(run, line), from_hook))
        case_fail(run, "unknown statement %s", words.item[0]);
}

/* The position of this line in the story. Lines of a loop have one for each event. */
static void mark_story(struct case_run *run, const struct case_line *line)
{
    for (size_t i = run->mark_count; i > 0 && run->marks[i - 1].events == run->rig.event_count; i--)
        if (run->marks[i - 1].line == line)
            return;
    GROW(run->marks, run->mark_count, run->mark_room);
    run->marks[run->mark_count++] = (struct case_mark){line, run->rig.event_count};
}

static void run_lines(struct case_run *run, const struct case_line *lines, size_t count);

/* for NAME FROM..TO … end */
static size_t run_loop(struct case_run *run, const struct case_line *lines, size_t count)
{
    struct words words;
    size_t end = 1;
    int from, to;
    case_split(run, lines[0].text, &words);
    if (words.count != 3 || sscanf(words.item[2], "%d..%d", &from, &to) != 2)
        case_fail(run, "for NAME FROM..TO");
    while (end < count && strcmp(lines[end].text, "end") != 0)
        end++;
    if (end == count)
        case_fail(run, "no end");
    for (int i = from; i <= to; i++) {
        case_set(run, words.item[1], arena_printf(&run->arena, "%d", i));
        run_lines(run, lines + 1, end - 1);
    }
    return end;
}

static void run_lines(struct case_run *run, const struct case_line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = lines[i].text;
        run->line = &lines[i];
        run->block_end = lines + count;
        if (begins_with(text, "refused")) { /* set by the line above, if that line can be refused */
            if (run->refused != &lines[i])
                case_fail(run, "refused stands below what the user wants");
            continue;
        }
        mark_story(run, &lines[i]);
        if (begins_with(text, "for")) {
            i += run_loop(run, lines + i, count - i);
        } else if (begins_with(text, "use")) {
            const struct case_block *setup = case_file_setup(run->file, text + strlen("use "));
            if (!setup)
                case_fail(run, "there is no setup %s", text + strlen("use "));
            run_lines(run, setup->lines, setup->count);
        } else {
            run_line(run, &lines[i], text, false);
        }
    }
}

/* The table of a case: `with NAME …`, and a line `| VALUE …` for each run. */
static size_t table_rows(const struct case_block *block)
{
    size_t rows = 0;
    while (block->count > rows + 1 && begins_with(block->lines[0].text, "with") &&
           block->lines[rows + 1].text[0] == '|')
        rows++;
    return rows;
}

static void set_row(struct case_run *run)
{
    struct words names, values;
    run->line = run->row;
    case_split(run, run->block->lines[0].text, &names);
    case_split(run, run->row->text, &values);
    if (names.count != values.count)
        case_fail(run, "%zu values for %zu names", values.count - 1, names.count - 1);
    for (size_t i = 1; i < names.count; i++)
        case_set(run, names.item[i], values.item[i]);
}

static void end_case(struct case_run *run)
{
    struct engine_config *config = &run->rig.config;
    if (run->refusal)
        case_fail(run, "an automatic answer was refused: %s", run->refusal);
    for (const struct case_hook *hook = run->hooks; hook; hook = hook->next)
        if (!hook->done) {
            run->line = hook->line;
            case_fail(run, "this never happened");
        }
    if (!run->rig.engine)
        case_fail(run, "nothing was done");
    turn_check_promises(&run->rig, true);
    if (!engine_idle(run->rig.engine))
        case_fail(run, "something is still under way: finish the turn");
    for (const struct case_tool *tool = run->tools; tool; tool = tool->next)
        if (tool->fake.executions != tool->fake.finished)
            case_fail(run, "the tool %s still runs", tool->name);
    turn_check_checkpoints(&run->rig);
    engine_free(steal(&run->rig.engine));
    if (run->checkpoints)
        config->checkpoints = run->checkpoints;
    if (run->artifacts)
        config->artifacts = run->artifacts;
    if (config->store)
        store_close(config->store);
}

static void run_case(void **state)
{
    struct case_run *run = *state;
    size_t rows = table_rows(run->block);
    turn_rig_init(&run->rig);
    run_lines(run, run->file->all.lines, run->file->all.count);
    if (run->row)
        set_row(run);
    run_lines(run, run->block->lines + (rows ? rows + 1 : 0), run->block->count - (rows ? rows + 1 : 0));
    if (run->story)
        print_story(run);
    end_case(run);
    run->finished = true;
}

/* A failed case does not shut its engine down; it prints the story instead. */
static int release_case(void **state)
{
    struct case_run *run = *state;
    if (!run->finished) {
        if (!run->explained && run->line)
            fprintf(stderr, "%s:%d: %s\n", run->file->path, run->line->number, run->line->text);
        fprintf(stderr, "What happened:\n");
        print_story(run);
        scratch_release(&run->rig.scratch);
        return 0;
    }
    turn_rig_release(&run->rig);
    for (struct case_tool *tool; (tool = run->tools);) {
        run->tools = tool->next;
        fake_tool_release(&tool->fake);
        free(tool);
    }
    change_set_free(run->version);
    redact_forget();
    strbuf_release(&run->walked);
    free(run->marks);
    arena_release(&run->arena);
    return 0;
}

int main(int argc, char **argv)
{
    bool story = argc > 1 && (strcmp(argv[1], "--story") == 0 || strcmp(argv[1], "-v") == 0);
    if (argc < 2 + story) {
        fprintf(stderr, "usage: %s [--story] FILE.case [NAME]\n", argv[0]);
        return 2;
    }
    struct case_file file;
    case_file_read(&file, argv[1 + story]);
    if (argc > 2 + story)
        cmocka_set_test_filter(argv[2 + story]);
    size_t count = 0, room = 0;
    CLEANUP(free) struct CMUnitTest *tests = NULL;
    for (size_t i = 0; i < file.case_count; i++) {
        const struct case_block *block = &file.cases[i];
        size_t rows = table_rows(block);
        for (size_t row = 0; row < (rows ? rows : 1); row++) {
            struct case_run *run = xcalloc(1, sizeof(*run));
            *run = (struct case_run){
                .file = &file, .block = block, .row = rows ? &block->lines[row + 1] : NULL, .story = story};
            strbuf_init(&run->walked);
            GROW(tests, count, room);
            tests[count++] = (struct CMUnitTest){
                .name = rows ? xasprintf("%s %s", block->name, block->lines[row + 1].text) : xstrdup(block->name),
                .test_func = run_case,
                .teardown_func = release_case,
                .initial_state = run};
        }
    }
    const char *slash = strrchr(file.path, '/');
    int failed = _cmocka_run_group_tests(slash ? slash + 1 : file.path, tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        free((char *)tests[i].name);
        free(tests[i].initial_state);
    }
    case_file_release(&file);
    return failed;
}
