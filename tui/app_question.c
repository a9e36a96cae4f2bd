#include "app_inside.h"
#include "tools/diff.h"
#include <string.h>

static char *copy_text(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

void app_question_release(struct app_question *question)
{
    free((char *)question->view.ask);
    free((char *)question->view.call);
    free((char *)question->view.tool);
    free((char *)question->view.digest);
    free((char *)question->view.no_undo);
    for (size_t i = 0; question->diffs && i < question->changes->count; i++)
        diff_free(question->diffs[i]);
    free(question->diffs);
    change_set_free(question->changes);
    *question = (struct app_question){0};
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

void app_question_show(struct app_question *shown, struct app_question *older, const struct question *open)
{
    if (!open || (same_text(shown->view.ask, open->ask) && same_text(shown->view.digest, open->digest)))
        return;
    app_question_release(older);
    *older = *shown;
    *shown = (struct app_question){
        .view = *open,
        .changes = change_set_copy(open->changes),
    };
    shown->view.ask = copy_text(open->ask);
    shown->view.call = copy_text(open->call);
    shown->view.tool = copy_text(open->tool);
    shown->view.digest = copy_text(open->digest);
    shown->view.no_undo = copy_text(open->no_undo);
    shown->view.changes = shown->changes;
    shown->diffs = xcalloc(shown->changes->count + 1, sizeof(*shown->diffs));
    for (size_t i = 0; i < shown->changes->count; i++)
        shown->diffs[i] = change_diff(&shown->changes->items[i], NULL);
}

static void add_paths(struct change_set *set, const struct event_proposed_file_list *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *path = files->items[i].path;
        GROW(set->items, set->count, set->room);
        set->items[set->count++] = (struct change){.path = xstrdup(path ? path : "?")};
    }
}

const struct question *app_question_recorded(struct app_question *shown, const struct view *view)
{
    const struct session *session = view->session;
    if (session->open_ask == SESSION_NONE || session->open_ask >= session->ask_count)
        return NULL;
    const struct session_ask *ask = &session->asks[session->open_ask];
    const char *name = session_name(session, ask->id);
    if (same_text(shown->view.ask, name))
        return &shown->view;
    app_question_release(shown);
    const struct event *event = view_event_of(view, ask->proposed_seq, EVENT_WRITE_PROPOSED);
    shown->changes = change_set_new();
    if (event)
        add_paths(shown->changes, &event->write_proposed.files);
    const struct session_call *call = ask->call < session->call_count ? &session->calls[ask->call] : NULL;
    shown->view = (struct question){
        .ask = xstrdup(name),
        .call = call ? xstrdup(session_name(session, call->id)) : NULL,
        .tool = call ? xstrdup(session_name(session, call->tool)) : NULL,
        .digest = xstrdup(""),
        .changes = shown->changes,
    };
    return &shown->view;
}
