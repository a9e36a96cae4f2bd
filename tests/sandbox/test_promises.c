/* Tests every row of promises.def: the engine stops its attack, and the control without an engine succeeds.
 *
 *     sandbox_test_promises ['*' ENGINE IMAGE]      bubblewrap without an argument */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/user.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/workspace.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct promise {
    const char *sentence, *engines, *users, *attack;
} promises[] = {
#define PROMISE(sentence, engines, users, attack) {sentence, engines, users, attack},
#include "promises.def"
};

#define SESSION_KEY "keyturn-test-key"

static const char *engine = "bwrap";
static struct programs_options options;
static char *outside; /* a folder beside the workspace */
static const char *attacks = ATTACKS_DIR;
static int listener, abstract, port;
static struct program_rig rig;

static bool names(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

static bool applies(const struct promise *promise)
{
    return names(promise->engines, engine) && names(promise->users, geteuid() == 0 ? "root" : "user");
}

/* ---- the attack ---- */

static void run_attack(const struct promise *promise)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *pid = xasprintf("%d", (int)getpid());
    CLEANUP(free) char *number = xasprintf("%d", port);
    struct env_var vars[] = {
        {"OUTSIDE", outside}, {"HOST_PID", pid}, {"PORT", number}, {"ATTACKS", attacks}, {"SESSION_KEY", SESSION_KEY}};
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", promise->attack, NULL},
                                .env = {vars, COUNT_OF(vars)},
                                .limits = {.pids = 30, .memory_mb = 128},
                                .timeout_ms = 60000};
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s %s", promise->sentence, err.text);
}

static bool can_stand_ready(void)
{
    return strcmp(engine, "bwrap") == 0;
}

static bool is_ready(void *none)
{
    (void)none;
    return programs_stand_ready(rig.programs, NULL);
}

/* All rows run before the test fails. `ready`: each in a sandbox that stood ready, if the engine can do that. */
static void expect_stopped(struct network_rules network, bool ready)
{
    const char *visible[] = {attacks, NULL};
    struct programs_options own = options;
    own.visible = visible;
    own.network = network;
    own.prepare = ready;
    own.limits = (struct program_limits){.pids = 30, .memory_mb = 128};
    int broken = 0;
    unsigned tried = 0, used;
    program_rig_open(&rig, engine, &own);
    if (ready)
        program_rig_sh(&rig, "true");
    for (size_t i = 0; i < COUNT_OF(promises); i++) {
        if (!applies(&promises[i]))
            continue;
        if (ready)
            program_rig_await(&rig, is_ready, NULL);
        run_attack(&promises[i]);
        tried++;
        bool begun = strstr(rig.result.out.buf, "here"), reached = strstr(rig.result.out.buf, "reached");
        if (begun && !reached)
            continue;
        broken++;
        print_error("%s: %s\n%s%s%s\n", reached ? "broken" : "the attack did not begin", promises[i].sentence,
                    rig.result.out.buf, rig.result.err.buf, rig.result.end.why ? rig.result.end.why : "");
    }
    programs_stand_ready(rig.programs, &used);
    program_rig_close(&rig);
    assert_int_equal(broken, 0);
    assert_int_equal(used, ready ? tried : 0);
}

TEST(each_attack_is_stopped)
{
    expect_stopped((struct network_rules){0}, false);
}

TEST(each_attack_is_stopped_with_a_network)
{
    static const struct network_rule every_public_host = {.kind = NETWORK_ANY};
    expect_stopped((struct network_rules){&every_public_host, 1, NULL}, false);
    if (can_stand_ready())
        expect_stopped((struct network_rules){&every_public_host, 1, NULL}, true);
}

TEST(each_attack_is_stopped_in_a_sandbox_that_stood_ready)
{
    if (!can_stand_ready())
        skip();
    expect_stopped((struct network_rules){0}, true);
}

/* ---- the control ---- */

static void export_places(void)
{
    CLEANUP(free) char *pid = xasprintf("%d", (int)getpid());
    CLEANUP(free) char *number = xasprintf("%d", port);
    setenv("OUTSIDE", outside, 1);
    setenv("HOST_PID", pid, 1);
    setenv("PORT", number, 1);
    setenv("ATTACKS", attacks, 1);
    setenv("SESSION_KEY", SESSION_KEY, 1);
}

/* All output, from a shell without Keyturn. */
static void run_bare(const char *command, struct strbuf *out)
{
    int ends[2];
    char block[4096];
    ssize_t got;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (chdir(outside))
            _exit(126);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while ((got = read(ends[0], block, sizeof(block))) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            strbuf_add(out, block, (size_t)got);
    close(ends[0]);
    waitpid(pid, NULL, 0);
}

TEST(each_attack_succeeds_without_an_engine)
{
    int stopped = 0;
    export_places();
    for (size_t i = 0; i < COUNT_OF(promises); i++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        if (!applies(&promises[i]))
            continue;
        run_bare(promises[i].attack, &out);
        if (strstr(out.buf, "reached"))
            continue;
        stopped++;
        print_error("%s The attack does not even get through where nothing stops it: %s\n", promises[i].sentence,
                    out.buf);
    }
    assert_int_equal(stopped, 0);
}

/* ---- the user, as this machine sees it ---- */

/* Counts the processes with this word in their command line, and those of them that are root's. */
struct seen {
    int all, of_root;
};

static void see_processes(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    struct seen *seen = user;
    (void)stream;
    DIR *proc = memmem(bytes, len, "here", 4) ? opendir("/proc") : NULL;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT, status = STRBUF_INIT;
        CLEANUP(free) char *file = xasprintf("/proc/%s/cmdline", entry->d_name);
        CLEANUP(free) char *about = xasprintf("/proc/%s/status", entry->d_name);
        unsigned real, effective, saved, files;
        const char *uids;
        if (!isdigit((unsigned char)entry->d_name[0]) || file_read(file, &line, 0, NULL) ||
            !memmem(line.buf, line.len, "whose-is-this", 13) || file_read(about, &status, 0, NULL) ||
            !(uids = strstr(status.buf, "\nUid:")) ||
            sscanf(uids, "\nUid: %u %u %u %u", &real, &effective, &saved, &files) != 4)
            continue;
        /* Containers have a monitor process of root outside the sandbox. */
        CLEANUP(free) char *root = xasprintf("/proc/%s/root/run/keyturn-launch", entry->d_name);
        if (access(root, F_OK))
            continue;
        seen->all++;
        seen->of_root += !real || !effective || !saved || !files;
    }
    if (!proc)
        return;
    closedir(proc);
    CLEANUP(free) char *done = xasprintf("%s/work/seen", rig.ws->path);
    assert_int_equal(file_replace(done, "", 0, 0644, NULL), 0);
}

TEST(no_process_of_a_program_is_root_outside)
{
    struct err err = ERR_INIT;
    struct seen seen = {0};
    struct stat st;
    if (geteuid() != 0)
        skip();
    program_rig_open(&rig, engine, &options);
    struct program_spec spec = {
        .cmd = "sh",
        .args =
            (const char *const[]){
                "-c", "echo x > work/made; echo here; until [ -e work/seen ]; do sleep 0.1; done; : whose-is-this",
                NULL},
        .timeout_ms = 60000,
        .prints = {.watch = see_processes, .user = &seen}};
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
    CLEANUP(free) char *made = xasprintf("%s/work/made", rig.ws->path);
    if (seen.all < 1 || seen.of_root)
        fail_msg("%d processes, %d of root's: %s%s", seen.all, seen.of_root, rig.result.out.buf, rig.result.err.buf);
    assert_int_equal(stat(made, &st), 0);
    assert_int_equal(st.st_uid, sandbox_user()->uid);
    assert_int_equal(st.st_gid, sandbox_user()->gid);
    program_rig_close(&rig);
}

/* "keyturn-test-PORT", an abstract socket without a file. */
static int listen_abstract(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "keyturn-test-%d", port);
    abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(abstract, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)len) ||
           listen(abstract, 64);
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
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
        syscall(SYS_add_key, "user", SESSION_KEY, "open", 4, KEY_SPEC_SESSION_KEYRING) < 0)
        return -1;
    if (file_replace(secret, "open", 4, 0644, NULL) || bind(listener, (struct sockaddr *)&address, len) ||
        listen(listener, 64) || getsockname(listener, (struct sockaddr *)&address, &len))
        return -1;
    port = ntohs(address.sin_port);
    return listen_abstract();
}

static int clean(void **state)
{
    (void)state;
    close(listener);
    close(abstract);
    int failed = file_remove_tree(outside, NULL);
    free(outside);
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
