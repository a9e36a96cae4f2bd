/* Acts as the user in a case: prompts, answers to questions, steps and every other intent. Also lets time pass. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "case.h"
#include "support/answers.h"
#include "support/turn_check.h"
#include "turn/turn.h"
#include <stdlib.h>
#include <string.h>

/* A user who answers questions automatically, `after` they were opened. */
static void answer_automatically(struct turn_rig *rig, const struct question *question)
{
    struct case_run *run = CONTAINER_OF(rig, struct case_run, rig);
    struct intent intent = strcmp(run->automatic, "yes") == 0  ? answer_yes(question)
                           : strcmp(run->automatic, "no") == 0 ? answer_no(question, NULL)
                                                               : (struct intent){.type = INTENT_CANCEL};
    const char *refusal = turn_check_submit(rig, &intent);
    if (*refusal)
        run->refusal = arena_strdup(&run->arena, refusal);
}

void case_do_auto(struct case_run *run, struct words *words)
{
    const char *after = case_take_option(words, 1, "after");
    case_check_count(run, words, 1, 1);
    run->automatic = words->item[1];
    bool off = strcmp(run->automatic, "off") == 0;
    if (!off && strcmp(run->automatic, "yes") != 0 && strcmp(run->automatic, "no") != 0 &&
        strcmp(run->automatic, "cancel") != 0)
        case_fail(run, "auto yes, no, cancel or off");
    run->rig.answer = off ? NULL : answer_automatically;
    run->rig.answer_after_us = after ? case_duration(run, after) : 0;
}

/* The answers to the open question; question=ID and digest=TEXT ("-": none) make a wrong one. */

static struct event_hunk_choice_list hunks_of(struct case_run *run, const char *path, const char *hunks, const char *of)
{
    struct event_hunk_choice *choice = arena_calloc(&run->arena, 1, sizeof(*choice));
    int64_t *keep = arena_calloc(&run->arena, strlen(hunks) + 1, sizeof(*keep));
    size_t count = 0;
    for (const char *at = hunks; strcmp(hunks, "none") != 0 && *at; at += strspn(at, ",")) {
        char *end;
        keep[count++] = strtoll(at, &end, 10);
        if (end == at)
            case_fail(run, "hunks=1,2 or hunks=none");
        at = end;
    }
    *choice = (struct event_hunk_choice){.path = path, .keep = {keep, count}, .of = (int64_t)case_number(run, of)};
    return (struct event_hunk_choice_list){choice, 1};
}

/* One file of the user's own version; freed with the run. */
static struct change_set *version_of(struct case_run *run, const char *path, const char *text, const char *mode)
{
    struct change_set *set = change_set_new();
    GROW(set->items, set->count, set->room);
    set->items[0] = (struct change){.path = xstrdup(path)};
    change_side_absent(&set->items[0].old);
    change_side_set(&set->items[0].new, text, strlen(text), mode ? (mode_t)strtoul(mode, NULL, 8) : 0644);
    set->count = 1;
    change_set_free(run->version);
    run->version = set;
    return set;
}

/* yes [without-undo] | no [REASON] | keep PATH hunks=1,2 of=N | edited PATH TEXT [mode=0600] */
static struct decision decision_of(struct case_run *run, struct words *words)
{
    const char *verb = words->item[0], *reason = case_take_option(words, 1, "reason");
    if (strcmp(verb, "yes") == 0) {
        case_check_count(run, words, 0, 1);
        if (words->item[1] && strcmp(words->item[1], "without-undo") != 0)
            case_fail(run, "yes [without-undo]");
        return (struct decision){.kind = DECISION_APPROVED, .without_undo = words->item[1] != NULL};
    }
    if (strcmp(verb, "no") == 0) {
        case_check_count(run, words, 0, 1);
        return (struct decision){.kind = DECISION_DENIED, .reason = words->item[1]};
    }
    if (strcmp(verb, "keep") == 0) {
        const char *hunks = case_take_option(words, 1, "hunks"), *of = case_take_option(words, 1, "of");
        case_check_count(run, words, 0, 1);
        struct decision decision = {.kind = DECISION_PARTIAL, .reason = reason};
        if (words->item[1] && hunks && of)
            decision.hunks = hunks_of(run, words->item[1], hunks, of);
        else if (words->item[1])
            case_fail(run, "keep PATH hunks=1,2 of=N");
        return decision;
    }
    const char *mode = case_take_option(words, 1, "mode");
    case_check_count(run, words, 2, 2);
    return (struct decision){
        .kind = DECISION_EDITED, .edited = version_of(run, words->item[1], words->item[2], mode), .reason = reason};
}

static struct intent answer_of(struct case_run *run, struct words *words)
{
    const struct question *question = engine_question(run->rig.engine);
    const char *id = case_take_option(words, 1, "question"), *digest = case_take_option(words, 1, "digest");
    if (!question && !(id && digest))
        case_fail(run, "no question is open (question=ID digest=TEXT answers another one)");
    struct intent intent = {.type = INTENT_ANSWER,
                            .answer = {.question = id ? id : question->id,
                                       .digest = digest ? digest : question->digest,
                                       .revision = question ? question->revision : 0,
                                       .decision = decision_of(run, words)}};
    if (id && strcmp(id, "-") == 0)
        intent.answer.question = NULL;
    if (digest && strcmp(digest, "-") == 0)
        intent.answer.digest = NULL;
    return intent;
}

/* recorded CALL approved | denied | edited | keep PATH hunks= of=: a decision as a recording would have it */
void case_do_recorded(struct case_run *run, struct words *words)
{
    case_check_closed(run, "recorded");
    case_check_count(run, words, 2, 5);
    const char *hunks = case_take_option(words, 3, "hunks"), *of = case_take_option(words, 3, "of");
    struct decision decision = {.kind = decision_from_name(words->item[2]), .by = BY_RECORDING};
    if (hunks && of && words->item[3])
        decision.hunks = hunks_of(run, words->item[3], hunks, of);
    if (decision.kind == DECISION_NONE)
        case_fail(run, "%s is no decision", words->item[2]);
    rules_record(run->rig.config.rules, 1, words->item[1], &decision);
}

static enum budget_key budget_key_of(struct case_run *run, const char *name)
{
    int key = budget_key_from_name(name);
    if (key < 0)
        case_fail(run, "there is no budget %s", name);
    return (enum budget_key)key;
}

static enum edit_what edit_what_of(struct case_run *run, const char *name)
{
    for (int what = EDIT_ARGUMENTS; what <= EDIT_PROMPT; what++)
        if (strcmp(edit_what_name((enum edit_what)what), name) == 0)
            return (enum edit_what)what;
    case_fail(run, "%s cannot be edited", name);
}

/* The intents of a user except answers: name, number of words, and the intent without them. */
static const struct {
    const char *name;
    size_t least, most;
    enum intent_type type;
} wishes[] = {
    {"prompt", 1, 1, INTENT_START},        {"step", 0, 0, INTENT_STEP},       {"step-over", 0, 0, INTENT_STEP_WAVE},
    {"continue", 0, 0, INTENT_CONTINUE},   {"pause", 0, 0, INTENT_PAUSE},     {"cancel", 0, 0, INTENT_CANCEL},
    {"break", 1, 1, INTENT_BREAK},         {"unbreak", 1, 1, INTENT_UNBREAK}, {"arm", 1, 1, INTENT_ENABLE_BREAK},
    {"disarm", 1, 1, INTENT_ENABLE_BREAK}, {"edit", 2, 2, INTENT_EDIT},       {"extend", 2, 2, INTENT_EXTEND},
    {"undo", 0, 1, INTENT_UNDO},           {"redo", 0, 1, INTENT_REDO},       {"attend", 0, 0, INTENT_TOUCH},
    {"serial", 1, 1, INTENT_SERIAL},       {"allow", 1, 2, INTENT_ALLOW},     {"revoke", 1, 2, INTENT_ALLOW},
    {"end-session", 0, 0, INTENT_END},     {"model", 1, 1, INTENT_MODEL},     {"go-on", 0, 0, INTENT_RESUME_TURN},
    {"yes", 0, 0, INTENT_ANSWER},          {"no", 0, 0, INTENT_ANSWER},       {"keep", 0, 0, INTENT_ANSWER},
    {"edited", 0, 0, INTENT_ANSWER},
};

static struct intent intent_of(struct case_run *run, size_t wish, struct words *words)
{
    struct intent intent = {.type = wishes[wish].type};
    if (intent.type == INTENT_ANSWER)
        return answer_of(run, words);
    case_check_count(run, words, wishes[wish].least, wishes[wish].most);
    const char *first = words->item[1], *second = words->count > 2 ? words->item[2] : NULL;
    switch (intent.type) {
    case INTENT_START:
        intent.start.prompt = first;
        break;
    case INTENT_BREAK:
        intent.breakpoint.spec = first;
        break;
    case INTENT_UNBREAK:
        intent.unbreak.id = (int)case_number(run, first);
        break;
    case INTENT_ENABLE_BREAK:
        intent.arm.id = (int)case_number(run, first);
        intent.arm.enabled = *words->item[0] == 'a';
        break;
    case INTENT_EDIT:
        intent.edit.what = edit_what_of(run, first);
        intent.edit.text = second;
        break;
    case INTENT_EXTEND:
        intent.extend.key = budget_key_of(run, first);
        if (strncmp(second, "to=", 3) == 0)
            intent.extend.to = case_number(run, second + 3);
        else
            intent.extend.share = case_number(run, second);
        break;
    case INTENT_UNDO:
    case INTENT_REDO:
        intent.undo.what = first;
        break;
    case INTENT_SERIAL:
        intent.serial.on = case_truth(run, first);
        break;
    case INTENT_ALLOW:
        intent.allow.tool = first;
        intent.allow.path = second;
        intent.allow.revoke = *words->item[0] == 'r';
        break;
    case INTENT_MODEL:
        intent.model.name = first;
        break;
    default:
        break;
    }
    return intent;
}

/* With `refused` below it: any refusal; refused TEXT: exactly this one; refused ~TEXT: one that contains the text. */
static void check_refusal(struct case_run *run, const char *refusal)
{
    struct words words;
    const char *text = run->line->text;
    case_split(run, text, &words);
    case_check_count(run, &words, 0, 1);
    const char *wanted = words.count > 1 ? words.item[1] : "~";
    if (!*refusal)
        case_fail(run, "it was taken");
    if (*wanted == '~' ? !strstr(refusal, wanted + 1) : strcmp(refusal, wanted) != 0)
        case_fail(run, "expected: %s\n    came: %s", wanted, refusal);
}

bool case_do_wish(struct case_run *run, struct words *words, const struct case_line *refused, bool from_hook)
{
    size_t wish = 0;
    while (wish < COUNT_OF(wishes) && strcmp(wishes[wish].name, words->item[0]) != 0)
        wish++;
    if (wish == COUNT_OF(wishes))
        return false;
    const char *how_long = case_take_option(words, 1, "for");
    struct intent intent = intent_of(run, wish, words);
    const char *refusal = turn_check_submit(&run->rig, &intent);
    if (refused) {
        run->line = run->refused = refused;
        check_refusal(run, refusal);
        return true;
    }
    if (*refusal)
        case_fail(run, "refused: %s", refusal);
    if (from_hook)
        return true;
    int64_t us = how_long ? case_duration(run, how_long) : -1;
    if (us > 0)
        turn_rig_run_for(&run->rig, us);
    else if (us < 0)
        turn_rig_run(&run->rig);
    return true;
}

void case_do_run(struct case_run *run, struct words *words)
{
    case_check_count(run, words, 0, 1);
    if (words->item[1])
        turn_rig_run_for(&run->rig, case_duration(run, words->item[1]));
    else
        turn_rig_run(&run->rig);
}

/* Repeats this step from gate to gate until the turn is over. */
void case_do_walk(struct case_run *run, struct words *words)
{
    struct held_view held;
    case_check_count(run, words, 1, 1);
    enum intent_type how = strcmp(words->item[1], "step") == 0        ? INTENT_STEP
                           : strcmp(words->item[1], "step-over") == 0 ? INTENT_STEP_WAVE
                                                                      : INTENT_CONTINUE;
    if (how == INTENT_CONTINUE && strcmp(words->item[1], "continue") != 0)
        case_fail(run, "walk step, step-over or continue");
    strbuf_reset(&run->walked);
    for (int i = 0; i < 100 && engine_held(run->rig.engine, &held); i++) {
        strbuf_addf(&run->walked, "%s%s%s%s", run->walked.len ? ", " : "", gate_name(held.gate), held.call ? " " : "",
                    held.call ? held.call : "");
        turn_check_do(&run->rig, how);
    }
}

static struct turn *killed[16]; /* turns that ran when their session was left: found by the leak checker */
static size_t killed_count;

/* Closes the session here, as a program would, and continues it from its journal. A turn that runs is left as by a
 * kill: engine_free does not free it. */
void case_do_resume(struct case_run *run, struct words *words)
{
    struct err err = ERR_INIT;
    case_check_count(run, words, 0, 0);
    if (!run->in_file)
        case_fail(run, "there is no journal file: `set journal file` makes one");
    if (run->rig.engine->turn && killed_count < COUNT_OF(killed))
        killed[killed_count++] = run->rig.engine->turn;
    engine_free(steal(&run->rig.engine));
    CLEANUP(free) char *path = scratch_path(&run->rig.scratch, "s.jsonl");
    struct journal_reader *reader = journal_open(path, &err);
    struct journal *journal = reader ? journal_resume(path, &run->rig.clock.base, &err) : NULL;
    if (journal)
        run->rig.engine = engine_resume(&run->rig.config, journal, reader, &run->rig.sink, &err);
    if (!run->rig.engine)
        case_fail(run, "%s", err.text);
    journal_reader_free(reader);
}
