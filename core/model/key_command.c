/* Runs the command that prints a model's key, and holds requests until it has ended. */

#include "key_command.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/process.h"
#include <math.h>

#define WORDS_MAX   200    /* of the command's error output */
#define PATIENCE_MS 120000 /* the user may have to look up a password */

struct key_command {
    struct provider base;
    struct provider_ops ops; /* with the dialect's name */
    struct provider *live;
    struct loop *loop;
    char *name, *command;
    int64_t patience_ms;
    void (*got)(void *user, const char *key);
    void *user;
    bool known; /* the live provider has its key */

    struct process *process; /* NULL: the command is not running */
    struct strbuf said, complaint;

    struct model_listener *listener; /* waits for the command; NULL: none does */
    struct model_request request;    /* a copy */
    struct message_list messages;
    struct arena arena; /* holds the copied request */
    char *error;        /* what `early` reports */
    struct loop_task early;
};

static struct key_command *self_of(const struct provider *provider)
{
    return (struct key_command *)provider;
}

char *key_command_read(const char *name, struct strbuf *said, int status, struct err *err)
{
    char *key = NULL;
    bool much = said->len >= KEY_COMMAND_BYTES_MAX;
    while (said->len && strchr(" \t\r\n", said->buf[said->len - 1]))
        strbuf_set_len(said, said->len - 1);
    if (much)
        err_set(err, "the key_command of the model \"%.60s\" printed more than a key", name);
    else if (status)
        err_set(err, "the key_command of the model \"%.60s\" failed (status %d)", name, status);
    else if (!said->len)
        err_set(err, "the key_command of the model \"%.60s\" printed nothing", name);
    else
        key = xmemdup0(said->buf, said->len);
    if (said->len)
        explicit_bzero(said->buf, said->len);
    strbuf_reset(said);
    return key;
}

/* ---- the waiting request ---- */

static void forget_key(struct key_command *self)
{
    loop_unpost(self->loop, &self->early);
    message_list_release(&self->messages);
    arena_reset(&self->arena);
    self->listener = NULL;
    free(self->error);
    self->error = NULL;
}

static void keep_request(struct key_command *self, const struct model_request *request)
{
    struct tool_offer *tools = arena_alloc(&self->arena, (request->tool_count + 1) * sizeof(*tools));
    for (size_t i = 0; i < request->tool_count; i++)
        tools[i] = (struct tool_offer){arena_strdup(&self->arena, request->tools[i].name),
                                       arena_strdup(&self->arena, request->tools[i].description),
                                       arena_strdup(&self->arena, request->tools[i].parameters)};
    message_list_copy(&self->messages, request->messages);
    self->request = *request;
    self->request.messages = &self->messages;
    self->request.tools = tools;
}

static void tell_error(struct loop_task *task)
{
    struct key_command *self = CONTAINER_OF(task, struct key_command, early);
    struct model_listener *listener = self->listener;
    struct model_reply reply = {.error = steal(&self->error), .retry_after_ms = -1, .cost_usd = NAN};
    forget_key(self);
    listener->done(listener, &reply);
}

/* Reports from a task, because the listener may free this provider, and the caller is the child's end callback. */
static void give_up(struct key_command *self, const char *why)
{
    if (!self->listener)
        return;
    free(self->error);
    self->error = xstrdup(why);
    loop_post(self->loop, &self->early, tell_error);
}

static void continue_command(struct key_command *self)
{
    struct model_listener *listener = self->listener;
    if (!listener)
        return;
    self->live->ops->ask(self->live, &self->request, listener);
    forget_key(self);
}

/* ---- the command ---- */

static void key_command_output(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    struct key_command *self = user;
    struct strbuf *kept = stream == PROCESS_STDOUT ? &self->said : &self->complaint;
    size_t room = (stream == PROCESS_STDOUT ? KEY_COMMAND_BYTES_MAX : WORDS_MAX) - kept->len;
    strbuf_add(kept, bytes, len < room ? len : room);
}

static void add_complaint(struct key_command *self, struct strbuf *error)
{
    size_t len = self->complaint.len ? strcspn(self->complaint.buf, "\r\n") : 0;
    if (len)
        strbuf_addf(error, ": %.*s", (int)len, self->complaint.buf);
}

static void give_up_waiting(struct key_command *self)
{
    CLEANUP(free)
    char *why = xasprintf("the key_command of the model \"%.60s\" timed out after %lld s; it must not prompt",
                          self->name, (long long)(self->patience_ms / 1000));
    if (self->said.len)
        explicit_bzero(self->said.buf, self->said.len);
    give_up(self, why);
}

static void key_command_ended(void *user, const struct process_end *end)
{
    struct key_command *self = user;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf error = STRBUF_INIT;
    process_free(steal(&self->process));
    if (end->timed_out) {
        give_up_waiting(self);
        return;
    }
    char *key = key_command_read(self->name, &self->said, end->exit_code, &err);
    if (key) {
        if (self->got)
            self->got(self->user, key);
        self->known = live_set_key(self->live, key, &err) == 0;
        explicit_bzero(key, strlen(key));
        free(key);
    }
    if (self->known) {
        continue_command(self);
        return;
    }
    strbuf_addstr(&error, err.text);
    add_complaint(self, &error);
    give_up(self, error.buf);
}

static void start_command(struct key_command *self)
{
    static const struct process_ops ops = {.output = key_command_output, .ended = key_command_ended};
    const char *const argv[] = {"/bin/sh", "-c", self->command, NULL};
    struct process_spec spec = {
        .argv = argv, .timeout_ms = self->patience_ms, .keep_keyring = true}; /* the key may be in the keyring */
    struct err err = ERR_INIT;
    strbuf_reset(&self->said);
    strbuf_reset(&self->complaint);
    self->process = process_start(self->loop, &spec, &ops, self, &err);
    if (!self->process)
        give_up(self, err.text);
}

/* ---- provider functions ---- */

static void key_command_ask(struct provider *provider, const struct model_request *request,
                            struct model_listener *listener)
{
    struct key_command *self = self_of(provider);
    if (self->known) {
        self->live->ops->ask(self->live, request, listener);
        return;
    }
    self->listener = listener;
    keep_request(self, request);
    if (!self->process)
        start_command(self);
}

/* The command keeps running: the next request needs its key too. */
static void key_command_cancel(struct provider *provider)
{
    struct key_command *self = self_of(provider);
    forget_key(self);
    self->live->ops->cancel(self->live);
}

static const char *key_command_model(const struct provider *provider)
{
    const struct provider *live = self_of(provider)->live;
    return live->ops->model(live);
}

static void key_command_free(struct provider *provider)
{
    struct key_command *self = self_of(provider);
    process_free(self->process);
    forget_key(self);
    if (self->said.len)
        explicit_bzero(self->said.buf, self->said.len);
    strbuf_release(&self->said);
    strbuf_release(&self->complaint);
    arena_release(&self->arena);
    provider_free(self->live);
    free(self->name);
    free(self->command);
    free(self);
}

struct provider *key_command_new(struct loop *loop, struct http *http, const struct key_command_spec *spec,
                                 struct err *err)
{
    struct provider *live = live_new(loop, http, &spec->live, err);
    if (!live)
        return NULL;
    struct key_command *self = xcalloc(1, sizeof(*self));
    self->ops = (struct provider_ops){.name = live->ops->name,
                                      .model = key_command_model,
                                      .ask = key_command_ask,
                                      .cancel = key_command_cancel,
                                      .free = key_command_free};
    self->base.ops = &self->ops;
    self->live = live;
    self->loop = loop;
    self->name = xstrdup(spec->name);
    self->command = xstrdup(spec->command);
    self->patience_ms = spec->patience_ms > 0 ? spec->patience_ms : PATIENCE_MS;
    self->got = spec->got;
    self->user = spec->user;
    strbuf_init(&self->said);
    strbuf_init(&self->complaint);
    message_list_init(&self->messages);
    start_command(self);
    return &self->base;
}
