/* Live models, against a server on the loopback in a thread of this program.
 *
 * model-step: from the last byte of an answer that calls read_file to the last byte of the next request, as the server
 * sees it: the whole program with its journal, against a client that does the least that can be done, one socket, one
 * read of the file, cJSON. The median of a turn of many steps, the best of several turns.
 *
 * model-stream: 50 MB of small text deltas through the provider, against curl that throws them away and cJSON that
 * parses them. */

#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include "bench_http.h"
#include "model/http.h"
#include "model/live.h"
#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEPS        40
#define ROUNDS       5
#define FILE_BYTES   2048
#define STREAM_BYTES (16u << 20) /* an answer whose text is about as long as one may be */

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "bench_model: %s\n", what);
    exit(2);
}

/* ---- the server ---- */

struct server {
    pthread_t thread;
    int listener, port;
    struct strbuf answers[STEPS + 1]; /* head and body */
    size_t count;
    double waits_s[STEPS]; /* from each answer to the next request */
    size_t waited;
};

/* Serves one connection after the other. Each starts with the first answer. */
static void *serve(void *data)
{
    struct server *server = data;
    struct strbuf in = STRBUF_INIT;
    size_t body;
    for (int fd; (fd = accept(server->listener, NULL, NULL)) >= 0; close(fd)) {
        double sent_s = 0;
        bench_no_delay(fd);
        for (size_t i = 0; i < server->count && bench_read_message(fd, &in, &body) == 0; i++) {
            if (i > 0)
                server->waits_s[server->waited++] = bench_now_s() - sent_s;
            bench_send(fd, server->answers[i].buf, server->answers[i].len);
            sent_s = bench_now_s();
        }
    }
    strbuf_release(&in);
    return NULL;
}

static void add_answer(struct server *server, const struct strbuf *body)
{
    struct strbuf *answer = &server->answers[server->count++];
    strbuf_init(answer);
    bench_answer(answer, body);
}

static void start_server(struct server *server)
{
    server->listener = bench_listen(&server->port);
    if (pthread_create(&server->thread, NULL, serve, server))
        die("no thread");
}

static void stop_server(struct server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    for (size_t i = 0; i < server->count; i++)
        strbuf_release(&server->answers[i]);
}

/* ---- one step ---- */

static void write_call(struct strbuf *out, int step)
{
    CLEANUP(free)
    char *start = xasprintf("\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_%d\",\"name\":"
                            "\"read_file\",\"input\":{}}",
                            step);
    CLEANUP(free)
    char *path = xasprintf(
        "\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"f%02d.txt\\\"}\"}", step);
    bench_event(out, "message_start",
                "\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":900,\"output_tokens\":1}}");
    bench_event(out, "content_block_start", "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}");
    for (int i = 0; i < 8; i++)
        bench_event(out, "content_block_delta",
                    "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some more words \"}");
    bench_event(out, "content_block_stop", "\"index\":0");
    bench_event(out, "content_block_start", start);
    bench_event(out, "content_block_delta",
                "\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"path\\\": \"}");
    bench_event(out, "content_block_delta", path);
    bench_event(out, "content_block_stop", "\"index\":1");
    bench_event(out, "message_delta", "\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":60}");
    bench_event(out, "message_stop", "\"n\":0");
}

static void write_end(struct strbuf *out)
{
    bench_event(out, "content_block_start", "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Done.\"}");
    bench_event(out, "message_delta", "\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":60}");
    bench_event(out, "message_stop", "\"n\":0");
}

static char *dir, *workspace;
static const char *program;
static struct server steps;

static void product(void)
{
    static int number;
    CLEANUP(free) char *record = xasprintf("%s/%d.jsonl", dir, number++);
    CLEANUP(free) char *config = xasprintf("%s/config.json", dir);
    const char *const argv[] = {program,     "run",      "--headless",     "--workspace", workspace,
                                "--record",  record,     "--config",       config,        "--budget",
                                "steps=100", "--budget", "tool_calls=100", "Read them.",  NULL};
    if (bench_run_program(argv, 0) < 0)
        die("the turn failed");
}

/* The request of the minimal client: all messages so far, as cJSON. */
static void say(int fd, const cJSON *request)
{
    char *body = cJSON_PrintUnformatted(request), head[256];
    size_t len = strlen(body);
    int head_len =
        snprintf(head, sizeof(head), "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", len);
    CLEANUP(free) char *both = xmalloc((size_t)head_len + len);
    memcpy(both, head, (size_t)head_len);
    memcpy(both + head_len, body, len);
    bench_send(fd, both, (size_t)head_len + len);
    free(body);
}

static cJSON *block(cJSON *messages, const char *role, const char *type)
{
    cJSON *message = cJSON_CreateObject(), *content = cJSON_AddArrayToObject(message, "content"),
          *made = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "role", role);
    cJSON_AddItemToArray(messages, message);
    cJSON_AddStringToObject(made, "type", type);
    cJSON_AddItemToArray(content, made);
    return made;
}

/* Collects the arguments of the call in the events of an answer. False if the answer has no call. */
static bool hear(char *stream, char arguments[256], char id[64])
{
    size_t used = 0;
    bool called = false;
    for (char *line = stream, *end; (end = strstr(line, "\n\n")); line = end + 2) {
        const char *data = strstr(line, "data: ");
        *end = '\0';
        cJSON *value = cJSON_Parse(data + 6);
        const cJSON *delta = cJSON_GetObjectItemCaseSensitive(value, "delta"),
                    *piece = cJSON_GetObjectItemCaseSensitive(delta, "partial_json"),
                    *start = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(value, "content_block"),
                                                              "id");
        if (start) {
            snprintf(id, 64, "%s", start->valuestring);
            called = true;
        }
        if (piece)
            used += (size_t)snprintf(arguments + used, 256 - used, "%s", piece->valuestring);
        cJSON_Delete(value);
    }
    return called;
}

static void least(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)steps.port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct strbuf in = STRBUF_INIT;
    cJSON *request = cJSON_CreateObject(), *messages = cJSON_AddArrayToObject(request, "messages");
    char arguments[256] = "", id[64] = "", path[512], text[FILE_BYTES + 1];
    size_t body;
    cJSON_AddStringToObject(block(messages, "user", "text"), "text", "Read them.");
    bench_no_delay(fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
        die("no connection");
    say(fd, request);
    while (bench_read_message(fd, &in, &body) == 0 && hear(in.buf + body, arguments, id)) {
        cJSON *input = cJSON_Parse(arguments), *call = block(messages, "assistant", "tool_use"),
              *result = block(messages, "user", "tool_result");
        snprintf(path, sizeof(path), "%s/%s", workspace, cJSON_GetObjectItemCaseSensitive(input, "path")->valuestring);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = read(file, text, FILE_BYTES);
        close(file);
        text[got > 0 ? got : 0] = '\0';
        cJSON_AddStringToObject(call, "id", id);
        cJSON_AddItemToObject(call, "input", input);
        cJSON_AddStringToObject(result, "tool_use_id", id);
        cJSON_AddStringToObject(result, "content", text);
        say(fd, request);
    }
    cJSON_Delete(request);
    strbuf_release(&in);
    close(fd);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Returns the median wait of one turn. */
static double median_of(void (*client)(void))
{
    steps.waited = 0;
    client();
    if (steps.waited != STEPS)
        die("not every step was taken");
    qsort(steps.waits_s, STEPS, sizeof(*steps.waits_s), by_size);
    return steps.waits_s[STEPS / 2];
}

static void write_files(void)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(free) char *config = xasprintf("%s/config.json", dir);
    for (int line = 0; text.len < FILE_BYTES; line++)
        strbuf_addf(&text, "%03d the quick brown fox jumps over it\n", line);
    for (int i = 0; i < STEPS; i++) {
        CLEANUP(free) char *path = xasprintf("%s/f%02d.txt", workspace, i);
        if (file_replace(path, text.buf, FILE_BYTES, 0600, NULL))
            die("no files");
    }
    strbuf_reset(&text);
    strbuf_addf(&text,
                "{\"model\":\"m\",\"models\":{\"m\":{\"provider\":\"anthropic\",\"model\":\"m\",\"base_url\":\"http://"
                "127.0.0.1:%d\"}}}",
                steps.port);
    if (file_replace(config, text.buf, text.len, 0600, NULL))
        die("no config");
}

static void bench_steps(void)
{
    double value = 1e9, floor = 1e9;
    for (int i = 0; i <= STEPS; i++) {
        CLEANUP(strbuf) struct strbuf body = STRBUF_INIT;
        if (i < STEPS)
            write_call(&body, i);
        else
            write_end(&body);
        add_answer(&steps, &body);
    }
    start_server(&steps);
    write_files();
    for (int i = 0; i < ROUNDS; i++) {
        double f = median_of(least), v = median_of(product);
        floor = f < floor ? f : floor;
        value = v < value ? v : value;
    }
    bench_report("model-step", value * 1e6, "us", floor * 1e6, 6);
    stop_server(&steps);
}

/* ---- a long stream ---- */

static struct server streams;
static struct strbuf stream_body = STRBUF_INIT;
static size_t stream_heard;

static void on_delta(struct model_listener *listener, const char *text, const char *thinking)
{
    (void)listener;
    (void)thinking;
    stream_heard += strlen(text);
}

static void on_done(struct model_listener *listener, struct model_reply *reply)
{
    (void)listener;
    if (reply->error || strlen(reply->text) != stream_heard)
        die(reply->error ? reply->error : "the text is not what was heard");
    model_reply_release(reply);
}

static void through_provider(void *none)
{
    CLEANUP(free) char *url = xasprintf("http://127.0.0.1:%d", streams.port);
    struct loop *loop = loop_new(clock_system());
    struct http *http = http_new(loop, NULL);
    struct model_listener listener = {.delta = on_delta, .done = on_done};
    struct message_list messages;
    (void)none;
    stream_heard = 0;
    message_list_init(&messages);
    message_list_add(&messages, ROLE_USER, "x");
    struct provider *provider =
        live_new(loop, http, &(struct live_spec){.provider = "anthropic", .model = "m", .base_url = url}, NULL);
    if (!provider)
        die("no provider");
    provider->ops->ask(provider, &(struct model_request){.messages = &messages}, &listener);
    loop_run(loop);
    provider_free(provider);
    http_free(http);
    loop_free(loop);
    message_list_release(&messages);
}

static size_t discard(char *bytes, size_t size, size_t count, void *user)
{
    (void)bytes;
    (void)user;
    return size * count;
}

static void plainly(void *none)
{
    CLEANUP(free) char *url = xasprintf("http://127.0.0.1:%d/", streams.port);
    CURL *curl = curl_easy_init();
    (void)none;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "{}");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
    if (curl_easy_perform(curl) != CURLE_OK)
        die("curl failed");
    curl_easy_cleanup(curl);
    for (const char *at = stream_body.buf, *end; (end = strstr(at, "\n\n")); at = end + 2) {
        const char *data = memchr(at, '{', (size_t)(end - at));
        cJSON_Delete(cJSON_ParseWithLength(data, (size_t)(end - data)));
    }
}

static void bench_stream(void)
{
    bench_event(&stream_body, "content_block_start", "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}");
    while (stream_body.len < STREAM_BYTES)
        bench_event(&stream_body, "content_block_delta",
                    "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" some words\\n\"}");
    bench_event(&stream_body, "message_delta",
                "\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}");
    bench_event(&stream_body, "message_stop", "\"n\":0");
    add_answer(&streams, &stream_body);
    start_server(&streams);
    struct bench_pair pair = bench_compare(ROUNDS, through_provider, plainly, NULL);
    bench_report("model-stream", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.5);
    stop_server(&streams);
    strbuf_release(&stream_body);
}

int main(int argc, char **argv)
{
    CLEANUP(free) char *here = file_program_dir();
    CLEANUP(free) char *beside = xasprintf("%s/../keyturn", here);
    program = argc > 1 ? argv[1] : beside;
    dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    if (!dir)
        return 2;
    workspace = xasprintf("%s/work", dir);
    static const char *const homes[] = {"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    for (size_t i = 0; i < COUNT_OF(homes); i++)
        setenv(homes[i], dir, 1);
    setenv("no_proxy", "127.0.0.1", 1);
    if (file_mkdirs(workspace, 0700, NULL))
        return 2;
    bench_steps();
    bench_stream();
    if (file_remove_tree(dir, NULL))
        return 2;
    free(dir);
    free(workspace);
    return bench_status();
}
