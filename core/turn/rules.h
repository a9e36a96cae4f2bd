#pragma once
/* Who decides about a write: what the user allowed for this session, what a recording holds, the mode. This module
 * never judges whether a change is good: it says who answers, and holds what was answered before.
 *
 * Order: a recorded decision for this very call (replay), a rule of the session (`A`: this tool on this path, or its
 * calls that no diff can be shown of), the mode. A protected place (protected.def) comes before all of them: only a
 * person approves a write there, each time. */

#include "decision.h"

enum rule_mode {
    RULES_ASK, /* a person; denied when there is none */
    RULES_DENY,
    RULES_ALLOW,
};
int rule_mode_from_name(const char *name); /* "ask", "deny", "allow"; -1 when unknown */

/* This tool may write this path for the rest of the session. */
struct rule {
    char *tool;
    char *path; /* NULL: its calls that show no file, and nothing else */
};

/* What is to be decided. */
struct rule_subject {
    int64_t turn;
    const char *call, *tool;
    const struct change_set *changes; /* none: a foreign tool's wish to write something unknown */
    const char *named;                /* what named_find says of the arguments of a call without files; NULL: nothing */
};

struct rules;
struct rules *rules_new(enum rule_mode mode, bool interactive);
void rules_free(struct rules *rules);

void rules_allow(struct rules *rules, const char *tool, const char *path);
bool rules_revoke(struct rules *rules, const char *tool, const char *path); /* false: there is no such rule */
/* Drops all rules of a tool: it is another one now. */
void rules_forget(struct rules *rules, const char *tool);
/* The rules of the session, in the order in which they were made. */
size_t rules_count(const struct rules *rules);
const struct rule *rules_at(const struct rules *rules, size_t index);

/* A decision from a recording for the next question of a call in a turn, in the order added. Copied. */
void rules_record(struct rules *rules, int64_t turn, const char *call, const struct decision *decision);
/* What is decided without asking; DECISION_NONE when a person must. `no_person` is set when it was denied because
 * nobody can be asked (exit status 4). The caller releases the decision. */
struct decision rules_decide(struct rules *rules, const struct rule_subject *subject, bool *no_person);
