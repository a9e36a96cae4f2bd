/* Programs that try to leave their sandbox. Each is stopped by the engine, and succeeds where nothing stops it: else it
 * would prove nothing. Bubblewrap without an argument; "podman IMAGE" for the other one. */

#include "base/file.h"
#include "base/mem.h"
#include "support/program_rig.h"
#include "workspace/lend.h"
#include "workspace/workspace.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct program_rig rig;
static struct programs_options options;
static const char *engine = "bwrap";
static char *outside; /* a folder beside the workspace */
static int listener, port;

static void open_with(const char *name, bool network)
{
    struct programs_options own = options;
    own.network = network;
    own.host_env = true; /* where nothing is around them, all of it can be seen */
    if (strcmp(name, "none") == 0)
        own.image = NULL;
    program_rig_open(&rig, name, &own);
}

static void sh(const char *command, struct program_limits limits)
{
    struct err err = ERR_INIT;
    struct env_var vars[] = {{"OUTSIDE", outside}, {"HOST_PID", ""}, {"PORT", ""}};
    CLEANUP(free) char *pid = xasprintf("%d", (int)getpid());
    CLEANUP(free) char *number = xasprintf("%d", port);
    vars[1].value = pid;
    vars[2].value = number;
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", command, NULL},
                                .env = {vars, COUNT_OF(vars)},
                                .limits = limits,
                                .timeout_ms = 60000};
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
}

#define CONNECT                                                                                                        \
    "python3 -c 'import os, socket; socket.create_connection((\"127.0.0.1\", int(os.environ[\"PORT\"])), 5)' && "      \
    "echo reached"

/* Prints "reached" when nothing stops it; "here" in any case, so that what was not run does not count as stopped. */
static const struct attempt {
    const char *what, *command;
    const char *only; /* the engine that promises it; NULL: all */
} attempts[] = {
    {"the network", "echo here; " CONNECT, NULL},
    {"a file beside the workspace", "echo here; cat $OUTSIDE/secret && echo reached", NULL},
    {"a folder beside the workspace", "echo here; ls $OUTSIDE && echo reached", NULL},
    {"writing outside", "echo here; echo x > $OUTSIDE/written && echo reached", NULL},
    {"the folder above",
     "echo here; cat ../../*/secret ../*/secret ../secret 2>/dev/null | grep -q open && echo reached", NULL},
    {"the host's processes", "echo here; kill -0 $HOST_PID && echo reached", NULL},
    {"the host's environment", "echo here; env | grep -q '^KEYTURN_TEST_SECRET=open$' && echo reached", NULL},
    {"a user namespace", "echo here; unshare -U true && echo reached", "bwrap"},
    {"many processes", "echo here; for i in $(seq 60); do sleep 5 & done && echo reached", NULL},
    {"much memory", "echo here; python3 -c 'b = bytearray(300 << 20)' && echo reached", NULL},
};

static bool reached(const struct attempt *attempt, struct program_limits limits)
{
    sh(attempt->command, limits);
    if (!strstr(rig.result.out.buf, "here"))
        fail_msg("%s: did not begin: %s%s", attempt->what, rig.result.err.buf,
                 rig.result.end.why ? rig.result.end.why : "");
    return strstr(rig.result.out.buf, "reached") != NULL;
}

static void test_each_is_stopped(void **state)
{
    (void)state;
    open_with(engine, false);
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        if ((!attempts[i].only || strcmp(attempts[i].only, engine) == 0) &&
            reached(&attempts[i], (struct program_limits){.pids = 30, .memory_mb = 128}))
            fail_msg("%s is not stopped", attempts[i].what);
    program_rig_close(&rig);
}

static void test_each_succeeds_where_nothing_stops_it(void **state)
{
    (void)state;
    open_with("none", false);
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        if (!reached(&attempts[i], (struct program_limits){0}))
            fail_msg("%s does not succeed even so: %s", attempts[i].what, rig.result.err.buf);
    program_rig_close(&rig);
}

static void test_the_network_when_it_is_allowed(void **state)
{
    (void)state;
    if (strcmp(engine, "bwrap") != 0)
        skip(); /* a container's network is another one: what is ours is not there */
    open_with(engine, true);
    assert_true(reached(&attempts[0], (struct program_limits){0}));
    program_rig_close(&rig);
}

static void test_the_system_is_read_only(void **state)
{
    (void)state;
    open_with(engine, false);
    sh("for f in /x /usr/x /etc/x /bin/x /run/x; do (echo x > $f) 2>/dev/null && echo wrote $f; done; "
       "echo y > $WORK_DIR/y && echo z > /tmp/z && echo fine; echo $HOME $WORKSPACE_DIR; ls /home /root 2>/dev/null",
       (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "fine\n/workspace /workspace\n");
    program_rig_close(&rig);
}

static bool all_gone(void *user)
{
    return program_rig_count(user) == 0;
}

static void drop_bomb(unsigned pids)
{
    struct err err = ERR_INIT;
    open_with(engine, false);
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", "b() { b | b & }; b; sleep 98771.$MARK", NULL},
                                .limits = {.pids = pids},
                                .timeout_ms = 3000};
    assert_true(program_rig_run(&rig, &spec, &err));
    assert_int_equal(rig.result.end.survivors, 0);
    if (rig.result.end.signum && !rig.result.end.timed_out) /* where nobody but keyturn-launch counts */
        assert_non_null(strstr(rig.result.why, "it was killed: it made more than "));
    program_rig_await(&rig, all_gone, (void *)(uintptr_t) "sleep 98771");
    sh("echo sane", (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "sane\n");
    program_rig_close(&rig);
}

static void test_a_bomb_is_bounded_and_gone(void **state)
{
    (void)state;
    drop_bomb(40);
    drop_bomb(0);
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    open_with(engine, false);
    sh("setsid sleep 98772.$MARK & (setsid sleep 98772.$MARK &); sleep 0.3", (struct program_limits){0});
    program_rig_await(&rig, all_gone, (void *)(uintptr_t) "sleep 98772");
    if (strcmp(engine, "docker") != 0) /* it hands no line of ours on, so nobody tells who was left */
        assert_true(rig.result.end.left_count >= 2);
    /* Killed by its time, too. */
    struct err err = ERR_INIT;
    struct program_spec spec = {
        .cmd = "sh",
        .args = (const char *const[]){"-c", "trap '' TERM; setsid sleep 98773.$MARK & setsid sleep 98773.$MARK", NULL},
        .timeout_ms = 2000};
    assert_true(program_rig_run(&rig, &spec, &err));
    assert_true(rig.result.end.timed_out);
    program_rig_await(&rig, all_gone, (void *)(uintptr_t) "sleep 98773");
    program_rig_close(&rig);
}

/* Whatever a program does to the place, what is lent there stays as it is and is seen again. */
static void test_what_is_lent_stays(void **state)
{
    (void)state;
    open_with(engine, false);
    rig.ws->lends = true;
    CLEANUP(free) char *place = xasprintf("%s/skills/s", rig.ws->path);
    assert_int_equal(mkdir(place, 0755), 0);
    assert_true(workspace_lend(rig.ws, outside, "skills/s"));
    for (int i = 0; i < 2; i++) {
        sh("cat skills/s/secret; chmod u+w skills/s skills/s/secret; echo x > skills/s/secret; rm skills/s/secret; "
           "touch skills/s/new; cat skills/s/secret skills/s/new; echo",
           (struct program_limits){0});
        assert_string_equal(rig.result.out.buf, "openopen\n");
        assert_int_equal(rig.result.end.exit_code, 0);
    }
    sh("mv skills away; ln -s away skills", (struct program_limits){0});
    sh("ls skills/s; echo nothing", (struct program_limits){0}); /* not through a link */
    assert_string_equal(rig.result.out.buf, "nothing\n");
    program_rig_close(&rig);
}

static void test_on_a_terminal(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    open_with(engine, false);
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", "tty -s && echo x; exit 7", NULL},
                                .keep_input = true,
                                .tty = true,
                                .timeout_ms = 60000};
    assert_true(program_rig_run(&rig, &spec, &err));
    assert_string_equal(rig.result.out.buf, "x\r\n");
    assert_int_equal(rig.result.end.exit_code, 7);
    assert_int_equal(rig.result.end.signum, 0);
    program_rig_close(&rig);
}

/* In every engine the same, and nothing that the engine says is the program's. */
static void test_how_it_ends(void **state)
{
    (void)state;
    open_with(engine, false);
    sh("echo mine >&2; kill -KILL $$", (struct program_limits){0});
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(rig.result.end.signum, SIGKILL);
    assert_string_equal(rig.result.err.buf, "mine\n");
    sh("exit 137", (struct program_limits){0});
    assert_int_equal(rig.result.end.exit_code, 137);
    assert_int_equal(rig.result.end.signum, 0);
    sh("setsid sleep 60 & sleep 0.3", (struct program_limits){0});
    assert_int_equal(rig.result.end.left_count, 1);
    assert_string_equal(rig.result.left[0].name, "sleep");
    assert_int_equal(access("oom", F_OK), -1); /* an engine leaves its files elsewhere */
    program_rig_close(&rig);
}

/* What a program shuts is in nobody's way afterwards. Root gets in anyway: this means more as another user. */
static void test_what_is_shut_is_in_nobodys_way(void **state)
{
    (void)state;
    open_with(engine, false);
    rig.ws->policy.max_disk_bytes = 8 << 20;
    sh("mkdir work/h && head -c 9000 /dev/zero > work/h/f && chmod 000 work/h work out runs . && echo shut",
       (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "shut\n");
    assert_null(rig.result.end.why);
    sh("chmod 000 work/h; chmod 000 work; sleep 1; echo here", (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "here\n");
    assert_null(rig.result.end.why);
    sh("chmod 000 work/h; i=0; while :; do head -c 1000000 /dev/zero > out/$i; i=$((i+1)); done",
       (struct program_limits){0});
    assert_true(rig.result.end.over_disk);
    program_rig_close(&rig);
}

static int prepare(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    outside = file_make_temp_dir(NULL, "keyturn-outside-", NULL);
    CLEANUP(free) char *secret = xasprintf("%s/secret", outside);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setenv("KEYTURN_TEST_SECRET", "open", 1);
    if (file_replace(secret, "open", 4, 0644, NULL) || bind(listener, (struct sockaddr *)&address, len) ||
        listen(listener, 16) || getsockname(listener, (struct sockaddr *)&address, &len))
        return -1;
    port = ntohs(address.sin_port);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    close(listener);
    int failed = file_remove_tree(outside, NULL);
    free(outside);
    return failed;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_stopped),
        cmocka_unit_test(test_each_succeeds_where_nothing_stops_it),
        cmocka_unit_test(test_the_network_when_it_is_allowed),
        cmocka_unit_test(test_the_system_is_read_only),
        cmocka_unit_test(test_a_bomb_is_bounded_and_gone),
        cmocka_unit_test(test_nothing_is_left),
        cmocka_unit_test(test_what_is_lent_stays),
        cmocka_unit_test(test_on_a_terminal),
        cmocka_unit_test(test_how_it_ends),
        cmocka_unit_test(test_what_is_shut_is_in_nobodys_way),
    };
    if (argc > 2) {
        engine = argv[1];
        options.image = argv[2];
    }
    return cmocka_run_group_tests(tests, prepare, clean);
}
