/* Everything about a reflection but the waiting, which is the engine's. There is no way through here that does not end
 * in a struct reflection: a slot that is not there, a deadline that has passed, a model that fails give a stub, and a
 * stub always lets the turn go on. */

#include "reflect.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <ctype.h>

#define TIMEOUT_MAX_S 30
#define TIMEOUT_MIN_S 5

void reflection_release(struct reflection *reflection)
{
    free(reflection->text);
    *reflection = (struct reflection){0};
}

static struct reflection stub(char *take_text)
{
    return (struct reflection){.text = take_text, .should_continue = true, .stub = true};
}

int reflect_timeout_s(double remaining_s)
{
    if (!(remaining_s > TIMEOUT_MIN_S))
        return TIMEOUT_MIN_S;
    return remaining_s < TIMEOUT_MAX_S ? (int)remaining_s : TIMEOUT_MAX_S;
}

bool reflect_early(struct budget *budget, struct reflection *out, int *timeout_s)
{
    if (!budget_claim_reflection(budget)) {
        *out = stub(xstrdup("[budget exhausted]"));
        return true;
    }
    if (budget_expired(budget)) {
        *out = stub(xstrdup("[deadline expired]"));
        return true;
    }
    *timeout_s = reflect_timeout_s(budget_remaining_s(budget));
    return false;
}

/* What follows the word STOP, NULL when the answer does not begin with it. "STOPPING" is another word. The word is not
 * part of the text: should_continue says it, and a recording gives both back. */
static const char *after_stop(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    if (strncmp(text, "STOP", 4) != 0)
        return NULL;
    text += 4;
    if (isalnum((unsigned char)*text) || *text == '_')
        return NULL;
    while (isspace((unsigned char)*text) || (*text && strchr(".,:;!-", *text)))
        text++;
    return text;
}

struct reflection reflect_result(const struct model_reply *reply)
{
    if (reply->error)
        return stub(xasprintf("[reflection failed: %s]", reply->error));
    const char *text = reply->text ? reply->text : "";
    const char *rest = after_stop(text);
    return (struct reflection){.text = xstrdup(rest ? rest : text), .should_continue = !rest};
}

void reflect_messages(struct message_list *out, const struct message_list *turn, const char *failures)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    message_list_copy(out, turn);
    strbuf_addstr(&text, "Look back at your last step before you go on. ");
    if (failures && *failures)
        strbuf_addf(&text, "This went wrong:\n%s%s", failures, failures[strlen(failures) - 1] == '\n' ? "" : "\n");
    strbuf_addstr(&text,
                  "In at most three sentences: what did you learn, and what will you do differently? Call no tool. "
                  "If going on cannot help, begin your answer with the word STOP and say why.");
    message_list_add(out, ROLE_USER, text.buf)->meaning = "reflection";
}
