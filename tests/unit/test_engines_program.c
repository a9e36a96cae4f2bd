/* Command lines of engines for programs: their contents with each engine, safety of secrets and braces, and engines
 * that cannot run programs. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/engines_program.h"
#include "sandbox/user.h"
#include "support/test.h"
#include <string.h>

static struct sandbox_engines engines;

static int begin(void **state)
{
    (void)state;
    return sandbox_engines_load(&engines, NULL, NULL);
}

static int end(void **state)
{
    (void)state;
    sandbox_engines_release(&engines);
    return 0;
}

static const char *const command[] = {"echo", "{name}", "a b", NULL};
static const char *const variables[] = {"TOKEN=open-sesame", "PATH=/evil", NULL};
static const char *const visible[] = {"/data", NULL};

static struct program_vector vector(const char *name)
{
    return (struct program_vector){.engine = sandbox_engines_find(&engines, name),
                                   .launcher = "/opt/launch",
                                   .workspace = "/ws",
                                   .cwd = "work",
                                   .name = "k7",
                                   .argv = command,
                                   .env = variables};
}

static char *joined(char **argv)
{
    struct strbuf text = STRBUF_INIT;
    assert_non_null(argv);
    for (char **at = argv; *at; at++)
        strbuf_addf(&text, " %s", *at);
    strbuf_addch(&text, ' ');
    argv_free(argv);
    return strbuf_detach(&text, NULL);
}

static void expect(const struct program_vector *from, const char *piece, bool there)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *text = joined(sandbox_program_argv(from, false, &err));
    if ((strstr(text, piece) != NULL) != there)
        fail_msg("%s %s in %s", piece, there ? "is not" : "is", text);
    assert_null(strstr(text, "open-sesame"));
}

TEST_WITH(bwrap_arguments_for_programs_are_complete, begin, end)
{
    struct program_vector v = vector("bwrap");
    expect(&v, " --unshare-all --unshare-user ", true);
    expect(&v, " --share-net ", false);
    expect(&v, " --remount-ro /proc ", true);
    expect(&v, " /opt/launch --as ", sandbox_user() != NULL);
    assert_int_equal(sandbox_program_is_other_user(v.engine), sandbox_user() != NULL);
    expect(&v, " --bind /ws /workspace ", true);
    expect(&v, " /run/keyturn-launch --control --mark --cwd /workspace/work -- echo {name} a b ", true);
    v.network = true;
    v.visible = visible;
    v.memory_mb = 64;
    v.pids = 9;
    v.cpu_s = 3;
    v.files_mb = 2;
    expect(&v, " --unshare-all --unshare-user ", true); /* whatever is allowed */
    expect(&v, " --share-net ", false);
    v.filtered = true;
    expect(&v, " --unshare-all --seccomp 4 --unshare-user ", true);
    v.filtered = false;
    expect(&v, " --size 33554432 --tmpfs /dev/shm --size 33554432 --tmpfs /tmp ", true);
    v.memory_mb = 1000;
    expect(&v, " --size 67108864 --tmpfs /dev/shm --size 268435456 --tmpfs /tmp ", true);
    v.memory_mb = 64;
    expect(&v, " --ro-bind-try /data /data ", true);
    v.bind_mounts = &(struct bind_mount){.path = (char[]){"/s/one"}, .place = (char[]){"skills/one"}};
    v.bind_mount_count = 1;
    expect(&v, " --bind /ws /workspace --ro-bind /s/one /workspace/skills/one ", true);
    expect(&v, " --watch-memory ", false);
    v.watch_memory = true;
    expect(&v, " --control --mark --network --memory 64 --watch-memory --pids 9 --cpu 3 --files 2 --cwd ", true);
    assert_string_equal(sandbox_program_root(v.engine, "/ws"), "/workspace");
    assert_null(sandbox_program_ask(&v, false));
}

TEST_WITH(container_arguments_for_programs_are_complete, begin, end)
{
    struct program_vector v = vector("podman");
    expect(&v, " --network=none ", true);
    expect(&v, " --env KTV_TOKEN --env KTV_PATH ", true);
    expect(&v, " --volume /usr:/usr:ro ", true);
    expect(&v, " --volume /ws:/workspace ", true);
    expect(&v, " --preserve-fds=2 ", true);
    expect(&v, " --filter 4 ", false);
    v.filtered = true;
    expect(&v, " localhost/keyturn-harness --filter 4 --control ", true);
    v.filtered = false;
    expect(&v, " --tmpfs /tmp:rw,nosuid,nodev,size=268435456 --shm-size 67108864b ", true);
    expect(&v, " --user 0:0 ", false);
    assert_int_equal(sandbox_program_is_other_user(v.engine), sandbox_user() != NULL);
    expect(&v, " -t ", false);
    expect(&v, " --cpus ", false);
    v.cpu_percent = 150;
    v.bind_mounts = &(struct bind_mount){.path = (char[]){"/s/one"}, .place = (char[]){"skills/one"}};
    v.bind_mount_count = 1;
    expect(&v, " --cpus 1.50 --memory ", true);
    expect(&v, " --volume /ws:/workspace --volume /s/one:/workspace/skills/one:ro ", true);
    v.image = BOX_IMAGE ":tag";
    expect(&v, " --volume /usr:/usr:ro ", true);
    v.image = "debian";
    v.tty = v.network = true;
    expect(&v, " /usr:/usr:ro ", false);
    expect(&v, " -t ", true);
    expect(&v, " --network=none ", true);
    expect(&v, " --entrypoint /run/keyturn-launch debian --control --mark --network ", true);
    v = vector("docker");
    expect(&v, " --control ", false);
    expect(&v, " --close-proc --mark ", true);
    expect(&v, " --user 0:0 ", false);
    expect(&v, " --network=none ", true);
    expect(&v, " --network ", false);
    v.network = true;
    v.network_door = "/d/s";
    expect(&v, " --network=none ", true);
    expect(&v, " --mark --network --network-socket /d/s --cwd ", true);
    CLEANUP(free) char *ask = joined(sandbox_program_ask(&v, false));
    CLEANUP(free) char *kill = joined(sandbox_program_ask(&v, true));
    assert_string_equal(ask, " docker kill --signal TERM k7 ");
    assert_string_equal(kill, " docker kill k7 ");
}

TEST_WITH(the_engine_gets_the_variables_of_the_program, begin, end)
{
    struct program_vector v = vector("bwrap");
    CLEANUP(free) char *env = joined(sandbox_program_env(&v));
    assert_non_null(strstr(env, " KTV_TOKEN=open-sesame KTV_PATH=/evil "));
    assert_non_null(strstr(env, " PATH=/usr/local/bin:/usr/bin:/bin "));
    assert_null(strstr(env, "KEYTURN_FILTER"));
    assert_false(sandbox_program_filter_in_env(v.engine));
}

TEST_WITH(a_filter_in_the_environment, begin, end)
{
    struct program_vector v = vector("docker");
    assert_true(sandbox_program_filter_in_env(v.engine));
    v.filtered = true;
    v.filter = "06ff";
    CLEANUP(free) char *env = joined(sandbox_program_env(&v));
    assert_non_null(strstr(env, " KEYTURN_FILTER=06ff "));
    expect(&v, " --env KEYTURN_FILTER ", true);
    expect(&v, " --close-proc --filter-variable ", true);
}

TEST_WITH(no_engine_and_engines_without_programs, begin, end)
{
    struct err err = ERR_INIT;
    struct program_vector v = vector("none");
    CLEANUP(free) char *text = joined(sandbox_program_argv(&v, false, &err));
    assert_string_equal(text, " /opt/launch --control --mark --cwd /ws/work -- echo {name} a b ");
    assert_string_equal(sandbox_program_root(v.engine, "/ws"), "/ws");
    assert_false(sandbox_program_is_other_user(v.engine));
    static const char *const remote[] = {"ssh", "kubectl", "srun"};
    for (size_t i = 0; i < COUNT_OF(remote); i++) {
        assert_int_equal(sandbox_program_check(sandbox_engines_find(&engines, remote[i]), &err), -1);
        assert_non_null(strstr(err.text, "cannot run programs"));
    }
}

static int read_text(const char *text, struct err *err)
{
    return sandbox_engines_read(&engines, text, strlen(text), true, err);
}

TEST_WITH(engines_of_a_user, begin, end)
{
    struct err err = ERR_INIT;
    assert_int_equal(
        read_text("{\"mine\":{\"argv\":[\"x\"],\"program\":{\"argv\":[\"x\",\"{command...}\"],\"workspace\":\"/w\"}}}",
                  &err),
        0);
    assert_string_equal(sandbox_program_root(sandbox_engines_find(&engines, "mine"), "/ws"), "/w");
    assert_int_equal(read_text("{\"bare\":{\"argv\":[\"x\"]}}", &err), 0);
    assert_int_equal(sandbox_program_check(sandbox_engines_find(&engines, "bare"), &err), -1);
    assert_string_equal(err.text, "the engine bare cannot run programs (give it a \"program\" in engines.json)");
    static const char *const wrong[] = {"[]",
                                        "{}",
                                        "{\"argv\":[]}",
                                        "{\"argv\":[\"{nowhere}\"]}",
                                        "{\"argv\":[\"x\"],\"control\":1}",
                                        "{\"argv\":[\"x\"],\"more\":true}",
                                        "{\"argv\":[\"x\"],\"workspace\":1}",
                                        "{\"argv\":[\"x\"],\"filter\":[\"--filter\",\"4\"]}",
                                        "{\"argv\":[\"x\"],\"argv\":[\"y\"]}"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CLEANUP(free) char *text = xasprintf("{\"e\":{\"argv\":[\"x\"],\n\"program\":%s}}", wrong[i]);
        if (read_text(text, &err) != -1)
            fail_msg("%s is taken", wrong[i]);
        assert_int_equal(err.line, 2);
    }
}

/* An ordinary user's podman warns that it ignores limits and continues: then the program must not claim that they
 * hold. */
TEST_WITH(whose_limits_hold, begin, end)
{
    const struct sandbox_engine *podman = sandbox_engines_find(&engines, "podman");
    bool second = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    assert_int_equal(sandbox_program_bounds_whole(podman), second || geteuid() == 0);
    assert_true(sandbox_program_bounds_whole(sandbox_engines_find(&engines, "docker")));
    if (geteuid() != 0)
        return;
    assert_int_equal(seteuid(65534), 0);
    bool whole = sandbox_program_bounds_whole(podman);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(whole, second);
}
