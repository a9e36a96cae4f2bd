/* Models over HTTP: sends a request and turns the stream that answers it into a reply.
 *
 * It handles one request at a time. It extends the body of the last request, passes the answer's events through the SSE
 * reader to the dialect, and builds the reply from them. It keeps the connection for the next request.
 *
 * The end marker of the stream ends the answer, not the end of the connection. Failures after the marker do not matter.
 * If an answer ends early, that is noticed within curl, so a separate task calls the listener. */

#include "live.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "body.h"
#include "http.h"
#include "sse.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define IDLE_MS        120000 /* the longest silence: models think for long, but servers send something meanwhile */
#define LINGER_MS      500    /* how long to wait for the end of the connection after the end marker */
#define ANSWER_MAX     (64u << 20) /* bytes of a stream */
#define BODY_MAX       65536       /* of an answer that is not a stream */
#define HTTP_PAYMENT   402         /* also used for a 429 that reports a spent quota */
#define HTTP_TOO_LARGE 413         /* whatever the body says: proxies send it with HTML */
#define WORDS_MAX      400         /* bytes of a server's error text */

/* What the user can do about a model that did not answer. The hint follows the error in parentheses. Errors that a
 * retry may cure have none. */
static const struct {
    long status;
    const char *keyed, *keyless; /* what to do with a key and without one; NULL: the same */
} hints_by_status[] = {
    {401, "check the key that key_env or key_command gives", "set key_env or key_command"},
    {402, "check the account at the provider", NULL},
    {403, "check the permissions of this key, or choose another model", "set key_env or key_command"},
    {404, "check model and base_url in the config file", NULL},
    {405, "check base_url in the config file", NULL},
    {407, "check the proxy in the environment", NULL},
};

static const char *const hints_by_trouble[] = {
    [HTTP_TROUBLE] = NULL,
    [HTTP_NO_NAME] = "check base_url, and the network of this machine",
    [HTTP_NO_SERVER] = "check that the server runs, and check base_url",
    [HTTP_NO_PROXY] = "check the proxy in the environment",
    [HTTP_NO_TRUST] = "if the server is yours, set SSL_CERT_FILE to the certificate of its authority",
    [HTTP_NO_TLS] = "check that the server speaks TLS; if it does not, base_url begins with http://",
    [HTTP_NO_HTTP] = "check base_url; if the server speaks TLS, it begins with https://",
    [HTTP_NO_WORD] = "the server closed the connection; check base_url, and whether it must begin with https://",
    [HTTP_CUT] = "the server or a proxy closed the connection; its log may say why",
};

/* Returns the hint for this status, or NULL. `keyed`: the request had a key. */
static const char *hint_for_status(long status, bool keyed)
{
    for (size_t i = 0; i < COUNT_OF(hints_by_status); i++)
        if (hints_by_status[i].status == status)
            return keyed || !hints_by_status[i].keyless ? hints_by_status[i].keyed : hints_by_status[i].keyless;
    return NULL;
}

struct live_model {
    struct provider base;
    struct provider_ops ops; /* with the dialect's name */
    const struct dialect *dialect;
    struct loop *loop;
    struct http *http;
    struct live_spec spec; /* the texts are our copies */
    struct arena arena;    /* holds those copies */
    const struct json *options;
    char *url;
    const char *headers[8];

    struct model_listener *listener; /* NULL: no request */
    struct http_transfer *transfer;  /* NULL: none is running */
    struct body request;
    struct sse sse;
    struct answer answer;
    struct strbuf body;  /* of an answer that is not a stream */
    const char *hint;    /* what the user can do about the error; NULL: unknown */
    bool streams, typed; /* whether the body is a stream, and whether that is known */
    int64_t asked_us, heard_us;
    struct loop_timer idle;
    struct loop_task early;
};

static struct live_model *self_of(const struct provider *provider)
{
    return (struct live_model *)provider;
}

/* ---- errors ---- */

/* Returns one bounded line with the hint. Removes the key, which some servers repeat. */
static char *sentence(struct live_model *self, const char *words)
{
    CLEANUP(strbuf) struct strbuf clean = STRBUF_INIT;
    if (!redact_text(&clean, words, strlen(words)))
        strbuf_addstr(&clean, words);
    for (size_t i = 0; i < clean.len; i++)
        if (isspace((unsigned char)clean.buf[i]))
            clean.buf[i] = ' ';
    while (clean.len && (clean.buf[clean.len - 1] == ' ' || clean.buf[clean.len - 1] == '.'))
        strbuf_set_len(&clean, clean.len - 1);
    size_t len = clean.len;
    if (len > WORDS_MAX) {
        for (len = WORDS_MAX; len > 0 && ((unsigned char)clean.buf[len] & 0xc0) == 0x80;)
            len--;
        strbuf_set_len(&clean, len);
        strbuf_addstr(&clean, "…");
    }
    if (self->hint)
        strbuf_addf(&clean, " (%s)", self->hint);
    return strbuf_detach(&clean, NULL);
}

/* Returns the length of "https://host:port", the only part of an address that an error shows. */
static int origin_len(const char *url)
{
    const char *host = strstr(url, "://");
    size_t len = host ? (size_t)(host + 3 - url) : 0;
    return (int)(len + strcspn(url + len, "/?#"));
}

/* The host of a URL, for messages: without scheme and port. */
static const char *find_host(const char *url, int *len)
{
    const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;
    *len = (int)(*host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#"));
    return host;
}

static bool is_retryable(long status)
{
    return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

static void refuse_redirect(struct live_model *self, const char *location)
{
    int here = origin_len(self->url), there = origin_len(location);
    bool same = here == there && strncmp(self->url, location, (size_t)here) == 0;
    answer_fail(&self->answer, false, "%.*s redirects to %s %.*s; Keyturn follows no redirects, correct base_url", here,
                self->url, same ? "another path of" : "another server,", there, location);
}

/* Handles an answer that is not a stream. */
static void fail_plain(struct live_model *self, const struct http_result *result)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    struct answer *answer = &self->answer;
    bool passes = false;
    int len;
    const char *host = find_host(self->url, &len);
    const struct json *body = json_parse(&answer->arena, self->body.buf, self->body.len, NULL);
    bool told = dialect_error(body, &words, &passes);
    bool spent = told && strstr(words.buf, "insufficient_quota");
    self->hint = hint_for_status(spent ? HTTP_PAYMENT : result->status, self->spec.key);
    answer->too_long = result->status == HTTP_TOO_LARGE || (told && dialect_too_long(body));
    if (result->location)
        refuse_redirect(self, result->location);
    else if (result->status >= 400 && told)
        answer_fail(answer, is_retryable(result->status) && !spent, "%ld from %.*s: %s", result->status, len, host,
                    words.buf);
    else if (result->status < 200 || result->status >= 300)
        answer_fail(answer, is_retryable(result->status), "%ld from %.*s", result->status, len, host);
    else if (told)
        answer_fail(answer, passes, "error from %.*s: %s", len, host, words.buf);
    else
        answer_fail(answer, false, "%.*s returned %s, not an event stream; check base_url", len, host,
                    result->content_type ? result->content_type : "no content type");
}

/* ---- answers ---- */

static void forget_request(struct live_model *self)
{
    loop_timer_stop(self->loop, &self->idle);
    loop_unpost(self->loop, &self->early);
    if (self->transfer)
        http_cancel(self->transfer);
    self->transfer = NULL;
    self->listener = NULL;
}

static void report_reply(struct live_model *self, int64_t retry_after_ms)
{
    struct model_listener *listener = self->listener;
    struct model_reply reply;
    bool good = self->answer.ended && !self->answer.error;
    char *opaque = good ? self->dialect->keep(&self->answer, &self->spec) : NULL;
    if (self->answer.error) {
        char *words = sentence(self, self->answer.error);
        free(self->answer.error);
        self->answer.error = words;
    }
    answer_finish(&self->answer, &reply);
    reply.opaque = opaque;
    if (reply.error)
        reply.retry_after_ms = retry_after_ms;
    else if (!isnan(self->spec.prices.input) && self->answer.counted)
        reply.cost_usd = prices_cost(&self->spec.prices, &reply.usage);
    reply.latency_ms = (loop_now_us(self->loop) - self->asked_us) / 1000;
    forget_request(self);
    listener->done(listener, &reply);
}

static void tell_early(struct loop_task *task)
{
    report_reply(CONTAINER_OF(task, struct live_model, early), -1);
}

static void too_quiet(struct loop_timer *timer)
{
    struct live_model *self = CONTAINER_OF(timer, struct live_model, idle);
    int64_t limit_ms = self->answer.ended ? LINGER_MS : self->spec.idle_ms;
    int64_t due_us = self->heard_us + limit_ms * 1000;
    if (loop_now_us(self->loop) < due_us) {
        loop_timer_start(self->loop, &self->idle, due_us, too_quiet);
        return;
    }
    if (!self->answer.ended)
        answer_fail(&self->answer, true, "the server sent no data for %lld s", (long long)(limit_ms / 1000));
    report_reply(self, -1);
}

static bool on_delta(void *user, const char *text, const char *thinking)
{
    struct live_model *self = user;
    if (self->listener && self->listener->delta)
        self->listener->delta(self->listener, text, thinking);
    return self->listener != NULL;
}

static bool on_event(void *user, const char *data, size_t len)
{
    struct live_model *self = user;
    return self->dialect->take(&self->answer, data, len) && self->listener;
}

static bool is_stream(long status, const char *type)
{
    return status == 200 && (!type || strncasecmp(type, "text/event-stream", 17) == 0);
}

/* Stops reading an answer that has failed. */
static void give_up(struct live_model *self)
{
    http_cancel(self->transfer);
    self->transfer = NULL;
    loop_post(self->loop, &self->early, tell_early);
}

static void look_at_head(struct live_model *self)
{
    self->typed = true;
    self->streams = is_stream(http_status(self->transfer), http_content_type(self->transfer));
    if (!self->streams || !http_compressed(self->transfer))
        return;
    answer_fail(&self->answer, false, "the server sent a compressed stream; turn its compression off");
    give_up(self);
}

static void on_data(void *user, const char *bytes, size_t len)
{
    struct live_model *self = user;
    struct err err = ERR_INIT;
    if (!self->typed)
        look_at_head(self);
    if (self->answer.ended || self->answer.error)
        return; /* data after the end marker does not extend the wait */
    self->heard_us = loop_now_us(self->loop);
    if (!self->streams) {
        size_t room = BODY_MAX - self->body.len;
        strbuf_add(&self->body, bytes, len < room ? len : room);
        return;
    }
    if (sse_feed(&self->sse, bytes, len, &err))
        answer_fail(&self->answer, false, "%s", err.text); /* the next attempt would be just as long */
    if (!self->listener)
        return;
    if (self->answer.error) {
        give_up(self);
    } else if (self->answer.ended) {
        loop_timer_start(self->loop, &self->idle, self->heard_us + LINGER_MS * 1000, too_quiet);
    }
}

static void on_http_done(void *user, const struct http_result *result)
{
    struct live_model *self = user;
    struct answer *answer = &self->answer;
    self->transfer = NULL;
    if (answer->ended || answer->error)
        ; /* already reported */
    else if (result->status && !is_stream(result->status, result->content_type))
        fail_plain(self, result); /* even if it was cut off: its status counts */
    else if (result->too_long)
        answer_fail(answer, false, "the answer exceeds %zu MB; raise \"answer_mb\" in the config file",
                    self->spec.answer_max >> 20);
    else if (result->error) {
        self->hint = hints_by_trouble[result->trouble];
        if (result->status)
            answer_fail(answer, true, "the answer ended early: %s", result->error);
        else
            answer_fail(answer, !result->hopeless, "no answer from %.*s: %s", origin_len(self->url), self->url,
                        result->error);
    }
    report_reply(self, result->retry_after_ms);
}

/* ---- requests ---- */

static void live_cancel(struct provider *provider)
{
    forget_request(self_of(provider));
}

static void begin_request(struct live_model *self, struct model_listener *listener)
{
    sse_release(&self->sse);
    sse_init(&self->sse, on_event, self);
    answer_release(&self->answer);
    self->answer.delta = on_delta;
    self->answer.user = self;
    strbuf_reset(&self->body);
    self->hint = NULL;
    self->streams = self->typed = false;
    self->listener = listener;
    self->asked_us = self->heard_us = loop_now_us(self->loop);
    loop_timer_start(self->loop, &self->idle, self->asked_us + self->spec.idle_ms * 1000, too_quiet);
}

static void live_ask(struct provider *provider, const struct model_request *request, struct model_listener *listener)
{
    struct live_model *self = self_of(provider);
    if (self->listener)
        BUG("a request while another is open");
    begin_request(self, listener);
    body_write(&self->request, self->dialect, &(struct dialect_request){&self->spec, self->options, request});
    self->transfer = http_start(self->http, &(struct http_request){
                                                .url = self->url,
                                                .headers = self->headers,
                                                .body = self->request.text.buf,
                                                .body_len = self->request.text.len,
                                                .direct = self->spec.key && !self->spec.allow_http,
                                                .plain = true,
                                                .limit = self->spec.answer_max,
                                                .on_data = on_data,
                                                .on_done = on_http_done,
                                                .user = self,
                                            });
}

static const char *live_model(const struct provider *provider)
{
    return self_of(provider)->spec.model;
}

/* ---- making one ---- */

static void live_free(struct provider *provider)
{
    struct live_model *self = self_of(provider);
    forget_request(self);
    sse_release(&self->sse);
    answer_release(&self->answer);
    strbuf_release(&self->body);
    body_release(&self->request);
    if (self->spec.key)
        explicit_bzero((char *)self->spec.key, strlen(self->spec.key));
    arena_release(&self->arena);
    free(self->url);
    free(self);
}

const char *live_bad_option(const struct json *options)
{
    static const char *const ours[] = {"model", "messages", "system", "tools", "stream", "n"};
    json_each (option, options) {
        for (size_t i = 0; i < COUNT_OF(ours); i++)
            if (strcmp(option->key, ours[i]) == 0)
                return option->key;
        for (const char *at = option->key; *at; at++)
            if (!isalnum((unsigned char)*at) && !strchr("_-.", *at))
                return option->key;
    }
    return NULL;
}

const char *live_bad_url(const char *url)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return "must begin with https:// or http://";
    return memchr(url, '@', (size_t)origin_len(url)) ? "must not contain a user or password; use key_env or key_command"
                                                     : NULL;
}

static const char PLAIN_HTTP[] = "http://";

/* True for 127.0.0.0/8 with all four numbers, [::1] and localhost. Names and other spellings of numbers count as
 * another machine, because nothing is looked up for this. */
static bool is_this_machine(const char *host, size_t len)
{
    static const char *const names[] = {"localhost", "[::1]"};
    unsigned part[4];
    char text[16], rest;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i]) == len && strncasecmp(host, names[i], len) == 0)
            return true;
    if (len >= sizeof(text) || strncmp(host, "127.", 4) != 0)
        return false;
    memcpy(text, host, len);
    text[len] = '\0';
    return strspn(text, "0123456789.") == len &&
           sscanf(text, "%3u.%3u.%3u.%3u%c", &part[0], &part[1], &part[2], &part[3], &rest) == 4 && part[1] < 256 &&
           part[2] < 256 && part[3] < 256;
}

/* Returns the host of a plain http address and its length; NULL for any other address. */
static const char *plain_host(const char *url, size_t *len)
{
    if (!url || strncmp(url, PLAIN_HTTP, strlen(PLAIN_HTTP)) != 0)
        return NULL;
    const char *host = url + strlen(PLAIN_HTTP);
    *len = strcspn(host, "/?#");
    size_t digits = *len;
    while (digits && isdigit((unsigned char)host[digits - 1]))
        digits--;
    if (digits && host[digits - 1] == ':')
        *len = digits - 1; /* the port does not matter */
    return host;
}

int live_check_http(const struct live_spec *spec, const char *name, struct err *err)
{
    size_t len;
    const char *host = plain_host(spec->base_url, &len);
    if (!host || spec->allow_http || is_this_machine(host, len))
        return 0;
    return err_set(err,
                   "model \"%.60s\" would send its key over plain http to %.*s. Use https, or set \"allow_http\": true "
                   "for it.",
                   name, (int)(len < 100 ? len : 100), host);
}

static char *make_url(const struct dialect *dialect, const char *base)
{
    const char *path = dialect->path;
    size_t len = strlen(base);
    while (len && base[len - 1] == '/')
        len--;
    /* Users write the base address with or without the version. */
    if (len > 3 && strncmp(base + len - 3, "/v1", 3) == 0 && strncmp(path, "/v1/", 4) == 0)
        path += 3;
    return xasprintf("%.*s%s", (int)len, base, path);
}

static void make_headers(struct live_model *self)
{
    size_t count = 0;
    self->headers[count++] = "Content-Type: application/json";
    self->headers[count++] = "Accept: text/event-stream";
    self->headers[count++] = "Accept-Encoding: identity"; /* compressed data would arrive in lumps */
    if (self->dialect->header)
        self->headers[count++] = self->dialect->header;
    if (self->spec.key)
        self->headers[count++] = arena_printf(&self->arena, "%s%s", self->dialect->key_header, self->spec.key);
}

static int check_key(const char *key, struct err *err)
{
    for (const char *at = key; at && *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return err_set(err, "the key contains a space or a control character");
    return 0;
}

static int check_spec(const struct live_spec *spec, const struct dialect *dialect, struct err *err)
{
    if (!dialect)
        return err_set(err, "unknown provider \"%.60s\"", spec->provider);
    if (!spec->model || !*spec->model)
        return err_set(err, "the provider \"%s\" needs a \"model\"", spec->provider);
    const char *bad = spec->base_url ? live_bad_url(spec->base_url) : NULL;
    if (bad)
        return err_set(err, "\"base_url\" %s", bad);
    if (spec->key && *spec->key && live_check_http(spec, spec->model, err))
        return -1;
    return check_key(spec->key, err);
}

int live_set_key(struct provider *provider, const char *key, struct err *err)
{
    struct live_model *self = self_of(provider);
    if (check_key(key, err) || live_check_http(&self->spec, self->spec.model, err))
        return -1;
    self->spec.key = arena_strdup(&self->arena, key);
    make_headers(self);
    return 0;
}

struct provider *live_new(struct loop *loop, struct http *http, const struct live_spec *spec, struct err *err)
{
    static const struct provider_ops ops = {
        .model = live_model, .ask = live_ask, .cancel = live_cancel, .free = live_free};
    const struct dialect *dialect = dialect_find(spec->provider);
    if (check_spec(spec, dialect, err))
        return NULL;
    struct live_model *self = xcalloc(1, sizeof(*self));
    self->ops = ops;
    self->ops.name = dialect->name;
    self->base.ops = &self->ops;
    self->dialect = dialect;
    self->loop = loop;
    self->http = http;
    self->spec = *spec;
    self->spec.provider = dialect->name;
    self->spec.model = arena_strdup(&self->arena, spec->model);
    self->spec.key = spec->key && *spec->key ? arena_strdup(&self->arena, spec->key) : NULL;
    self->spec.options = spec->options ? arena_strdup(&self->arena, spec->options) : NULL;
    self->spec.base_url = spec->base_url ? arena_strdup(&self->arena, spec->base_url) : NULL;
    self->spec.idle_ms = spec->idle_ms > 0 ? spec->idle_ms : IDLE_MS;
    self->spec.answer_max = spec->answer_max ? spec->answer_max : ANSWER_MAX;
    self->url = make_url(dialect, spec->base_url ? spec->base_url : dialect->usual_url);
    sse_init(&self->sse, on_event, self);
    answer_init(&self->answer);
    strbuf_init(&self->body);
    body_init(&self->request);
    make_headers(self);
    if (self->spec.options)
        self->options = json_parse(&self->arena, self->spec.options, strlen(self->spec.options), err);
    const char *bad = live_bad_option(self->options);
    if (bad)
        err_set(err, "the option \"%.60s\" is set by Keyturn; remove it", bad);
    if (bad || (self->spec.options && !self->options)) {
        live_free(&self->base);
        return NULL;
    }
    return &self->base;
}
