#pragma once
/* Shared state of the files that make the plain output. No other file includes it.
 *
 *   plain.c        the turn: prompt, steps, texts, notes, the end
 *   plain_calls.c  waves, calls, output of calls and programs, outcomes
 *   plain_write.c  proposals, decisions, what was written */

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cli_out.h"
#include "plain.h"
#include "screen/text.h"

#define GUTTER  10 /* columns of the labels */
#define NO_WAVE SIZE_MAX

enum ink { INK_NONE, INK_BOLD, INK_DIM, INK_GOOD, INK_BAD, INK_WARN, INK_MARK };

struct plain_call {
    char *id, *tool;
    char *what; /* its arguments in short form */
    size_t wave;
    size_t outputs;          /* number of printed lines */
    struct plain_tail *tail; /* lines that are not printed yet; NULL: none */
    bool shown;              /* its line was printed */
    bool decided;            /* a decision about it was printed */
};

struct plain_wave {
    char *why; /* as from waves_cut_by */
    size_t calls;
    bool shown;
};

struct plain_ask {
    struct arena arena; /* holds `proposed` */
    const struct event_write_proposed *proposed;
};

struct plain {
    struct sink sink;
    struct cli_out *output;
    struct strbuf *out; /* text buffer of the output */
    struct plain_style style;
    bool blank; /* the last printed line is empty */

    struct hash_map call_index; /* id → index, for the current turn */
    struct plain_call *calls;
    size_t call_count, call_room;
    size_t calls_before; /* calls of earlier turns; numbers continue over turns */
    size_t step_first;   /* first call of the step */
    size_t id_width, tool_width;
    struct plain_wave *waves; /* of the current step */
    size_t wave_count, wave_room;
    struct plain_ask *asks; /* questions without a decision */
    size_t ask_count, ask_room;

    int64_t step;          /* the newest step */
    char *held;            /* the gate that holds the turn */
    char *ended;           /* why the newest program ended; reset by the next event */
    char *edit;            /* what the user wrote instead of a proposal; JSON, printed with the decision */
    char *answer;          /* text of the newest answer, to detect that the end repeats it */
    struct strbuf partial; /* of an answer that has not arrived as a whole */
    double cost_usd;       /* of the turn; NaN: unknown */
    int64_t turns;         /* shown so far */
};

/* plain.c */
void plain_inked(struct plain *plain, enum ink ink, const char *text);
/* Begins a line with a label in the gutter. The following text starts at column GUTTER. */
void plain_label(struct plain *plain, enum ink ink, const char *label);
void plain_indent(struct plain *plain, size_t columns);
void plain_newline(struct plain *plain);
void plain_end_line(struct plain *plain); /* ends the line without trailing spaces */
void plain_line(struct plain *plain, size_t indent, enum ink ink, const char *text); /* text is sanitized already */
/* Prints untrusted text as a paragraph, indented by `indent`. */
void plain_paragraph(struct plain *plain, enum ink ink, const char *text, size_t indent);

/* plain_calls.c */
void plain_calls_reset(struct plain *plain); /* for a new turn */
void plain_calls_answered(struct plain *plain, const struct event_tool_request_list *calls);
void plain_calls_planned(struct plain *plain, const struct event_plan_wave_list *waves);
/* Prints the calls of the step that no event mentioned: in a recording that a person wrote, or that ends early. */
void plain_calls_pending(struct plain *plain);
/* The call with this id. It is created if the recording never mentioned it. */
struct plain_call *plain_call(struct plain *plain, const char *id, const char *tool);
/* "#3": its number in the session. */
void plain_call_number(struct strbuf *out, const struct plain *plain, const char *id);
/* Prints its line without an outcome, unless that was done. Its details then follow below, at plain_call_indent. */
void plain_call_introduce(struct plain *plain, struct plain_call *call);
size_t plain_call_indent(const struct plain *plain);
void plain_call_started(struct plain *plain, const struct event_tool_started *started);
void plain_call_output(struct plain *plain, const char *call, const char *stream, const char *text);
void plain_call_script(struct plain *plain, const struct event_script_event *event);
void plain_call_finished(struct plain *plain, const struct event_tool_finished *finished);
void plain_program_output(struct plain *plain, const struct event_program_output *output);
void plain_program_input(struct plain *plain, const struct event_program_input *input);

/* plain_write.c */
void plain_write_proposed(struct plain *plain, const struct event *event);
void plain_write_decided(struct plain *plain, const struct event *event);
void plain_write_applied(struct plain *plain, const struct event *event);
/* Prints the unanswered questions of this call (NULL: of all calls). */
void plain_write_pending(struct plain *plain, const char *call);
