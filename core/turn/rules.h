#pragma once
/* Rules about writes: what the user allowed for this session, what a recording decided, the mode. This module never
 * judges a change: it names who decides, and remembers earlier answers.
 *
 * Order: a recorded decision for this very call (replay), a rule of the session (`A`: this tool on this path, or its
 * calls without a diff), the mode. Before all of them come protected paths (protected.def): only a person approves a
 * write there, each time. */

#include "decision.h"

enum rule_mode {
    RULES_ASK, /* ask the user; deny if there is none */
    RULES_DENY,
    RULES_ALLOW,
};
int rule_mode_from_name(const char *name); /* "ask", "deny", "allow"; -1 if unknown */

/* This tool may write this path for the rest of the session. */
struct rule {
    char *tool;
    char *path; /* NULL: only its calls that show no file */
};

/* The write to decide about. */
struct rule_subject {
    int64_t turn;
    const char *call, *tool;
    const struct change_set *changes; /* empty: a foreign tool that writes something unknown */
    const char *named;                /* the result of named_find for a call without files; NULL: nothing */
};

struct rules;
struct rules *rules_new(enum rule_mode mode, bool interactive);
void rules_free(struct rules *rules);

void rules_allow(struct rules *rules, const char *tool, const char *path);
bool rules_revoke(struct rules *rules, const char *tool, const char *path); /* false: no such rule */
/* Drops all rules of a tool, because it was replaced by another one. */
void rules_forget(struct rules *rules, const char *tool);
/* The rules of the session, in the order they were added. */
size_t rules_count(const struct rules *rules);
const struct rule *rules_at(const struct rules *rules, size_t index);

/* Adds a recorded decision for the next question of a call in a turn, in order. Copied. */
void rules_record(struct rules *rules, int64_t turn, const char *call, const struct decision *decision);
/* Decides without the user; DECISION_NONE if the user must decide. Sets `no_person` if the write was denied because
 * no user can answer (exit status 4). The caller releases the decision. */
struct decision rules_decide(struct rules *rules, const struct rule_subject *subject, bool *no_person);
