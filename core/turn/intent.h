#pragma once
/* An intent: a wish that may be refused. Keys, the command line and tests make the same ones; texts are borrowed for
 * the call. */

#include "budget.h"
#include "decision.h"

enum intent_type {
    INTENT_START,     /* a turn with this prompt */
    INTENT_GO_ON,     /* with the turn that a resumed recording left in the middle */
    INTENT_CANCEL,    /* the turn */
    INTENT_ANSWER,    /* the open question: approve all of it, some hunks or an edited version, or deny it */
    INTENT_ALLOW,     /* this tool on this path for the session, or no longer */
    INTENT_STEP,      /* to the next gate */
    INTENT_STEP_WAVE, /* over the present wave */
    INTENT_CONTINUE,
    INTENT_PAUSE,         /* at the next gate */
    INTENT_BREAK,         /* a new breakpoint */
    INTENT_UNBREAK,       /* take one away */
    INTENT_ARM,           /* let a breakpoint hold, or pass it for now */
    INTENT_REVISE,        /* the open question: the user's own version of it, to be shown before it is approved */
    INTENT_ATTEND,        /* somebody is at work on the open question: its countdown begins again */
    INTENT_SERIAL,        /* calls one at a time from the next plan on, or side by side again */
    INTENT_EDIT,          /* what stands at the gate */
    INTENT_EXTEND,        /* a budget that ended, or any other */
    INTENT_UNDO,          /* a checkpoint; NULL: that of the newest write */
    INTENT_PROGRAM_INPUT, /* type into a program that runs, while the turn is held or over */
    INTENT_PROGRAM_KILL,  /* end a program */
    INTENT_MODEL,         /* another model from the next request on */
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
            const char *question; /* its id */
            const char *digest;   /* of the change set that was shown; a question that changed since is not approved */
            unsigned revision;    /* of the question that was shown; 0: as it was proposed */
            struct decision decision; /* borrowed */
        } answer;
        struct {
            const char *question;
            const struct change_set *version;
        } revise;
        struct {
            const char *tool, *path;
            bool revoke;
        } allow; /* no path: its calls that show no file */
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
            double share;
        } extend;
        struct {
            const char *checkpoint;
        } undo;
        struct {
            const char *program, *text;
        } program_input; /* as it is typed: a line ends with its newline */
        struct {
            const char *program;
        } program_kill;
        struct {
            const char *name;
        } model;
        struct {
            const char *reason;
        } end; /* NULL: "quit" */
    };
};
