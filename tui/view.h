#pragma once
/* What there is to show: a session at an instant, live or recorded, and where its texts are. Panes read this and
 * nothing else; they cannot tell live from replay. */

#include "event/journal.h"
#include "event/session.h"
#include "turn/engine.h"

struct departures;
struct program_control;
struct sandbox_view;
struct program_limits_view;
struct json;

enum view_mode { VIEW_LIVE, VIEW_REPLAY, VIEW_EXECUTE };

/* The events of one journal that were looked at last: 256 of them, or 8 MiB. The one way to a text that is too long for
 * the rows of the fold. */
struct view_cache;
struct view_cache *view_cache_new(void);
void view_cache_free(struct view_cache *cache);
size_t view_cache_count(const struct view_cache *cache);
/* Takes in a copy of an event that was just recorded and folded: a live screen decodes no line that it has written. */
void view_cache_put(struct view_cache *cache, const struct event *event, const struct session *session);

/* A model of the config file. */
struct view_model {
    const char *name, *provider, *model;
};

struct view {
    enum view_mode mode;
    const struct session *session;
    const struct journal_reader *lines; /* the event with seq n is line n - 1; may run ahead of the session in replay */
    struct view_cache *cache;           /* of these lines; may be NULL where there are none */
    const char *title;                  /* of the recording, or the folder */
    int64_t now_t;                      /* session time of this instant, microseconds */
    bool ticking;                       /* time goes on: a call runs, the model is asked */
    const struct engine *engine;        /* of a live session; NULL: a recording */
    int64_t question_due_t;             /* session time at which nobody's answer becomes a no; 0: it waits for ever */
    bool held;
    struct held_view gate;     /* what stands at the gate, when held (live) */
    const struct gates *gates; /* breakpoints; NULL in replay */
    /* replay */
    size_t position, count; /* events shown, events there are */
    double speed;
    bool playing;
    const struct departures *departures; /* with --execute */
    const struct sandbox_view *sandbox;  /* of a live session; NULL: none */
    struct program_control *programs;    /* of a live session, to be asked about; NULL: none */
    const char *program_engine;          /* that a live session's programs have, where scripts have another; NULL */
    bool program_unsafe;                 /* it isolates nothing */
    struct program_limits_view *limits;  /* of a live session's programs; NULL: none */
    const char *artifacts;               /* folder of those of the session; NULL: the usual one */
    const struct view_model *models;     /* that can be asked; NULL: the model cannot be changed */
    size_t model_count;
    const struct rules *rules; /* of a live session: what is allowed in it; NULL: none */
};

/* The question that can be answered now. It is the engine's own, so it is looked up and not kept. NULL: none, or it is
 * a recording. */
static inline const struct question *view_question(const struct view *view)
{
    return view->engine ? engine_question(view->engine) : NULL;
}
/* Whether a question is open, in a recording too. */
static inline bool view_asks(const struct view *view)
{
    return view->engine ? engine_question(view->engine) != NULL : view->session->open_ask != SESSION_NONE;
}
/* The event with this seq, NULL when it cannot be read. It, and whatever else comes from the cache, is good until the
 * frame ends. */
const struct event *view_event(const struct view *view, int64_t seq);
/* The event of this type with this seq, else NULL. */
const struct event *view_event_of(const struct view *view, int64_t seq, enum event_type type);
/* Lines that are part of the present instant: rows 0…count of the event stream. */
size_t view_row_count(const struct view *view);
/* The event of a row, NULL when its line cannot be read. Its seq is what the line says. */
const struct event *view_row(const struct view *view, size_t row);
/* What a list says of the event of a row that can be read; made once while the cache has it. */
const char *view_row_words(const struct view *view, size_t row);
/* The row of the event with this seq, SIZE_MAX when there is none. A file somebody took lines out of has holes. */
size_t view_find_row(const struct view *view, int64_t seq);
/* A JSON value of somebody else's inside an event (arguments, output, what a script sent); NULL when there is none. */
const struct json *view_json(const struct view *view, const char *text);
/* For what is made of events while a frame is painted. */
struct arena *view_arena(const struct view *view);
/* A frame was painted, or a piece of work done that looks at many events: what was used in it may go. */
void view_frame_end(const struct view *view);

/* The text of a field of the event, whatever its type; NULL. */
const char *view_event_text(const struct event *event, const char *name);
/* The tools of the session as session.started, or what came after it, lists them; empty where that is not known. */
struct event_tool_info_list view_tools(const struct view *view);
/* True for a breakpoint on a tool that the session does not have ("tool=raed_file"). */
bool view_breaks_on_nothing(const struct view *view, const char *spec);
/* The arguments of a call as it ran; before that as somebody edited them at its gate, or as the model asked. NULL where
 * they cannot be read. */
const struct json *view_call_arguments(const struct view *view, const struct session_call *call);
/* Its effect, READ_ONLY and so on: before it ran, its tool's; "" where that is not known. */
const char *view_call_effect(const struct view *view, const struct session_call *call);
/* The call an event is about, in the event's own turn (ids repeat); SESSION_NONE when it is about none. */
uint32_t view_event_call(const struct view *view, const struct event *event);
