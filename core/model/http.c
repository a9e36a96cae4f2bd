/* Runs curl's multi interface on the loop. curl names the sockets and the time it waits for, and this file calls curl
 * when they are due. It watches sockets with uv_poll, because loop_watch_fd only watches for reading; that is why it
 * includes <uv.h>.
 *
 * curl forbids most calls from within its own callbacks. If a user cancels or starts a transfer there, the transfer is
 * only marked. sweep() does the rest right after curl returns. */

#define CURL_DISABLE_TYPECHECK /* its checks are macros around names that are pointers here */

#include "http.h"
#include "base/lazy_link.h"
#include "base/loop.h"
#include "base/loop_meter.h"
#include "base/mem.h"
#include "provider.h"
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define CONNECT_TIMEOUT_MS 20000L
#define HTTP_TOO_MANY      429
#define BUFFER_BYTES       16384L /* read at once, and up to a hundred times before curl returns to the loop */
#define UPLOAD_BYTES                                                                                  \
    122880L /* sent at once: fewer trips through the loop, and malloc does not map it again each time \
             */

/* The curl functions in use, without "curl_". clang-format breaks the list differently on every run. */
/* clang-format off */
#define CURL_CALLS(X) \
    X(easy_cleanup) X(easy_getinfo) X(easy_header) X(easy_init) X(easy_setopt) X(easy_strerror) \
    X(global_init) X(multi_add_handle) X(multi_assign) X(multi_cleanup) X(multi_info_read) X(multi_init) \
    X(multi_remove_handle) X(multi_setopt) X(multi_socket_action) X(multi_strerror) X(slist_append) \
    X(slist_free_all)
/* clang-format on */

static struct {
#define X(name) __typeof__(curl_##name) *name;
    CURL_CALLS(X)
#undef X
} curl;

struct http {
    struct loop *loop;
    CURLM *multi;
    struct loop_timer timer;
    struct http_transfer *first;
    const char *authorities; /* a file of certificates to trust instead of the system's; NULL: the system's */
    bool inside;             /* curl is running */
};

struct http_transfer {
    struct http *http;
    struct http_transfer *next, *prev;
    CURL *easy;
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    bool added;     /* added to curl */
    bool cancelled; /* sweep() frees it */
    bool too_long;
    size_t received, limit;
    int64_t timeout_ms;
    void (*on_data)(void *user, const char *bytes, size_t len);
    void (*on_done)(void *user, const struct http_result *result);
    void *user;
};

/* A socket of curl's. */
struct watch {
    uv_poll_t poll;
    struct http *http;
    curl_socket_t socket;
    int events; /* that curl waits for */
};

static void free_transfer(struct http_transfer *transfer)
{
    struct http *http = transfer->http;
    if (transfer->added)
        curl.multi_remove_handle(http->multi, transfer->easy);
    curl.easy_cleanup(transfer->easy);
    curl.slist_free_all(transfer->headers);
    *(transfer->prev ? &transfer->prev->next : &http->first) = transfer->next;
    if (transfer->next)
        transfer->next->prev = transfer->prev;
    loop_let_go(http->loop);
    free(transfer);
}

static void add_transfer(struct http_transfer *transfer)
{
    CURLMcode code = curl.multi_add_handle(transfer->http->multi, transfer->easy);
    if (code)
        BUG("libcurl refused the request: %s", curl.multi_strerror(code));
    transfer->added = true;
}

/* Does what was impossible while curl was running. */
static void sweep(struct http *http)
{
    struct http_transfer *next;
    for (struct http_transfer *transfer = http->first; transfer; transfer = next) {
        next = transfer->next;
        if (transfer->cancelled)
            free_transfer(transfer);
        else if (!transfer->added)
            add_transfer(transfer);
    }
}

static bool is_hopeless(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_URL_MALFORMAT ||
           code == CURLE_UNSUPPORTED_PROTOCOL;
}

/* Returns true if the failed connection did not go to the address itself but to a proxy. curl's message names both
 * ends. Only future versions report whether a proxy was used. */
static bool is_elsewhere(const struct http_transfer *transfer)
{
    char host[256], *url = NULL;
    unsigned port;
    if (sscanf(transfer->error, "Failed to connect to %255s port %u", host, &port) != 2)
        return false;
    curl.easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &url);
    const char *at = url ? strstr(url, "://") : NULL;
    if (!at)
        return false;
    at += at[3] == '[' ? 4 : 3;
    size_t len = strlen(host);
    if (strncasecmp(at, host, len) != 0 || !strchr("]:/?#", at[len]))
        return true;
    at += len + (at[len] == ']');
    unsigned usual = strncasecmp(url, "https", 5) == 0 ? 443 : 80;
    return port != (*at == ':' ? (unsigned)strtoul(at + 1, NULL, 10) : usual);
}

static enum http_trouble trouble_of(const struct http_transfer *transfer, CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return HTTP_NO_NAME;
    case CURLE_COULDNT_CONNECT:
        return is_elsewhere(transfer) ? HTTP_NO_PROXY : HTTP_NO_SERVER;
    case CURLE_COULDNT_RESOLVE_PROXY:
        return HTTP_NO_PROXY;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return HTTP_NO_TRUST;
    case CURLE_SSL_CONNECT_ERROR:
        return HTTP_NO_TLS;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        return HTTP_NO_HTTP;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return http_status(transfer) ? HTTP_CUT : HTTP_NO_WORD;
    default:
        return HTTP_TROUBLE;
    }
}

/* Returns NULL if there is no such header. Valid until the next lookup. */
static const char *header_of(CURL *easy, const char *name)
{
    struct curl_header *header;
    return curl.easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value : NULL;
}

static int64_t wait_of(CURL *easy, const char *name, double unit_ms)
{
    const char *value = header_of(easy, name);
    int64_t wait = value ? retry_parse_delay(value, unit_ms) : -1;
    return wait > 0 ? wait : -1; /* 0 leaves the delay to us */
}

/* Returns when the exceeded limit resets: the one with nothing left, or else the one that takes longest. */
static int64_t limit_reset_ms(CURL *easy)
{
    static const char *const limits[][2] = {
        {"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
        {"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
    };
    int64_t longest = -1, spent = -1;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const char *left = header_of(easy, limits[i][0]);
        bool none = left && strcmp(left, "0") == 0;
        int64_t wait = wait_of(easy, limits[i][1], 1000);
        longest = wait > longest ? wait : longest;
        spent = none && wait > spent ? wait : spent;
    }
    return spent >= 0 ? spent : longest;
}

/* retry-after holds seconds or a date, which curl parses. Some servers also send milliseconds, or only the time when
 * their limits reset. */
static int64_t retry_after_ms(CURL *easy, long status)
{
    curl_off_t wait_s = 0;
    int64_t wait = wait_of(easy, "retry-after-ms", 1);
    if (wait < 0)
        wait = wait_of(easy, "retry-after", 1000);
    if (wait < 0 && curl.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s) == CURLE_OK && wait_s > 0)
        wait = wait_s < RETRY_MAX_MS / 1000 ? wait_s * 1000 : RETRY_MAX_MS;
    return wait < 0 && status == HTTP_TOO_MANY ? limit_reset_ms(easy) : wait;
}

static void finish(struct http_transfer *transfer, CURLcode code)
{
    struct http_result result = {.timed_out = code == CURLE_OPERATION_TIMEDOUT,
                                 .hopeless = is_hopeless(code),
                                 .trouble = trouble_of(transfer, code)};
    char text[CURL_ERROR_SIZE + 64];
    if (transfer->too_long) {
        result.too_long = true;
        snprintf(text, sizeof(text), "the answer is longer than %zu bytes", transfer->limit);
    } else if (result.timed_out && transfer->timeout_ms) {
        snprintf(text, sizeof(text), "no complete answer within %.6g s", (double)transfer->timeout_ms / 1000);
    } else {
        snprintf(text, sizeof(text), "%s", *transfer->error ? transfer->error : curl.easy_strerror(code));
    }
    result.error = code == CURLE_OK ? NULL : text;
    result.status = http_status(transfer);
    char *location = NULL;
    curl.easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &location);
    result.location = location;
    result.retry_after_ms = retry_after_ms(transfer->easy, result.status);
    result.content_type = http_content_type(transfer);
    /* Remove it from curl first, so that on_done may start the next request on the same connection. */
    curl.multi_remove_handle(transfer->http->multi, transfer->easy);
    transfer->added = false;
    transfer->http->inside = true; /* canceling this transfer from on_done has no effect: it is freed below */
    transfer->on_done(transfer->user, &result);
    transfer->http->inside = false;
    struct http *http = transfer->http;
    free_transfer(transfer);
    sweep(http);
}

static void run_curl(struct http *http, curl_socket_t socket, int events)
{
    int running, left;
    http->inside = true;
    curl.multi_socket_action(http->multi, socket, events, &running);
    http->inside = false;
    sweep(http);
    for (CURLMsg *message; (message = curl.multi_info_read(http->multi, &left));) {
        struct http_transfer *transfer;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        finish(transfer, message->data.result);
    }
}

/* ---- callbacks of curl ---- */

/* Reports a socket with an error as readable. Data from before the error is still there, and the read then returns the
 * error. If this reported an error, curl would look at neither. libuv stops watching such a socket, so this watches it
 * again for the rest. */
static void on_http_ready(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    int what = (events & UV_READABLE ? CURL_CSELECT_IN : 0) | (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    LOOP_CALL("socket", on_http_ready,
              run_curl(watch->http, watch->socket, status < 0 ? CURL_CSELECT_IN | CURL_CSELECT_OUT : what));
    if (status < 0 && !uv_is_closing((uv_handle_t *)poll)) /* the loop frees it later */
        uv_poll_start(poll, watch->events, on_http_ready);
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *socket_user)
{
    (void)easy;
    struct http *http = user;
    struct watch *watch = socket_user;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            uv_close((uv_handle_t *)&watch->poll, free_watch);
        curl.multi_assign(http->multi, socket, NULL);
        return 0;
    }
    if (!watch) {
        watch = xcalloc(1, sizeof(*watch));
        watch->http = http;
        watch->socket = socket;
        if (uv_poll_init_socket(loop_uv(http->loop), &watch->poll, socket)) {
            free(watch);
            return -1;
        }
        watch->poll.data = watch;
        curl.multi_assign(http->multi, socket, watch);
    }
    watch->events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watch->poll, watch->events, on_http_ready) ? -1 : 0;
}

static void on_http_timer(struct loop_timer *timer)
{
    struct http *http = CONTAINER_OF(timer, struct http, timer);
    run_curl(http, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout(CURLM *multi, long ms, void *user)
{
    (void)multi;
    struct http *http = user;
    if (ms < 0)
        loop_timer_stop(http->loop, &http->timer);
    else
        loop_timer_start(http->loop, &http->timer, loop_now_us(http->loop) + (int64_t)ms * 1000, on_http_timer);
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct http_transfer *transfer = user;
    size_t len = size * count;
    if (transfer->cancelled)
        return CURL_WRITEFUNC_ERROR;
    if (transfer->limit && len > transfer->limit - transfer->received) {
        transfer->too_long = true;
        return CURL_WRITEFUNC_ERROR;
    }
    transfer->received += len;
    if (transfer->on_data)
        transfer->on_data(transfer->user, bytes, len);
    return transfer->cancelled ? CURL_WRITEFUNC_ERROR : len;
}

/* ---- setting up ---- */

static int load_curl(struct err *err)
{
    static bool loaded;
    static const struct lazy_symbol symbols[] = {
#define X(name) {"curl_" #name, (void **)&curl.name},
        CURL_CALLS(X)
#undef X
    };
    if (loaded)
        return 0;
    if (lazy_link(LIBCURL, symbols, COUNT_OF(symbols), err) < 0)
        return -1;
    if (curl.global_init(CURL_GLOBAL_DEFAULT))
        return err_set(err, "cannot start libcurl");
    loaded = true;
    return 0;
}

struct http *http_new(struct loop *loop, struct err *err)
{
    if (load_curl(err) < 0)
        return NULL;
    struct http *http = xcalloc(1, sizeof(*http));
    http->loop = loop;
    http->authorities = getenv("SSL_CERT_FILE"); /* like OpenSSL and the curl program */
    http->multi = curl.multi_init();
    if (!http->multi)
        BUG("cannot start libcurl");
    curl.multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl.multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl.multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl.multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    return http;
}

void http_free(struct http *http)
{
    if (!http)
        return;
    if (http->inside)
        BUG("the HTTP client is freed from within a callback of its own");
    while (http->first)
        free_transfer(http->first);
    curl.multi_cleanup(http->multi); /* closes kept connections, which may set the timer once more */
    loop_timer_stop(http->loop, &http->timer);
    free(http);
}

static void set_body(CURL *easy, const struct http_request *request)
{
    if (request->body) {
        curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        curl.easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    }
    if (request->method && strcmp(request->method, "GET") != 0)
        curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_headers(struct http_transfer *transfer, const struct http_request *request)
{
    /* Without this, curl asks for permission to send a longer body and waits a second for it. */
    transfer->headers = curl.slist_append(NULL, "Expect:");
    for (size_t i = 0; request->headers && request->headers[i]; i++)
        transfer->headers = curl.slist_append(transfer->headers, request->headers[i]);
    curl.easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
}

struct http_transfer *http_start(struct http *http, const struct http_request *request)
{
    struct http_transfer *transfer = xcalloc(1, sizeof(*transfer));
    CURL *easy = curl.easy_init();
    if (!easy)
        BUG("cannot create a libcurl request");
    transfer->http = http;
    transfer->easy = easy;
    transfer->limit = request->limit;
    transfer->timeout_ms = request->timeout_ms;
    transfer->on_data = request->on_data;
    transfer->on_done = request->on_done;
    transfer->user = request->user;
    transfer->next = http->first;
    if (http->first)
        http->first->prev = transfer;
    http->first = transfer;
    loop_hold(http->loop);

    curl.easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl.easy_setopt(easy, CURLOPT_URL, request->url);
    curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl.easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (request->direct && strncmp(request->url, "http:", 5) == 0)
        curl.easy_setopt(easy, CURLOPT_PROXY, "");
    if (http->authorities)
        curl.easy_setopt(easy, CURLOPT_CAINFO, http->authorities);
    curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* a cancel does not wait for a name lookup */
    if (!request->plain)
        curl.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    curl.easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BYTES);
    curl.easy_setopt(easy, CURLOPT_USERAGENT, "keyturn/" KEYTURN_VERSION);
    curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    set_body(easy, request);
    set_headers(transfer, request);
    if (!http->inside)
        add_transfer(transfer);
    return transfer;
}

long http_status(const struct http_transfer *transfer)
{
    long status = 0;
    curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

bool http_compressed(const struct http_transfer *transfer)
{
    const char *coding = header_of(transfer->easy, "content-encoding");
    return coding && strcasecmp(coding, "identity") != 0;
}

const char *http_content_type(const struct http_transfer *transfer)
{
    char *type = NULL;
    curl.easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
    return type;
}

void http_cancel(struct http_transfer *transfer)
{
    if (transfer->http->inside)
        transfer->cancelled = true;
    else
        free_transfer(transfer);
}
