#pragma once
/* Intents: what the user asks of the engine, which may refuse. Keys, the command line and tests create the same ones.
 * Texts are borrowed for the call. */

#include "budget.h"
#include "decision.h"

enum intent_type {
    INTENT_START,       /* a turn with this prompt */
    INTENT_RESUME_TURN, /* continue the turn that a resumed recording left unfinished */
    INTENT_CANCEL,      /* the turn */
    INTENT_ANSWER,      /* the open question: approve all of it, some hunks or an edited version, or deny it */
    INTENT_ALLOW,       /* this tool on this path for the session, or no longer */
    INTENT_STEP,        /* run to the next gate */
    INTENT_STEP_WAVE,   /* run to the end of the current wave */
    INTENT_CONTINUE,
    INTENT_PAUSE,         /* pause at the next gate */
    INTENT_BREAK,         /* add a breakpoint */
    INTENT_UNBREAK,       /* remove a breakpoint */
    INTENT_ENABLE_BREAK,  /* enable or disable a breakpoint */
    INTENT_REVISE,        /* the user's own version of the open question, shown before it is approved */
    INTENT_TOUCH,         /* the user works on the open question: restart its countdown */
    INTENT_SERIAL,        /* one call at a time from the next plan on, or parallel calls again */
    INTENT_EDIT,          /* edit the object at the gate */
    INTENT_EXTEND,        /* raise a limit, reached or not; after a turn that ended at a limit: continue in a new one */
    INTENT_UNDO,          /* undo a write; `what` as for undo_find */
    INTENT_REDO,          /* redo a write that was undone */
    INTENT_PROGRAM_INPUT, /* type into a running program, while the turn is held or over */
    INTENT_PROGRAM_KILL,  /* kill a program */
    INTENT_MODEL,         /* use another model from the next request on */
    INTENT_NAME,          /* give the session a name */
    INTENT_END,           /* the session */
};

enum edit_what { EDIT_ARGUMENTS, EDIT_RESULT, EDIT_PROMPT };
const char *edit_what_name(enum edit_what what);

struct intent {
    enum intent_type type;
    union {
        struct {
            const char *prompt;
        } start;
        struct {
            const char *question;     /* its id */
            const char *digest;       /* of the change set on screen; a question that changed since is not approved */
            unsigned revision;        /* of the question on screen; 0: the proposal */
            struct decision decision; /* borrowed */
        } answer;
        struct {
            const char *question;
            const struct change_set *version;
        } revise;
        struct {
            const char *tool, *path;
            bool revoke;
        } allow; /* path NULL: its calls that show no file */
        struct {
            const char *spec;
        } breakpoint;
        struct {
            int id;
        } unbreak;
        struct {
            int id;
            bool enabled;
        } arm;
        struct {
            bool on;
        } serial;
        struct {
            enum edit_what what;
            const char *text;
        } edit; /* JSON for arguments and result */
        struct {
            enum budget_key key;
            double share; /* of the limit at the start of the turn */
            double to;    /* the new limit, instead of a share; 0: none */
        } extend;
        struct {
            const char *what;
        } undo; /* also of a redo */
        struct {
            const char *program, *text;
        } program_input; /* as typed: a line ends with its newline */
        struct {
            const char *program;
        } program_kill;
        struct {
            const char *name;
        } model;
        struct {
            const char *name;
        } naming;
        struct {
            const char *reason;
        } end; /* NULL: "quit" */
    };
};
