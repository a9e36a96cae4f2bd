#include "shown.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include <string.h>

struct shown {
    char *arguments, *result;
    struct message_list messages;
};

struct shown *shown_new(void)
{
    struct shown *shown = xcalloc(1, sizeof(*shown));
    message_list_init(&shown->messages);
    return shown;
}

void shown_free(struct shown *shown)
{
    free(shown->arguments);
    free(shown->result);
    message_list_release(&shown->messages);
    free(shown);
}

/* What a model calls JSON may be none. */
static char *veiled(const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (!text || json_check(text, strlen(text), JSON_DEPTH_MAX) != strlen(text))
        return redact_copy(text);
    return redact_json(&out, text, strlen(text)) ? strbuf_detach(&out, NULL) : xstrdup(text);
}

static void show(char **shown, const char **text)
{
    char *now = veiled(*text);
    if (*shown && now && strcmp(*shown, now) == 0) {
        free(now); /* who was shown it a moment ago may still be looking */
    } else {
        free(*shown);
        *shown = now;
    }
    *text = *shown;
}

static void veil_message(struct message *message)
{
    char *text = veiled(message->text);
    free(message->text);
    message->text = text;
    for (size_t i = 0; i < message->call_count; i++) {
        text = veiled(message->calls[i].arguments);
        free(message->calls[i].arguments);
        message->calls[i].arguments = text;
    }
}

void shown_veil(struct shown *shown, struct held_view *view)
{
    if (!redact_any())
        return;
    show(&shown->arguments, &view->arguments);
    show(&shown->result, &view->result);
    if (!view->messages)
        return;
    message_list_release(&shown->messages);
    message_list_copy(&shown->messages, view->messages);
    for (size_t i = 0; i < shown->messages.count; i++)
        veil_message(&shown->messages.items[i]);
    view->messages = &shown->messages;
}
