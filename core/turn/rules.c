/* Decides writes by rule: session rules, recorded decisions, the mode. An empty change set is a foreign tool that
 * writes something unknown: no rule about a path covers it, only a rule about such calls of this tool. */

#include "rules.h"
#include "base/mem.h"
#include "tools/protected.h"
#include <string.h>

struct recorded {
    int64_t turn;
    char *call;
    struct decision decision;
    bool used;
};

struct rules {
    enum rule_mode mode;
    bool interactive;
    struct rule *items;
    size_t count, room;
    struct recorded *recorded;
    size_t recorded_count, recorded_room;
};

int rule_mode_from_name(const char *name)
{
    static const char *const names[] = {[RULES_ASK] = "ask", [RULES_DENY] = "deny", [RULES_ALLOW] = "allow"};
    for (size_t i = 0; name && i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}

struct rules *rules_new(enum rule_mode mode, bool interactive)
{
    struct rules *rules = xcalloc(1, sizeof(*rules));
    rules->mode = mode;
    rules->interactive = interactive;
    return rules;
}

static void free_rule(struct rule *rule)
{
    free(rule->tool);
    free(rule->path);
}

void rules_free(struct rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->count; i++)
        free_rule(&rules->items[i]);
    free(rules->items);
    for (size_t i = 0; i < rules->recorded_count; i++) {
        free(rules->recorded[i].call);
        decision_release(&rules->recorded[i].decision);
    }
    free(rules->recorded);
    free(rules);
}

static struct rule *find_rule(const struct rules *rules, const char *tool, const char *path)
{
    for (size_t i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->items[i];
        bool same = rule->path && path ? strcmp(rule->path, path) == 0 : !rule->path && !path;
        if (same && strcmp(rule->tool, tool) == 0)
            return rule;
    }
    return NULL;
}

void rules_allow(struct rules *rules, const char *tool, const char *path)
{
    if (find_rule(rules, tool, path))
        return;
    GROW(rules->items, rules->count, rules->room);
    rules->items[rules->count++] = (struct rule){xstrdup(tool), path ? xstrdup(path) : NULL};
}

bool rules_revoke(struct rules *rules, const char *tool, const char *path)
{
    struct rule *rule = find_rule(rules, tool, path);
    if (!rule)
        return false;
    free_rule(rule);
    size_t behind = (size_t)(rules->items + rules->count - rule - 1);
    memmove(rule, rule + 1, behind * sizeof(*rule));
    rules->count--;
    return true;
}

void rules_forget(struct rules *rules, const char *tool)
{
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        if (strcmp(rules->items[i].tool, tool) == 0)
            free_rule(&rules->items[i]);
        else
            rules->items[kept++] = rules->items[i];
    }
    rules->count = kept;
}

size_t rules_count(const struct rules *rules)
{
    return rules->count;
}

const struct rule *rules_at(const struct rules *rules, size_t index)
{
    return &rules->items[index];
}

void rules_record(struct rules *rules, int64_t turn, const char *call, const struct decision *decision)
{
    GROW(rules->recorded, rules->recorded_count, rules->recorded_room);
    rules->recorded[rules->recorded_count++] =
        (struct recorded){.turn = turn, .call = xstrdup(call), .decision = decision_copy(decision)};
}

/* The next recorded answer of the call; each is used once. */
static struct recorded *next_recorded(struct rules *rules, int64_t turn, const char *call)
{
    for (size_t i = 0; i < rules->recorded_count; i++) {
        struct recorded *recorded = &rules->recorded[i];
        if (!recorded->used && recorded->turn == turn && strcmp(recorded->call, call) == 0)
            return recorded;
    }
    return NULL;
}

static bool covered(const struct rules *rules, const char *tool, const struct change_set *set)
{
    if (!set || !set->count)
        return find_rule(rules, tool, NULL) != NULL;
    for (size_t i = 0; i < set->count; i++)
        if (!find_rule(rules, tool, set->items[i].path))
            return false;
    return true;
}

static struct decision deny(const char *reason)
{
    return decision_copy(&(struct decision){.kind = DECISION_DENIED, .by = BY_POLICY, .reason = reason});
}

/* For a protected path no earlier decision counts, except a denial. */
static struct decision decide_protected(const struct rules *rules, const struct change *change, const char *named,
                                        bool *no_person)
{
    if (rules->interactive)
        return rules->mode == RULES_DENY ? deny("this session denies every write (--approve deny)")
                                         : (struct decision){.kind = DECISION_NONE};
    *no_person = true;
    CLEANUP(free)
    char *reason =
        change ? xasprintf(
                     "%.300s is protected (%s): a write there needs a person's approval, and no terminal is attached",
                     change->path, change->guard->why)
               : xasprintf("this call %s: it needs a person's approval, and no terminal is attached", named);
    return deny(reason);
}

struct decision rules_decide(struct rules *rules, const struct rule_subject *subject, bool *no_person)
{
    const struct change *protected = protected_in(subject->changes);
    struct recorded *recorded = next_recorded(rules, subject->turn, subject->call);
    *no_person = false;
    if (recorded)
        recorded->used = true;
    if ((protected || subject->named) && !(recorded && decision_denies(&recorded->decision)))
        return decide_protected(rules, protected, subject->named, no_person);
    if (recorded) {
        struct decision decision = decision_copy(&recorded->decision);
        decision.by = BY_RECORDING;
        return decision;
    }
    if (rules->mode == RULES_ALLOW || covered(rules, subject->tool, subject->changes))
        return (struct decision){.kind = DECISION_APPROVED, .by = BY_POLICY};
    if (rules->mode == RULES_DENY)
        return deny("this session denies every write (--approve deny)");
    if (rules->interactive)
        return (struct decision){.kind = DECISION_NONE};
    *no_person = true;
    return deny("no user is present to approve it");
}
