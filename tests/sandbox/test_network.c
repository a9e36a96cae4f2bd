/* Tests programs with a network, in a real sandbox: real clients reach the listed hosts through our forwarder, and
 * nothing else. The hosts are services of this machine (attacks/services.py): there is no other network here.
 *
 *     sandbox_test_network ['*' ENGINE IMAGE]      bubblewrap without an argument */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/workspace.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *engine = "bwrap", *attacks = ATTACKS_DIR;
static struct programs_options options;
static struct program_rig rig;
static char *folder; /* the content that the services serve */
static pid_t services;
static int services_input;
static unsigned http, https, echo;

static struct recorder told; /* connections */

static void open_with(const char *const *list)
{
    struct network_rule rules[4] = {0};
    const char *visible[] = {attacks, NULL};
    struct programs_options own = options;
    struct err err = ERR_INIT;
    size_t count = 0;
    for (; list[count]; count++)
        if (network_rule_parse(&rules[count], list[count], &err))
            fail_msg("%s", err.text);
    own.network = (struct network_rules){rules, count, "\"workspace.network\""};
    own.visible = visible;
    own.emitter = &told.emitter;
    recorder_forget(&told);
    program_rig_open(&rig, engine, &own);
}

/* The services, by name and by address. */
static void open_listed(void)
{
    CLEANUP(free) char *plain = xasprintf("127.0.0.1:%u", http);
    CLEANUP(free) char *tls = xasprintf("localhost:%u", https);
    CLEANUP(free) char *heard = xasprintf("localhost:%u", echo);
    open_with((const char *const[]){plain, tls, heard, NULL});
}

/* The output of the command; $HTTP, $HTTPS and $ECHO are ports. */
static const char *sh(const char *command)
{
    struct err err = ERR_INIT;
    char ports[3][8];
    snprintf(ports[0], sizeof(ports[0]), "%u", http);
    snprintf(ports[1], sizeof(ports[1]), "%u", https);
    snprintf(ports[2], sizeof(ports[2]), "%u", echo);
    char host[128] = "localhost";
    gethostname(host, sizeof(host) - 1);
    struct env_var vars[] = {{"HTTP", ports[0]},   {"HTTPS", ports[1]}, {"ECHO", ports[2]},
                             {"ATTACKS", attacks}, {"PORT", ports[0]},  {"HOST_NAME", host}};
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", command, NULL},
                                .env = {vars, COUNT_OF(vars)},
                                .call = "c7",
                                .timeout_ms = 120000};
    recorder_forget(&told);
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
    if (rig.result.end.why)
        fail_msg("%s: %s", command, rig.result.end.why);
    return rig.result.out.buf;
}

static void expect(const char *command, const char *out)
{
    const char *said = sh(command);
    if (strcmp(said, out) != 0)
        fail_msg("%s\nprints: %s%s\nand not: %s", command, said, rig.result.err.buf, out);
}

static void expect_told(const char *host, unsigned port)
{
    CLEANUP(free) char *line = xasprintf("c7 %s %u bytes\n", host, port);
    if (!strstr(recorder_text(&told), line))
        fail_msg("recorded: %s", recorder_text(&told));
}

/* ---- listed hosts ---- */

TEST(curl_works_through_the_forwarder)
{
    open_listed();
    expect("curl -sS http://127.0.0.1:$HTTP/hello", "hello\n");
    expect_told("127.0.0.1", http);
    expect("curl -sS --socks5-hostname \"${ALL_PROXY#*//}\" http://localhost:$ECHO/ --max-time 1 2>&1 | grep -c curl",
           "1\n");
    expect_told("localhost", echo);
    expect("curl -sS --socks5-hostname \"${ALL_PROXY#*//}\" http://127.0.0.1:$HTTP/hello", "hello\n");
    program_rig_close(&rig);
}

TEST(https_through_a_tunnel)
{
    CLEANUP(free) char *cert = xasprintf("%s/cert.pem", folder);
    open_listed();
    CLEANUP(free) char *copy = xasprintf("%s/cert.pem", rig.ws->path);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_true(file_read(cert, &text, 0, NULL) >= 0);
    assert_int_equal(file_replace(copy, text.buf, text.len, 0644, NULL), 0);
    expect("curl -sS --cacert cert.pem https://localhost:$HTTPS/hello", "hello\n");
    expect_told("localhost", https);
    expect("curl -sS https://localhost:$HTTPS/hello 2>&1 | grep -c -i 'certificate'; ls /etc/ssl", "1\ncerts\n");
    program_rig_close(&rig);
}

TEST(other_clients_work_through_the_forwarder)
{
    open_listed();
    expect("git clone -q http://127.0.0.1:$HTTP/repo.git got && cat got/file", "versioned\n");
    expect_told("127.0.0.1", http);
    expect("/usr/bin/python3 -c 'import os, urllib.request as u; "
           "print(u.urlopen(\"http://127.0.0.1:%s/hello\" % os.environ[\"HTTP\"]).read().decode(), end=\"\")'",
           "hello\n");
    if (access("/usr/bin/npm", X_OK) == 0) {
        expect("npm view --registry http://127.0.0.1:$HTTP/ thing version", "1.2.3\n");
        expect_told("127.0.0.1", http);
    }
    program_rig_close(&rig);
}

TEST(large_transfers_and_half_closed_connections)
{
    open_listed();
    expect("head -c 9000000 /dev/urandom > big; "
           "curl -sS --data-binary @big http://127.0.0.1:$HTTP/post | cmp - big && echo same",
           "same\n");
    expect("/usr/bin/python3 -c '\n"
           "import os, socket\n"
           "host, port = os.environ[\"http_proxy\"][7:].split(\":\")\n"
           "s = socket.create_connection((host, int(port)), 20)\n"
           "s.sendall(b\"CONNECT localhost:%s HTTP/1.1\\r\\n\\r\\nearly \" % os.environ[\"ECHO\"].encode())\n"
           "assert s.recv(4096).startswith(b\"HTTP/1.1 200 \")\n"
           "s.sendall(b\"late\")\n"
           "s.shutdown(socket.SHUT_WR)\n"
           "got = b\"\"\n"
           "while piece := s.recv(4096): got += piece\n"
           "print(got.decode())'",
           "heard early late\n");
    program_rig_close(&rig);
}

TEST(many_connections_at_once)
{
    open_listed();
    expect("seq 150 | xargs -P 60 -I{} curl -sS http://127.0.0.1:$HTTP/hello | sort | uniq -c | tr -d ' '",
           "150hello\n");
    CLEANUP(free) char *line = xasprintf("c7 127.0.0.1 %u bytes\n", http);
    size_t count = 0;
    for (const char *at = recorder_text(&told); (at = strstr(at, line)); at++)
        count++;
    assert_int_equal(count, 101); /* one line each for some, one for the rest */
    program_rig_close(&rig);
}

/* ---- other hosts ---- */

#define FORBIDDEN "curl -sS -o answer -w '%{http_code} ' "

TEST(refusals_say_why)
{
    open_listed();
    expect(FORBIDDEN "http://example.org/ && cat answer",
           "403 Keyturn: example.org:80 is not in \"workspace.network\"\n");
    expect(FORBIDDEN "http://127.0.0.1:1/ && cat answer", "403 Keyturn: 127.0.0.1:1 is not in \"workspace.network\"\n");
    expect("curl -sS https://example.org/ 2>&1", "curl: (56) CONNECT tunnel failed, response 403\n");
    expect("curl -sS --socks5-hostname \"${ALL_PROXY#*//}\" http://example.org/ 2>&1 | grep -c 'SOCKS5.*(2)'", "1\n");
    assert_string_equal(recorder_text(&told), "");
    program_rig_close(&rig);
    open_with((const char *const[]){"127.0.0.1:1", "nowhere.invalid", NULL});
    expect(FORBIDDEN "http://127.0.0.1:1/ && cat answer",
           "502 Keyturn: cannot connect to 127.0.0.1:1: Connection refused\n");
    expect(FORBIDDEN "http://nowhere.invalid/ && grep -o 'cannot resolve nowhere.invalid' answer",
           "502 cannot resolve nowhere.invalid\n");
    program_rig_close(&rig);
}

TEST(no_way_around_the_forwarder)
{
    open_listed();
    expect("curl -sS --noproxy '*' -m 5 http://127.0.0.1:$HTTP/hello >/dev/null 2>&1 || echo none; "
           "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '",
           "none\nlo\n");
    program_rig_close(&rig);
}

/* No spelling of an address of this machine counts as a public host. */
TEST(loopback_is_never_public)
{
    static const char *const lists[][2] = {{"*", NULL}, {"example.org:443", NULL}, {"10.0.0.0/8", NULL}};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        open_with(lists[i]);
        expect("/usr/bin/python3 $ATTACKS/loopback.py", "tried all\n");
        assert_string_equal(recorder_text(&told), "");
        program_rig_close(&rig);
    }
}

/* A program reaches its own server as usual: without loopback in the list, nothing there is forwarded. */
TEST(programs_have_their_own_loopback)
{
    open_with((const char *const[]){"*", NULL});
    expect("echo mine > m; /usr/bin/python3 -m http.server -b 127.0.0.1 8123 >/dev/null 2>&1 & "
           "for i in $(seq 100); do curl -s http://127.0.0.1:8123/m && break; sleep 0.1; done; kill $!",
           "mine\n");
    program_rig_close(&rig);
}

TEST(without_a_host_list_programs_have_no_network)
{
    open_with((const char *const[]){NULL});
    expect("env | grep -i -c proxy; curl -sS -m 5 http://127.0.0.1:$HTTP/hello >/dev/null 2>&1 || echo none",
           "0\nnone\n");
    program_rig_close(&rig);
}

/* A connection that is open at the end of the program is reported before that end. */
TEST(open_connections_end_with_the_program)
{
    open_listed();
    expect("/usr/bin/python3 -c '\n"
           "import os, socket\n"
           "host, port = os.environ[\"http_proxy\"][7:].split(\":\")\n"
           "s = socket.create_connection((host, int(port)), 20)\n"
           "s.sendall(b\"CONNECT localhost:%s HTTP/1.1\\r\\n\\r\\nsome\" % os.environ[\"ECHO\"].encode())\n"
           "print(s.recv(12).decode(), flush=True)\n"
           "os.kill(os.getpid(), 9)'; true",
           "HTTP/1.1 200\n");
    expect_told("localhost", echo);
    program_rig_close(&rig);
}

/* ---- the services ---- */

static int start_services(const char *script)
{
    int in[2], out[2];
    char line[64] = "";
    if (pipe(in) || pipe(out) || (services = fork()) < 0)
        return -1;
    if (services == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        execl("/usr/bin/python3", "python3", script, folder, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    services_input = in[1];
    for (size_t len = 0; len < sizeof(line) - 1 && !strchr(line, '\n'); len++)
        if (read(out[0], line + len, 1) != 1)
            return -1;
    close(out[0]);
    return sscanf(line, "%u %u %u", &http, &https, &echo) == 3 ? 0 : -1;
}

static int prepare(void **state)
{
    (void)state;
    CLEANUP(free) char *script = xasprintf("%s/services.py", attacks);
    recorder_init(&told);
    folder = file_make_temp_dir(NULL, "keyturn-services-", NULL);
    if (!folder)
        return -1;
    CLEANUP(free)
    char *make = xasprintf("cd '%s' && echo hello > hello && git init -q src && cd src && echo versioned > file && "
                           "git add file && git -c user.name=t -c user.email=t commit -q -m t && cd .. && "
                           "git clone -q --bare src repo.git && git -C repo.git update-server-info && "
                           "echo '{\"name\":\"thing\",\"dist-tags\":{\"latest\":\"1.2.3\"},"
                           "\"versions\":{\"1.2.3\":{\"name\":\"thing\",\"version\":\"1.2.3\"}}}' > thing",
                           folder);
    return system(make) ? -1 : start_services(script);
}

static int clean(void **state)
{
    (void)state;
    close(services_input);
    waitpid(services, NULL, 0);
    recorder_release(&told);
    int failed = file_remove_tree(folder, NULL);
    free(folder);
    return failed;
}

void test_begin(void)
{
    if (getenv("KEYTURN_ATTACKS"))
        attacks = getenv("KEYTURN_ATTACKS"); /* the user nobody may have no access to the source folder */
    if (test_program_arguments[0] && test_program_arguments[1]) {
        engine = test_program_arguments[0];
        options.image = test_program_arguments[1];
    }
}

TEST_GROUP(prepare, clean)
