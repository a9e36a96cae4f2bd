#pragma once
/* What the files of the plain account share; nobody else includes it.
 *
 *   plain.c        the turn: prompt, steps, texts, notes, the end
 *   plain_calls.c  waves, calls, what they and programs print, outcomes
 *   plain_write.c  proposals, decisions, what was written */

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "output.h"
#include "plain.h"
#include "text.h"

#define GUTTER  10 /* columns of the labels */
#define NO_WAVE SIZE_MAX

enum ink { INK_NONE, INK_BOLD, INK_DIM, INK_GOOD, INK_BAD, INK_WARN, INK_MARK };

struct plain_call {
    char *id, *tool;
    char *what; /* its arguments, short */
    size_t wave;
    size_t outputs;          /* lines that it printed */
    struct plain_tail *tail; /* of them, what is not shown yet; NULL: nothing */
    bool shown;              /* has a line of its own already */
    bool decided;            /* a question of its was answered, and that was shown */
};

struct plain_wave {
    char *why; /* as waves_cut_by says it */
    size_t calls;
    bool shown;
};

struct plain_ask {
    struct arena arena; /* holds `proposed` */
    const struct event_write_proposed *proposed;
};

struct plain {
    struct sink sink;
    struct output *output;
    struct strbuf *out; /* of the output */
    struct plain_style style;
    bool blank; /* an empty line stands above */

    struct hash_map call_index; /* id → index, of the turn */
    struct plain_call *calls;
    size_t call_count, call_room;
    size_t step_first; /* first call of the step */
    size_t id_width, tool_width;
    struct plain_wave *waves; /* of the step */
    size_t wave_count, wave_room;
    struct plain_ask *asks; /* not decided yet */
    size_t ask_count, ask_room;

    int64_t step;    /* the newest */
    char *held;      /* the gate it stands at */
    char *ended;     /* why the newest program ended, until something else happens */
    char *edit;      /* what somebody wrote instead of a proposal; JSON, shown with the decision */
    char *answer;    /* text of the newest answer, to see whether the end repeats it */
    double cost_usd; /* of the turn; NaN: unknown */
    bool past_turn;  /* a turn was told already */
};

/* plain.c */
void plain_inked(struct plain *plain, enum ink ink, const char *text);
void plain_gap(struct plain *plain); /* an empty line, unless there is one */
/* Begins a line with a label in the gutter; what follows stands at column GUTTER. */
void plain_label(struct plain *plain, enum ink ink, const char *label);
void plain_indent(struct plain *plain, size_t columns);
void plain_newline(struct plain *plain);
void plain_end_line(struct plain *plain); /* the same, without the spaces that nothing came behind */
void plain_line(struct plain *plain, size_t indent, enum ink ink, const char *text); /* that is shown already */
/* Foreign text as a paragraph from here on, indented by `indent`. */
void plain_paragraph(struct plain *plain, enum ink ink, const char *text, size_t indent);

/* plain_calls.c */
void plain_calls_reset(struct plain *plain); /* a new turn */
void plain_calls_answered(struct plain *plain, const struct event_tool_request_list *calls);
void plain_calls_planned(struct plain *plain, const struct event_plan_wave_list *waves);
/* The calls of the step that nothing was told of: those of a recording that a person wrote, or that ends early. */
void plain_calls_pending(struct plain *plain);
/* The call, made up when the recording never mentioned it. */
struct plain_call *plain_call(struct plain *plain, const char *id, const char *tool);
/* Its line without an outcome, unless it was shown; what belongs to it then stands below, at plain_call_indent. */
void plain_call_introduce(struct plain *plain, struct plain_call *call);
size_t plain_call_indent(const struct plain *plain);
void plain_call_started(struct plain *plain, const struct event_tool_started *started);
void plain_call_output(struct plain *plain, const char *call, const char *stream, const char *text);
void plain_call_script(struct plain *plain, const struct event_script_event *event);
void plain_call_finished(struct plain *plain, const struct event_tool_finished *finished);
/* The call ended: shows what it printed last. */
void plain_output_end(struct plain *plain, struct plain_call *call);
void plain_program_output(struct plain *plain, const struct event_program_output *output);
void plain_program_input(struct plain *plain, const struct event_program_input *input);

/* plain_write.c */
void plain_write_proposed(struct plain *plain, const struct event *event);
void plain_write_decided(struct plain *plain, const struct event *event);
void plain_write_applied(struct plain *plain, const struct event *event);
/* Shows the questions of this call (NULL: of all) that nobody answered. */
void plain_write_pending(struct plain *plain, const char *call);
