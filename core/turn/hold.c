/* Standing at a gate. Holds queue up: several calls of a wave may want to stop at once, but a person looks at one thing
 * at a time, so only the first is "held" in the journal and the clocks stand still as long as there is any. */

#include "base/mem.h"
#include "turn.h"
#include <string.h>

static void stand(struct turn *turn)
{
    const struct hold *hold = turn->holds;

    hold_clock_stop(&turn->clock);
    emit(&turn->emitter,
         &(struct event){.type = EVENT_HELD,
                         .held = {.gate = gate_name(hold->gate), .call = hold->call ? hold->call->id : NULL}});
    turn_clock_changed(turn);
}

void turn_hold(struct turn *turn, const struct hold *hold)
{
    struct hold *copy = xcalloc(1, sizeof(*copy));
    struct hold **place = &turn->holds;

    *copy = *hold;
    copy->why = xstrdup(hold->why);
    while (*place)
        place = &(*place)->next;
    *place = copy;
    if (turn->holds == copy)
        stand(turn);
}

bool turn_hold_at(struct turn *turn, const struct gate_view *view, struct turn_call *call,
                  void (*go)(struct turn *, struct turn_call *))
{
    const char *why;
    int breakpoint;

    if (turn->cancelled)
        return false;
    why = gates_hold(engine_gates_mutable(turn->engine), view, &breakpoint);
    if (!why)
        return false;
    if (!turn->harness->interactive) {
        /* Nobody could say go on. The journal shows where the turn would have stood. */
        const char *gate = gate_name(view->gate);

        emit(&turn->emitter,
             &(struct event){.type = EVENT_HELD, .held = {.gate = gate, .call = call ? call->id : NULL}});
        emit(&turn->emitter, &(struct event){.type = EVENT_RELEASED, .released = {.gate = gate, .by = "nobody"}});
        return false;
    }
    turn_hold(
        turn,
        &(struct hold){
            .gate = view->gate, .why = (char *)why, .limit = -1, .breakpoint = breakpoint, .call = call, .go = go});
    return true;
}

void turn_release(struct turn *turn, const char *by)
{
    struct hold *hold = turn->holds;

    turn->holds = hold->next;
    emit(&turn->emitter,
         &(struct event){.type = EVENT_RELEASED, .released = {.gate = gate_name(hold->gate), .by = by}});
    hold_clock_go(&turn->clock);
    if (turn->holds)
        stand(turn);
    else
        turn_clock_changed(turn);
    hold->go(turn, hold->call);
    free(hold->why);
    free(hold);
}

void turn_release_all(struct turn *turn, const char *by)
{
    while (turn->holds)
        turn_release(turn, by);
}
