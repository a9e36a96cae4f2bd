#pragma once
/* What the panes show: a session at one instant, live or recorded, and access to its long texts. Panes read only this,
 * so they cannot distinguish live from replay. */

#include "event/journal.h"
#include "event/session.h"
#include "turn/engine.h"

struct divergences;
struct program_control;
struct sandbox_view;
struct program_limits_view;
struct json;
struct strbuf;

enum view_mode { VIEW_LIVE, VIEW_REPLAY, VIEW_EXECUTE };

/* A cache of the events of one journal that were used last: at most 256 events or 8 MB. It is the only way to texts
 * that are too long for the rows of the fold. */
struct view_cache;
struct view_cache *view_cache_new(void);
void view_cache_free(struct view_cache *cache);
size_t view_cache_count(const struct view_cache *cache);
/* Adds a copy of an event that was just recorded and folded, so a live screen never decodes a line it wrote. */
void view_cache_put(struct view_cache *cache, const struct event *event, const struct session *session);

/* A model of the config file. */
struct view_model {
    const char *name, *provider, *model;
};

struct view {
    enum view_mode mode;
    const struct session *session;
    const struct journal_reader *lines; /* the event with seq n is line n - 1; in replay maybe beyond the session */
    struct view_cache *cache;           /* cache of these lines; may be NULL if there are no lines */
    const char *title;                  /* name of the recording or the folder */
    int64_t now_t;                      /* session time of this instant, in microseconds */
    bool ticking;                       /* time passes: a call runs, or the model is working */
    const struct engine *engine;        /* of a live session; NULL: a recording */
    int64_t question_due_t;             /* session time at which an unanswered question is denied; 0: never */
    bool held;
    struct held_view gate;     /* what the gate holds (live) */
    const struct gates *gates; /* breakpoints; NULL in replay */
    /* replay */
    size_t position, count; /* events shown, events recorded */
    double speed;
    bool playing;
    const struct divergences *divergences; /* with --execute */
    const struct sandbox_view *sandbox;    /* of a live session; NULL: none */
    struct program_control *programs;      /* control of a live session's programs; NULL: none */
    const char *program_engine;            /* engine of a live session's programs if scripts use another one; NULL */
    bool program_unsafe;                   /* that engine isolates nothing */
    struct program_limits_view *limits;    /* of a live session's programs; NULL: none */
    const char *artifacts;                 /* artifacts folder of the session; NULL: the default one */
    const struct view_model *models;       /* models the user can switch to; NULL: the model is fixed */
    size_t model_count;
    const struct rules *rules; /* of a live session: the rules that allow calls; NULL: none */
};

/* The question that the user can answer now. The engine owns it, so look it up each time and do not keep it. NULL: no
 * question is open, or this is a recording. */
static inline const struct question *view_question(const struct view *view)
{
    return view->engine ? engine_question(view->engine) : NULL;
}
/* True if a question is open, in a recording too. */
static inline bool view_asks(const struct view *view)
{
    return view->engine ? engine_question(view->engine) != NULL : view->session->open_question != SESSION_NONE;
}
/* The event with this seq; NULL if it cannot be read. All pointers from the cache are valid until the frame ends. */
const struct event *view_event(const struct view *view, int64_t seq);
/* The event of this type with this seq, else NULL. */
const struct event *view_event_of(const struct view *view, int64_t seq, enum event_type type);
/* Number of lines up to the present instant: the rows of the event stream. */
size_t view_row_count(const struct view *view);
/* The event of a row; NULL if its line cannot be read. Its seq is the one in the line. */
const struct event *view_row(const struct view *view, size_t row);
/* The text of a readable row in a list. It is built once and kept while the event is in the cache. */
const char *view_row_words(const struct view *view, size_t row);
/* The row of the event with this seq; SIZE_MAX if there is none. A file has gaps if a person deleted lines. */
size_t view_find_row(const struct view *view, int64_t seq);
/* Parses an untrusted JSON value inside an event (arguments, output, messages of a script); NULL if there is none. */
const struct json *view_json(const struct view *view, const char *text);
/* Memory for data derived from events. It is freed when the frame ends. */
struct arena *view_arena(const struct view *view);
/* Call after painting a frame, or after work that reads many events: the cache may now drop what was used. */
void view_frame_end(const struct view *view);

/* The text of the named field of an event of any type; NULL if there is none. */
const char *view_event_text(const struct event *event, const char *name);
/* The step whose newest request is this event; NULL if there is none. */
const struct session_step *view_step_requested(const struct view *view, int64_t seq);
/* The pieces of an answer that was interrupted, put together; false if there are none. */
bool view_interrupted_answer(const struct view *view, const struct session_step *step, struct strbuf *text,
                             struct strbuf *thinking);
/* The tools of the session, from session.started or a later event; empty if unknown. */
struct event_tool_info_list view_tools(const struct view *view);
/* True for a breakpoint on a tool that the session does not have ("tool=raed_file"). */
bool view_breaks_on_nothing(const struct view *view, const char *spec);
/* The arguments of a call as it ran. Before it runs: as the user edited them at the gate, or as the model sent them.
 * NULL if they cannot be read. */
const struct json *view_call_arguments(const struct view *view, const struct session_call *call);
/* The effect of a call, for example READ_ONLY. Before it runs, the effect of its tool; "" if unknown. */
const char *view_call_effect(const struct view *view, const struct session_call *call);
/* The call that an event belongs to, in the event's own turn (ids repeat); SESSION_NONE if there is none. */
uint32_t view_event_call(const struct view *view, const struct event *event);
