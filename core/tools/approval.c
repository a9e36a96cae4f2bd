/* Who answers: the recording, a rule of the session, the mode. An empty change set is a foreign tool's wish to write we
 * know not what, so no rule about a path ever covers it, but only one about such calls of this very tool. */

#include "approval.h"
#include "base/mem.h"
#include "protected.h"
#include <string.h>

struct rule {
    char *tool, *path; /* no path: calls that show no file */
};

struct recorded {
    int64_t turn;
    char *call;
    struct verdict verdict;
    bool used;
};

struct approval {
    enum approve_mode mode;
    bool somebody_there;
    struct rule *rules;
    size_t rule_count, rule_room;
    struct recorded *recorded;
    size_t recorded_count, recorded_room;
};

int approve_mode_from_name(const char *name)
{
    static const char *const names[] = {[APPROVE_ASK] = "ask", [APPROVE_DENY] = "deny", [APPROVE_ALLOW] = "allow"};
    for (size_t i = 0; name && i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}

static const char *const decision_names[] = {
    [DECISION_NONE] = "",           [DECISION_APPROVED] = "approved", [DECISION_DENIED] = "denied",
    [DECISION_PARTIAL] = "partial", [DECISION_EDITED] = "edited",     [DECISION_EXPIRED] = "expired",
};

const char *decision_name(enum decision decision)
{
    return (size_t)decision < COUNT_OF(decision_names) ? decision_names[decision] : "";
}

enum decision decision_from_name(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(decision_names); i++)
        if (strcmp(name, decision_names[i]) == 0)
            return (enum decision)i;
    return DECISION_NONE;
}

const char *decider_name(enum decider by)
{
    static const char *const names[] = {
        [BY_KEY] = "key", [BY_POLICY] = "policy", [BY_RECORDING] = "recording", [BY_TIMEOUT] = "timeout"};
    return (size_t)by < COUNT_OF(names) ? names[by] : "";
}

struct approval *approval_new(enum approve_mode mode, bool somebody_there)
{
    struct approval *approval = xcalloc(1, sizeof(*approval));
    approval->mode = mode;
    approval->somebody_there = somebody_there;
    return approval;
}

static void free_rule(struct rule *rule)
{
    free(rule->tool);
    free(rule->path);
}

void approval_free(struct approval *approval)
{
    if (!approval)
        return;
    for (size_t i = 0; i < approval->rule_count; i++)
        free_rule(&approval->rules[i]);
    free(approval->rules);
    for (size_t i = 0; i < approval->recorded_count; i++) {
        free(approval->recorded[i].call);
        verdict_release(&approval->recorded[i].verdict);
    }
    free(approval->recorded);
    free(approval);
}

static struct rule *find_rule(const struct approval *approval, const char *tool, const char *path)
{
    for (size_t i = 0; i < approval->rule_count; i++) {
        struct rule *rule = &approval->rules[i];
        bool same = rule->path && path ? strcmp(rule->path, path) == 0 : !rule->path && !path;
        if (same && strcmp(rule->tool, tool) == 0)
            return rule;
    }
    return NULL;
}

void approval_allow(struct approval *approval, const char *tool, const char *path)
{
    if (find_rule(approval, tool, path))
        return;
    GROW(approval->rules, approval->rule_count, approval->rule_room);
    approval->rules[approval->rule_count++] = (struct rule){xstrdup(tool), path ? xstrdup(path) : NULL};
}

bool approval_revoke(struct approval *approval, const char *tool, const char *path)
{
    struct rule *rule = find_rule(approval, tool, path);
    if (!rule)
        return false;
    free_rule(rule);
    *rule = approval->rules[--approval->rule_count];
    return true;
}

void approval_forget(struct approval *approval, const char *tool)
{
    size_t kept = 0;
    for (size_t i = 0; i < approval->rule_count; i++) {
        if (strcmp(approval->rules[i].tool, tool) == 0)
            free_rule(&approval->rules[i]);
        else
            approval->rules[kept++] = approval->rules[i];
    }
    approval->rule_count = kept;
}

void approval_record(struct approval *approval, int64_t turn, const char *call, const struct verdict *verdict)
{
    GROW(approval->recorded, approval->recorded_count, approval->recorded_room);
    approval->recorded[approval->recorded_count++] =
        (struct recorded){.turn = turn, .call = xstrdup(call), .verdict = verdict_copy(verdict)};
}

/* The next recorded answer of the call, once each. */
static struct recorded *next_recorded(struct approval *approval, int64_t turn, const char *call)
{
    for (size_t i = 0; i < approval->recorded_count; i++) {
        struct recorded *recorded = &approval->recorded[i];
        if (!recorded->used && recorded->turn == turn && strcmp(recorded->call, call) == 0)
            return recorded;
    }
    return NULL;
}

static bool rules_cover(const struct approval *approval, const char *tool, const struct change_set *set)
{
    if (!set || !set->count)
        return find_rule(approval, tool, NULL) != NULL;
    for (size_t i = 0; i < set->count; i++)
        if (!find_rule(approval, tool, set->items[i].path))
            return false;
    return true;
}

static struct verdict by_policy(enum decision decision, const char *reason)
{
    return (struct verdict){.decision = decision, .by = BY_POLICY, .reason = reason ? xstrdup(reason) : NULL};
}

/* Nothing that was said before counts for a protected place, except a no. */
static struct verdict judge_protected(const struct approval *approval, const struct change *change, const char *named,
                                      bool *nobody)
{
    if (approval->somebody_there && approval->mode == APPROVE_DENY)
        return by_policy(DECISION_DENIED, "this session refuses every write");
    if (approval->somebody_there)
        return (struct verdict){.decision = DECISION_NONE};
    if (nobody)
        *nobody = true;
    CLEANUP(free)
    char *reason =
        change
            ? xasprintf("%.300s is protected (%s): only a person can approve a write there, and there is none to ask",
                        change->path, change->guard->why)
            : xasprintf("this call %s: only a person can approve it, and there is none to ask", named);
    return by_policy(DECISION_DENIED, reason);
}

struct verdict approval_judge(struct approval *approval, int64_t turn, const char *call, const char *tool,
                              const struct change_set *set, const char *named, bool *nobody)
{
    if (nobody)
        *nobody = false;
    const struct change *change = protected_in(set);
    struct recorded *recorded = next_recorded(approval, turn, call);
    bool denies =
        recorded && (recorded->verdict.decision == DECISION_DENIED || recorded->verdict.decision == DECISION_EXPIRED);
    if (recorded)
        recorded->used = true;
    if ((change || named) && !denies)
        return judge_protected(approval, change, named, nobody);
    if (recorded) {
        struct verdict verdict = verdict_copy(&recorded->verdict);
        verdict.by = BY_RECORDING;
        return verdict;
    }
    if (rules_cover(approval, tool, set))
        return by_policy(DECISION_APPROVED, NULL);
    switch (approval->mode) {
    case APPROVE_ALLOW:
        return by_policy(DECISION_APPROVED, NULL);
    case APPROVE_DENY:
        return by_policy(DECISION_DENIED, "this session refuses every write");
    case APPROVE_ASK:
        break;
    }
    if (approval->somebody_there)
        return (struct verdict){.decision = DECISION_NONE};
    if (nobody)
        *nobody = true;
    return by_policy(DECISION_DENIED, "nobody is there to be asked");
}
