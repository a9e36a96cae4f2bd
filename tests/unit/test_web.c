/* Tests of web_search and the HTTP client, against a real server on the loopback: a thread that answers one request per
 * connection with a prepared answer. */

#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/http.h"
#include "support/test.h"
#include "tools/bounded.h"
#include "tools/registry.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

struct server {
    pthread_t thread;
    int listener;
    pthread_mutex_t lock; /* of what follows */
    const char *answer;   /* sent as it is; NULL: nothing, until the client goes away */
    bool drips;           /* byte by byte */
    char request[8192];   /* the last one's head */
};

struct fixture {
    struct server server;
    struct loop *loop;
    struct http *http;
    char *endpoint;
    struct tool_env env;
    struct hold_clock hold;
    struct call_states trace;
    struct bounded_host host;
    struct bounded_call *call;
    struct arena arena;
    struct outcome outcome;
    int outcomes;
    struct strbuf cited;

    /* of plain transfers */
    struct http_transfer *transfer;
    struct strbuf body;
    int datas, dones;
    long status, status_at_data;
    char error[512];
    char type[64];
    bool timed_out, too_long, cancels_in_data, starts_again;
    int64_t retry_after_ms;
};

static bool read_head(int fd, char *head, size_t room)
{
    size_t used = 0;
    head[0] = '\0';
    while (used < room - 1 && !strstr(head, "\r\n\r\n")) {
        ssize_t got = read(fd, head + used, room - 1 - used);
        if (got <= 0)
            return false;
        used += (size_t)got;
        head[used] = '\0';
    }
    return true;
}

static void serve_one(struct server *server, int fd)
{
    char head[sizeof(server->request)];
    char byte;
    if (!read_head(fd, head, sizeof(head)))
        return;
    pthread_mutex_lock(&server->lock);
    memcpy(server->request, head, sizeof(head));
    const char *answer = server->answer;
    bool drips = server->drips;
    pthread_mutex_unlock(&server->lock);
    while (!answer && read(fd, &byte, 1) > 0)
        ;
    for (size_t left = answer ? strlen(answer) : 0; left;) {
        ssize_t done = send(fd, answer, drips ? 1 : left, MSG_NOSIGNAL);
        if (done <= 0)
            return;
        answer += done;
        left -= (size_t)done;
    }
}

static void *serve(void *data)
{
    struct server *server = data;
    for (int fd; (fd = accept(server->listener, NULL, NULL)) >= 0; close(fd))
        serve_one(server, fd);
    return NULL;
}

static int start_server(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    pthread_mutex_init(&server->lock, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    return ntohs(address.sin_port);
}

static void on_done(struct bounded_host *host, void *data, struct outcome *take_outcome)
{
    struct fixture *f = (struct fixture *)((char *)host - offsetof(struct fixture, host));
    size_t count;
    const struct citation *citations = bounded_call_citations(f->call, &count);
    (void)data;
    for (size_t i = 0; i < count; i++) {
        assert_true(citations[i].web);
        strbuf_addf(&f->cited, "%s ", citations[i].ref);
    }
    f->outcome = *take_outcome;
    f->outcomes++;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    setenv("no_proxy", "127.0.0.1", 1);
    f->endpoint = xasprintf("http://127.0.0.1:%d/search", start_server(&f->server));
    f->loop = loop_new(clock_system());
    f->http = http_new(f->loop, NULL);
    assert_non_null(f->http);
    f->env = (struct tool_env){.loop = f->loop, .web_endpoint = f->endpoint, .http = f->http, .session = "s"};
    hold_clock_init(&f->hold, clock_system());
    call_states_init(&f->trace);
    f->host =
        (struct bounded_host){.env = &f->env, .trace = &f->trace, .clock = &f->hold, .web = WEB_ON, .done = on_done};
    strbuf_init(&f->cited);
    strbuf_init(&f->body);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->host.pending, 0);
    http_free(f->http);
    loop_free(f->loop);
    shutdown(f->server.listener, SHUT_RDWR);
    pthread_join(f->server.thread, NULL);
    close(f->server.listener);
    pthread_mutex_destroy(&f->server.lock);
    if (f->outcomes)
        outcome_release(&f->outcome);
    call_states_release(&f->trace);
    arena_release(&f->arena);
    strbuf_release(&f->cited);
    strbuf_release(&f->body);
    free(f->endpoint);
    free(f);
    return 0;
}

/* What the server will answer; the text must last. NULL: nothing. */
static void answers(struct fixture *f, const char *text)
{
    pthread_mutex_lock(&f->server.lock);
    f->server.answer = text;
    pthread_mutex_unlock(&f->server.lock);
}

static bool was_asked(struct fixture *f, const char *text)
{
    pthread_mutex_lock(&f->server.lock);
    bool found = strstr(f->server.request, text);
    pthread_mutex_unlock(&f->server.lock);
    return found;
}

/* web_search */

static struct bounded_call *start_search(struct fixture *f, const char *arguments, double turn_s)
{
    f->call = bounded_execute(&f->host, &(struct bounded_request){
                                            .call = "c1",
                                            .tool = &tool_web_search,
                                            .arguments = json_parse(&f->arena, arguments, strlen(arguments), NULL),
                                            .turn_due_us = hold_clock_now(&f->hold) + (int64_t)(turn_s * 1e6),
                                            .cap_s = 45,
                                        });
    return f->call;
}

static void search(struct fixture *f, const char *arguments)
{
    start_search(f, arguments, 30);
    loop_run(f->loop);
    assert_int_equal(f->outcomes, 1);
}

static void assert_failed(struct fixture *f, bool retryable, const char *error)
{
    assert_int_equal(f->outcome.type, OUTCOME_FAILURE);
    assert_non_null(strstr(f->outcome.failure.error, error));
    assert_int_equal(f->outcome.failure.retryable, retryable);
}

TEST_WITH(results_are_handed_on_and_cited, setup, teardown)
{
    struct fixture *f = *state;
    answers(f, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
               "{\"results\":[{\"title\":\"A\",\"url\":\"https://a.example/\",\"snippet\":\"s\",\"score\":1},"
               "{\"title\":\"B\",\"url\":\"javascript:alert(1)\"},7,{\"url\":\"http://c.example/\"},"
               "{\"url\":\"http://d.example/\"}]}");
    search(f, "{\"query\":\"tea & \\u00e9?\",\"max\":3}");
    assert_int_equal(f->outcome.type, OUTCOME_RESULT);
    assert_string_equal(f->outcome.result.output, "{\"query\":\"tea & é?\",\"results\":["
                                                  "{\"title\":\"A\",\"url\":\"https://a.example/\",\"snippet\":\"s\"},"
                                                  "{\"title\":\"B\",\"url\":\"javascript:alert(1)\",\"snippet\":\"\"},"
                                                  "{\"title\":\"\",\"url\":\"http://c.example/\",\"snippet\":\"\"}]}");
    assert_string_equal(f->cited.buf, "https://a.example/ http://c.example/ ");
    assert_true(was_asked(f, "GET /search?q=tea%20%26%20%C3%A9%3F&count=3 HTTP/1.1\r\n"));
    assert_true(was_asked(f, "Accept: application/json\r\n"));
}

TEST_WITH(an_endpoint_with_a_query_of_its_own, setup, teardown)
{
    struct fixture *f = *state;
    CLEANUP(free) char *endpoint = xasprintf("%s?key=1", f->endpoint);
    f->env.web_endpoint = endpoint;
    answers(f, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"results\":[]}");
    search(f, "{\"query\":\"x\"}");
    assert_string_equal(f->outcome.result.output, "{\"query\":\"x\",\"results\":[]}");
    assert_true(was_asked(f, "GET /search?key=1&q=x&count=5 "));
}

TEST_WITH(no_endpoint_no_client, setup, teardown)
{
    struct fixture *f = *state;
    f->env.web_endpoint = NULL;
    search(f, "{\"query\":\"x\"}");
    assert_failed(f, false, "web_search has no endpoint (set web.endpoint in the configuration)");
    outcome_release(&f->outcome);
    f->outcomes = 0;
    f->env.web_endpoint = f->endpoint;
    f->env.http = NULL;
    search(f, "{\"query\":\"x\"}");
    assert_failed(f, false, "no HTTP client");
}

static void fails(struct fixture *f, const char *answer, const char *error)
{
    answers(f, answer);
    search(f, "{\"query\":\"x\"}");
    assert_failed(f, true, error);
    assert_int_equal(f->cited.len, 0);
    outcome_release(&f->outcome);
    f->outcomes = 0;
}

TEST_WITH(bad_answers_are_named, setup, teardown)
{
    struct fixture *f = *state;
    fails(f, "HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n{\"results\":[]}", "HTTP status 500");
    fails(f, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n",
          "follows no redirects");
    fails(f, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>", "not JSON");
    fails(f, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"answer\":[]}", "no list of results");
    fails(f, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"results\":{}}", "no list of results");
    fails(f, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n{", "the web search failed");
    fails(f, "nonsense\r\n\r\n", "the web search failed");
}

TEST_WITH(an_answer_that_is_too_long, setup, teardown)
{
    struct fixture *f = *state;
    CLEANUP(strbuf) struct strbuf answer = STRBUF_INIT;
    strbuf_addstr(&answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"results\":[],\"x\":\"");
    while (answer.len < (1 << 20) + 200)
        strbuf_addch(&answer, 'x');
    strbuf_addstr(&answer, "\"}");
    /* The server may still be sending when the client has had enough; the arena outlives it. */
    fails(f, arena_memdup0(&f->arena, answer.buf, answer.len), "longer than 1048576 bytes");
}

TEST_WITH(no_server_listens, setup, teardown)
{
    struct fixture *f = *state;
    f->env.web_endpoint = "http://127.0.0.1:1/";
    search(f, "{\"query\":\"x\"}");
    assert_failed(f, true, "the web search failed: ");
}

TEST_WITH(only_http_is_spoken, setup, teardown)
{
    struct fixture *f = *state;
    f->env.web_endpoint = "file:///etc/passwd";
    search(f, "{\"query\":\"x\"}");
    assert_failed(f, true, "the web search failed: ");
}

TEST_WITH(silence_ends_with_the_token, setup, teardown)
{
    struct fixture *f = *state;
    answers(f, NULL);
    start_search(f, "{\"query\":\"x\"}", 0.2); /* the hard wait is 5 s, but the token has 0.2 s left */
    loop_run(f->loop);
    assert_failed(f, true, "no complete answer within 0.");
    assert_true(f->outcome.elapsed_ms < 4000);
}

struct soon {
    struct loop_timer timer;
    struct bounded_call *call;
};

static void cancel_call(struct loop_timer *timer)
{
    bounded_cancel(((struct soon *)timer)->call);
}

TEST_WITH(cancel_lets_go_of_the_connection, setup, teardown)
{
    struct fixture *f = *state;
    answers(f, NULL);
    struct soon soon = {.call = start_search(f, "{\"query\":\"x\"}", 30)};
    loop_timer_start(f->loop, &soon.timer, loop_now_us(f->loop) + 50000, cancel_call);
    loop_run(f->loop);
    assert_failed(f, true, "canceled by the user");
}

TEST_WITH(the_schema_guards_the_arguments, setup, teardown)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct registry *registry = registry_new();
    assert_int_equal(registry_add(registry, &tool_web_search, &err), 0);
    const struct json *many = json_parse(&f->arena, "{\"query\":\"x\",\"max\":21}", 22, NULL);
    const struct json *empty = json_parse(&f->arena, "{\"query\":\"\"}", 12, NULL);
    assert_int_equal(registry_validate(registry, &tool_web_search, many, &err), -1);
    assert_string_equal(err.text, "max: must be at most 20, is 21");
    assert_int_equal(registry_validate(registry, &tool_web_search, empty, &err), -1);
    assert_string_equal(err.text, "query: must not be empty");
    registry_free(registry);
    assert_int_equal(tool_web_search.spec.effect, EFFECT_NETWORK);
    assert_true(tool_web_search.spec.idempotent);
    assert_string_equal(tool_web_search.spec.resource_keys[0], "web");
}

/* ---- the client itself ---- */

static void got_data(void *user, const char *bytes, size_t len)
{
    struct fixture *f = user;
    f->datas++;
    f->status_at_data = http_status(f->transfer);
    strbuf_add(&f->body, bytes, len);
    if (f->cancels_in_data)
        http_cancel(f->transfer);
}

static void got_done(void *user, const struct http_result *result);

static void request(struct fixture *f, const struct http_request *like)
{
    struct http_request request = *like;
    request.url = like->url ? like->url : f->endpoint;
    request.on_data = got_data;
    request.on_done = got_done;
    request.user = f;
    f->transfer = http_start(f->http, &request);
}

static void got_done(void *user, const struct http_result *result)
{
    struct fixture *f = user;
    f->dones++;
    f->status = result->status;
    f->timed_out = result->timed_out;
    f->too_long = result->too_long;
    f->retry_after_ms = result->retry_after_ms;
    snprintf(f->error, sizeof(f->error), "%s", result->error ? result->error : "");
    snprintf(f->type, sizeof(f->type), "%s", result->content_type ? result->content_type : "");
    if (f->starts_again) {
        f->starts_again = false;
        request(f, &(struct http_request){0});
    }
}

TEST_WITH(http_posts_a_body_with_headers, setup, teardown)
{
    struct fixture *f = *state;
    answers(f, "HTTP/1.1 429 Slow\r\nContent-Type: text/plain\r\nRetry-After: 7\r\nConnection: close\r\n\r\nwait");
    static const char *const headers[] = {"X-Key: v", "Content-Type: application/json", NULL};
    request(f, &(struct http_request){.headers = headers, .body = "{}", .body_len = 2});
    assert_int_equal(f->dones, 0);
    loop_run(f->loop);
    assert_int_equal(f->dones, 1);
    assert_string_equal(f->error, "");
    assert_int_equal(f->status, 429);
    assert_int_equal(f->status_at_data, 429);
    assert_int_equal(f->retry_after_ms, 7000);
    assert_string_equal(f->type, "text/plain");
    assert_string_equal(f->body.buf, "wait");
    assert_true(was_asked(f, "POST /search HTTP/1.1\r\n"));
    assert_true(was_asked(f, "X-Key: v\r\n"));
    assert_true(was_asked(f, "Content-Type: application/json\r\n"));
    assert_true(was_asked(f, "Content-Length: 2\r\n"));
    assert_false(was_asked(f, "Expect"));
}

TEST_WITH(http_streams, setup, teardown)
{
    struct fixture *f = *state;
    f->server.drips = true; /* before any connection */
    answers(f, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    request(f, &(struct http_request){.limit = 7});
    loop_run(f->loop);
    assert_string_equal(f->error, "");
    assert_string_equal(f->body.buf, "abcdefg");
    assert_int_equal(f->retry_after_ms, -1);
}

TEST_WITH(http_limit_and_timeout, setup, teardown)
{
    struct fixture *f = *state;
    answers(f, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n12345678");
    request(f, &(struct http_request){.limit = 7});
    loop_run(f->loop);
    assert_true(f->too_long);
    assert_string_equal(f->error, "the answer is longer than 7 bytes");
    answers(f, NULL);
    request(f, &(struct http_request){.timeout_ms = 60});
    loop_run(f->loop);
    assert_int_equal(f->dones, 2);
    assert_true(f->timed_out);
    assert_string_equal(f->error, "no complete answer within 0.06 s");
}

TEST_WITH(http_cancel_from_within_data, setup, teardown)
{
    struct fixture *f = *state;
    answers(f, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    f->cancels_in_data = true;
    request(f, &(struct http_request){0});
    loop_run(f->loop);
    assert_int_equal(f->datas, 1);
    assert_int_equal(f->dones, 0);
}

TEST_WITH(http_start_from_within_done, setup, teardown)
{
    struct fixture *f = *state;
    answers(f, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    f->starts_again = true;
    request(f, &(struct http_request){0});
    loop_run(f->loop);
    assert_int_equal(f->dones, 2);
    assert_string_equal(f->body.buf, "abcabc");
}

TEST_WITH(http_cancel_and_free_with_requests_under_way, setup, teardown)
{
    struct fixture *f = *state;
    request(f, &(struct http_request){0});
    http_cancel(f->transfer);
    request(f, &(struct http_request){0});
    request(f, &(struct http_request){.url = "http://127.0.0.1:1/"});
    http_free(f->http);
    f->http = NULL;
    loop_run(f->loop);
    assert_int_equal(f->dones, 0);
}

TEST_WITH(http_explains_a_bad_address, setup, teardown)
{
    struct fixture *f = *state;
    static const char *const urls[] = {"", "not a url", "ftp://127.0.0.1/", "http://"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        request(f, &(struct http_request){.url = urls[i]});
        assert_int_equal(f->dones, (int)i);
        loop_run(f->loop);
        assert_string_not_equal(f->error, "");
        assert_int_equal(f->status, 0);
    }
}
