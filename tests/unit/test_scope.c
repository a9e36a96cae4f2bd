/* Tests of systemd user scopes, with a fake systemd-run: the arguments it gets, and that Keyturn only believes what a
 * command inside the scope finds. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/engines_program.h"
#include "sandbox/limits.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/program_vector.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static char *folder;
static int listener = -1;

/* Runs the given command without a scope. */
static const char naive[] = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n";
/* Prints what a command in a real scope would find. */
static const char true_one[] = "#!/bin/sh\nfor last; do :; done\n"
                               "case \"$*\" in *'MemoryMax=64M -p MemorySwapMax=0 -p TasksMax=32 --'*)\n"
                               "echo \"67108864 32 $last\" ;; *) exit 1 ;; esac\n";
/* Puts variables into arguments. */
static const char eager[] = "#!/bin/sh\necho \"67108864 32 $PATH\"\n";
static const char failing[] = "#!/bin/sh\necho \"67108864 32 \\${PATH}\"; exit 1\n";

static void put_program(const char *text)
{
    CLEANUP(free) char *path = xasprintf("%s/systemd-run", folder);
    assert_int_equal(file_replace(path, text, strlen(text), 0755, NULL), 0);
}

static void listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CLEANUP(free) char *place = xasprintf("%s/systemd", folder);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_true((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/private", place) <
                sizeof(address.sun_path));
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 8), 0);
}

/* It is tried once in a process. */
static enum scope_state state_in_child(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit((int)scope_state());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (enum scope_state)WEXITSTATUS(status);
}

static char *joined(char **argv)
{
    struct strbuf text = STRBUF_INIT;
    for (char **at = argv; *at; at++)
        strbuf_addf(&text, "%s%s", at > argv ? " " : "", *at);
    argv_free(argv);
    return strbuf_detach(&text, NULL);
}

static int begin(void **state)
{
    (void)state;
    folder = file_make_temp_dir(NULL, "keyturn-scope-", NULL);
    CLEANUP(free) char *path = xasprintf("%s:/usr/local/bin:/usr/bin:/bin", folder);
    setenv("PATH", path, 1);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    int failed = file_remove_tree(folder, NULL);
    free(folder);
    return failed;
}

TEST_WITH(a_scope_is_used_only_if_systemd_run_works, begin, end)
{
    put_program(true_one);
    assert_int_equal(state_in_child(), SCOPE_NO_SYSTEMD); /* although systemd-run would succeed */
    listen_there();
    assert_int_equal(state_in_child(), SCOPE_WORKS);
    const char *const wrong[] = {naive, eager, failing};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        put_program(wrong[i]);
        assert_int_equal(state_in_child(), SCOPE_NO_LIMITS);
    }
    close(listener); /* the listener is gone, but its socket is not */
    put_program(true_one);
    assert_int_equal(state_in_child(), SCOPE_NO_SYSTEMD);
    unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(state_in_child(), SCOPE_NO_SYSTEMD);
}

TEST_WITH(limits_are_arguments_of_systemd_run, begin, end)
{
    put_program(naive);
    char **argv = xcalloc(3, sizeof(*argv));
    argv[0] = xstrdup("bwrap");
    argv[1] = xstrdup("a b");
    CLEANUP(free) char *all = joined(scope_argv(&(struct cgroup_limits){256, 30, 150}, argv));
    CLEANUP(free)
    char *wanted = xasprintf("%s/systemd-run --user --scope --quiet --collect -p MemoryMax=256M -p MemorySwapMax=0 "
                             "-p TasksMax=30 -p CPUQuota=150%% -- bwrap a b",
                             folder);
    assert_string_equal(all, wanted);
    argv = xcalloc(2, sizeof(*argv));
    argv[0] = xstrdup("x");
    CLEANUP(free) char *few = joined(scope_argv(&(struct cgroup_limits){.memory_mb = 64}, argv));
    assert_non_null(strstr(few, "--collect -p MemoryMax=64M -p MemorySwapMax=0 -- x"));
}

/* A program's engine is started in it, and finds its systemd; the watch stays. */
TEST_WITH(of_a_program, begin, end)
{
    struct sandbox_engines engines = {0};
    assert_int_equal(sandbox_engines_load(&engines, NULL, NULL), 0);
    const char *argv[] = {"true", NULL};
    struct program_vector vector = {.engine = sandbox_engines_find(&engines, "bwrap"),
                                    .name = "k",
                                    .workspace = "/ws",
                                    .launcher = "/opt/launch",
                                    .argv = argv,
                                    .memory_mb = 64,
                                    .watch_memory = true,
                                    .scope = true};
    CLEANUP(free) char *command = joined(program_engine_argv(&vector, false, NULL));
    assert_non_null(strstr(command, "/systemd-run --user --scope "));
    const char *inside = strstr(command, " -p MemoryMax=64M -p MemorySwapMax=0 -- ");
    assert_non_null(inside);
    assert_non_null(strstr(inside, "bwrap --unshare-all ")); /* root's becomes another user first, in the scope too */
    assert_non_null(strstr(command, " --memory 64 --watch-memory "));
    CLEANUP(free) char *env = joined(sandbox_program_env(&vector));
    CLEANUP(free) char *wanted = xasprintf("XDG_RUNTIME_DIR=%s", folder);
    assert_non_null(strstr(env, wanted));
    vector.scope = false;
    CLEANUP(free) char *plain = joined(program_engine_argv(&vector, false, NULL));
    CLEANUP(free) char *bare = joined(sandbox_program_env(&vector));
    assert_null(strstr(plain, "systemd-run"));
    assert_null(strstr(bare, "XDG_RUNTIME_DIR"));
    sandbox_engines_release(&engines);
}

/* Where we may make no control group: a real program, through a systemd-run that leaves a note and becomes its engine.
 * The last of the tests, for here it is tried in our own process. */
TEST_WITH(a_program_runs_in_it, begin, end)
{
    if (cgroup_works())
        skip();
    listen_there();
    CLEANUP(free)
    char *text = xasprintf("#!/bin/sh\nfor last; do :; done\n"
                           "case \"$*\" in *TasksMax=32*) echo \"67108864 32 $last\"; exit ;; esac\n"
                           "echo \"$XDG_RUNTIME_DIR $*\" >'%s/seen'\n%s",
                           folder, strchr(naive, '\n') + 1);
    put_program(text);
    struct program_rig rig;
    program_rig_open(&rig, "bwrap", &(struct programs_options){.limits = {.memory_mb = 96, .pids = 31}});
    program_rig_sh(&rig, "echo in $((40 + 2)); exit 3");
    assert_string_equal(rig.result.out.buf, "in 42\n");
    assert_int_equal(rig.result.end.exit_code, 3);
    program_rig_close(&rig);
    struct strbuf seen = STRBUF_INIT;
    CLEANUP(free) char *note = xasprintf("%s/seen", folder);
    assert_int_equal(file_read(note, &seen, 1 << 20, NULL), 0);
    CLEANUP(free) char *wanted = xasprintf("%s --user --scope --quiet --collect -p MemoryMax=96M ", folder);
    assert_int_equal(strncmp(seen.buf, wanted, strlen(wanted)), 0);
    strbuf_release(&seen);
    close(listener);
}
