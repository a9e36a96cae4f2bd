#pragma once
/* The wave scheduler: plans which calls of an answer may run in parallel.
 *
 * Calls keep their order. Reads join a wave while their resource keys stay disjoint. A read that overlaps the open
 * wave closes it and runs in a wave of its own, and the next read starts a new one. All other calls run alone, also
 * those of a tool without a class. With parallel calls off, each call is a wave. Linear in the number of keys. */

#include "event/event.h"
#include "tools/tool.h"

struct arena;
struct json;
struct strbuf;

struct wave_call {
    const char *id;
    const struct tool_spec *spec; /* NULL: unknown tool, runs alone */
    const char *tool;             /* name, also of an unknown one */
    const struct json *arguments; /* for {arg}; may be NULL */
};

struct wave {
    size_t first, count; /* of the calls */
    bool parallel;       /* more than one call */
    const char *why;     /* why it ended there, a short sentence; in the arena */
    enum effect effect;  /* of its calls */
};

/* The waves, in the arena; their number in *count. */
const struct wave *waves_plan(struct arena *arena, const struct wave_call *calls, size_t call_count, bool parallel,
                              size_t *count);
/* The waves as waves.planned has them. */
struct event_plan_wave_list waves_to_event(struct arena *arena, const struct wave *waves, size_t count,
                                           const struct wave_call *calls);
/* The effect of a recorded wave; false if the recording lacks it. */
bool waves_effect(const struct event_plan_wave *wave, enum effect *effect);
/* Why a recorded wave ended before the answer did, or runs alone; NULL: the answer had no more calls. */
const char *waves_cut_by(const struct event_plan_wave_list *waves, size_t index);
/* One key with its {arg}s filled in: "file:{path}" → "file:src/a.c"; a missing argument leaves it empty. */
void waves_expand_key(struct strbuf *out, const char *key, const struct json *arguments);
