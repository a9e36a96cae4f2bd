/* Tests of engines: their command lines, and the errors for an invalid file. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/engines.h"
#include "sandbox/user.h"
#include "support/scratch.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static const struct sandbox_engine *engine(const char *name)
{
    const struct sandbox_engine *found = sandbox_engines_find(&engines, name);
    assert_non_null(found);
    return found;
}

/* The vector with spaces between, which tests can look for pieces in. */
static char *joined(char **argv)
{
    struct strbuf text = STRBUF_INIT;
    for (char **at = argv; *at; at++)
        strbuf_addf(&text, "%s%s", at == argv ? "" : " ", *at);
    argv_free(argv);
    return strbuf_detach(&text, NULL);
}

static char *vector_of(const struct box_options *spec, bool again)
{
    struct err err = ERR_INIT;
    char **argv = sandbox_engine_argv(spec->engine, spec, "keyturn-7", again, &err);
    if (!argv)
        fail_msg("%s", err.text);
    return joined(argv);
}

static void assert_refused(const struct box_options *spec, const char *why)
{
    struct err err = ERR_INIT;
    assert_null(sandbox_engine_argv(spec->engine, spec, "keyturn-7", false, &err));
    assert_string_equal(err.text, why);
}

#define assert_has(text, piece)                        \
    do {                                               \
        if (!strstr(text, piece))                      \
            fail_msg("no \"%s\" in: %s", piece, text); \
    } while (0)
#define assert_has_not(text, piece) assert_null(strstr(text, piece))

static const char *const secrets[] = {"API_KEY", "OTHER", NULL};

TEST(bwrap_arguments_are_complete)
{
    struct box_options spec = {.engine = engine("bwrap"),
                               .harness = "/opt/h",
                               .workspace = "/tmp/my ws",
                               .tools = "/my/tools",
                               .secrets = secrets};
    CLEANUP(free) char *text = vector_of(&spec, false);
    /* Every piece of the tight set. */
    static const char *const pieces[] = {
        "bwrap --unshare-all --unshare-user --disable-userns ",
        " --uid 65534 --gid 65534 ",
        " --proc /proc --ro-bind-try /dev/null /proc/keys --ro-bind-try /dev/null /proc/key-users --remount-ro /proc ",
        " --cap-drop ALL --new-session --die-with-parent --as-pid-1 ",
        " --ro-bind /usr /usr ",
        " --size 16777216 --tmpfs /tmp ",
        " --ro-bind /opt/h /run/keyturn-harness ",
        " --ro-bind /my/tools /tools ",
        " --size 16777216 --tmpfs /workspace --chdir /workspace ",
        " --remount-ro / /run/keyturn-harness ",
    };
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        assert_has(text, pieces[i]);
    assert_has_not(text, "API_KEY"); /* in the environment, which is bwrap's and the harness's */
    assert_has_not(text, "share-net");
    spec.tools = NULL;
    CLEANUP(free) char *without = vector_of(&spec, false);
    assert_has_not(without, "/my/tools");
    assert_has_not(without, "--allow-degraded");
    spec.allow_degraded = true;
    CLEANUP(free) char *degraded = vector_of(&spec, false);
    assert_has(degraded, " --allow-degraded");
    spec = (struct box_options){.engine = engine("none"), .harness = "/opt/h"};
    assert_refused(&spec, "the engine none needs a workspace (create a folder for it)");
}

/* Root becomes the sandbox's user first; for an ordinary user the vector is the engine's alone. */
TEST(as_user_arguments_are_complete)
{
    struct scratch scratch;
    scratch_init(&scratch);
    scratch_write(&scratch, "harness", "");
    scratch_write(&scratch, "tools/one.py", "");
    CLEANUP(free) char *harness = xasprintf("%s/harness", scratch.path), *tools = xasprintf("%s/tools", scratch.path);
    struct box_options spec = {.engine = engine("bwrap"), .harness = harness, .tools = tools};
    CLEANUP(free) char *text = vector_of(&spec, false);
    CLEANUP(free)
    char *wanted = xasprintf(" --show %s --lend %s -- /usr/bin/bwrap --unshare-all ", harness, tools);
    const struct sandbox_user *user = sandbox_user();
    if (user) {
        CLEANUP(free)
        char *who = xasprintf("keyturn-launch --as %u --as-group %u --show /usr/bin/bwrap ", (unsigned)user->uid,
                              (unsigned)user->gid);
        assert_has(text, who);
        assert_has(text, wanted);
        assert_int_equal(seteuid(65534), 0);
    }
    CLEANUP(free) char *ordinary = vector_of(&spec, false);
    bool other = sandbox_engine_is_other_user(spec.engine);
    assert_true(!user || seteuid(0) == 0);
    assert_int_equal(strncmp(ordinary, "bwrap --unshare-all ", 20), 0);
    assert_false(other);
    assert_int_equal(sandbox_engine_is_other_user(spec.engine), user != NULL);
    assert_int_equal(sandbox_engine_is_other_user(engine("podman")), user != NULL);
    assert_false(sandbox_engine_is_other_user(engine("none")));
    scratch_release(&scratch);
}

TEST(container_arguments_are_complete)
{
    struct box_options spec = {
        .engine = engine("podman"), .tools = "/t", .secrets = secrets, .memory_mb = 100, .pids = 9};
    CLEANUP(free) char *podman = vector_of(&spec, false);
    assert_has(podman, "podman run -i --rm --name keyturn-7 --pull=never --read-only --cap-drop=ALL ");
    assert_has(podman, " --network=none ");
    CLEANUP(free)
    char *user =
        xasprintf(" --user %u:%u ", (unsigned)sandbox_user_always()->uid, (unsigned)sandbox_user_always()->gid);
    assert_has(podman, user);
    assert_has(podman, " --memory 100m --memory-swap 100m --pids-limit 9 ");
    assert_has(podman, " --ulimit nofile=1024:1024 --ulimit nproc=256:256 ");
    assert_has(podman, " --volume /t:/tools:ro --env API_KEY --env OTHER localhost/keyturn-harness ");
    CLEANUP(free) char *again = vector_of(&spec, true);
    assert_has(again, "podman --runtime=runc run -i ");
    CLEANUP(free) char *stop = joined(sandbox_engine_stop(spec.engine, &spec, "keyturn-7"));
    assert_string_equal(stop, "podman kill keyturn-7");

    spec = (struct box_options){.engine = engine("docker"), .image = "mine:2"};
    CLEANUP(free) char *docker = vector_of(&spec, false);
    assert_has(docker, "docker run -i --rm ");
    assert_has(docker, " --memory 512m --memory-swap 512m --pids-limit 32 ");
    assert_has(docker, " mine:2 --tools /tools");
    assert_has_not(docker, "--volume");
    assert_false(sandbox_engine_uses(spec.engine, "workspace"));
    assert_false(sandbox_engine_uses(engine("bwrap"), "workspace"));
    assert_true(sandbox_engine_uses(engine("none"), "workspace"));
}

TEST(other_machines)
{
    struct box_options spec = {.engine = engine("ssh"), .host = "me@there", .tools = "/a b/it's", .secrets = secrets};
    CLEANUP(free) char *ssh = vector_of(&spec, false);
    assert_has(ssh, " -o SendEnv=API_KEY -o SendEnv=OTHER -- me@there ");
    assert_has(ssh, " keyturn-harness --workspace \"$w\"");
    assert_has(ssh, " --tools '/a b/it'\\''s'");
    spec.host = NULL;
    assert_refused(&spec, "the engine ssh needs a host (add one after a colon, as in --engine ssh:HOST)");
    spec.host = "-oProxyCommand=evil";
    assert_refused(&spec, "invalid host \"-oProxyCommand=evil\"; it must not begin with -");

    spec = (struct box_options){.engine = engine("srun")};
    CLEANUP(free) char *srun = vector_of(&spec, false);
    assert_has(srun, "srun --quiet --ntasks=1 --nodes=1 --job-name=keyturn-7 --mem=512M ");
    assert_has_not(srun, "--partition");
    spec.host = "gpu";
    CLEANUP(free) char *partition = vector_of(&spec, false);
    assert_has(partition, " --partition=gpu ");

    spec = (struct box_options){.engine = engine("kubectl"), .host = "lab", .memory_mb = 64};
    CLEANUP(free) char *kubectl = vector_of(&spec, false);
    assert_has(kubectl, "kubectl run keyturn-7 --namespace=lab -i --rm --quiet --restart=Never ");
    assert_has(kubectl, "\"readOnlyRootFilesystem\":true");
    assert_has(kubectl, "\"memory\":\"64Mi\"");
    assert_has(kubectl, "{\"name\":\"keyturn-7\",");
    CLEANUP(free) char *stop = joined(sandbox_engine_stop(spec.engine, &spec, "keyturn-7"));
    assert_string_equal(stop, "kubectl delete pod keyturn-7 --namespace=lab --now --wait=false --ignore-not-found");
    spec.secrets = secrets;
    assert_refused(&spec, "the engine kubectl cannot pass the secret API_KEY");
}

/* The piece of kubectl's vector that is JSON must be JSON when its places are filled. */
TEST(overrides_are_json)
{
    struct box_options spec = {.engine = engine("kubectl")};
    char **argv = sandbox_engine_argv(spec.engine, &spec, "keyturn-7", false, NULL);
    size_t found = 0;
    for (char **at = argv; *at; at++)
        if (strncmp(*at, "--overrides=", 12) == 0) {
            struct sandbox_engines unused = {0};
            struct err err = ERR_INIT;
            /* Read as an engine it is wrong, but it is read. */
            assert_int_equal(sandbox_engines_read(&unused, *at + 12, strlen(*at + 12), true, &err), -1);
            assert_string_equal(err.text, "unknown key \"spec.automountServiceAccountToken\"; see keyturn-sandbox(7)");
            sandbox_engines_release(&unused);
            found++;
        }
    assert_int_equal(found, 1);
    argv_free(argv);
}

TEST(only_listed_variables_reach_the_engine)
{
    setenv("API_KEY", "sesame", 1);
    setenv("AWS_SECRET", "not for you", 1);
    setenv("DOCKER_HOST", "unix:///d", 1);
    unsetenv("OTHER");
    struct box_options spec = {.engine = engine("bwrap"), .secrets = secrets};
    CLEANUP(free) char *bwrap = joined(sandbox_engine_env(spec.engine, &spec));
    assert_string_equal(bwrap, "PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 API_KEY=sesame");
    spec.engine = engine("docker");
    CLEANUP(free) char *docker = joined(sandbox_engine_env(spec.engine, &spec));
    assert_has(docker, " DOCKER_HOST=unix:///d");
    assert_has(docker, " API_KEY=sesame");
    assert_has_not(docker, "not for you");
    static const char *const odd[] = {"A=B", NULL};
    spec.secrets = odd;
    assert_refused(&spec, "invalid secret name \"A=B\"; use the name of an environment variable");
}

TEST(the_best_available_engine_is_chosen)
{
    struct scratch scratch;
    scratch_init(&scratch);
    scratch_mkdir(&scratch, "bin");
    CLEANUP(free) char *bin = scratch_path(&scratch, "bin");
    CLEANUP(free) char *before = xstrdup(getenv("PATH"));
    setenv("PATH", bin, 1);
    assert_null(sandbox_engines_choose(&engines)); /* neither what isolates nothing nor another machine */
    scratch_write(&scratch, "bin/docker", "");
    scratch_chmod(&scratch, "bin/docker", 0755);
    assert_string_equal(sandbox_engines_choose(&engines)->name, "docker");
    scratch_write(&scratch, "bin/bwrap", "");
    scratch_chmod(&scratch, "bin/bwrap", 0755);
    assert_string_equal(sandbox_engines_choose(&engines)->name, "bwrap");
    setenv("PATH", before, 1);
    scratch_release(&scratch);
}

TEST(engines_are_read_from_a_file)
{
    struct scratch scratch;
    struct sandbox_engines own;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    CLEANUP(free) char *path = scratch_path(&scratch, "engines.json");
    assert_int_equal(sandbox_engines_load(&own, path, &err), 0); /* no file: no matter */
    size_t built_in = own.count;
    sandbox_engines_release(&own);
    scratch_write(&scratch, "engines.json", "\n");
    assert_int_equal(sandbox_engines_load(&own, path, &err), 0);
    assert_int_equal(own.count, built_in);
    sandbox_engines_release(&own);
    scratch_write(&scratch, "engines.json",
                  "{ // mine\n \"mine\": {\"argv\": [\"box\", \"{{x}}\", \"{name}\"], \"stop\": [\"end\"]},\n"
                  " \"bwrap\": {\"about\": \"another\", \"argv\": [\"/opt/bwrap\"], \"unsafe\": true}}\n");
    if (sandbox_engines_load(&own, path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(own.count, built_in + 1);
    const struct sandbox_engine *mine = sandbox_engines_find(&own, "mine");
    assert_true(mine && mine->from_user && !mine->unsafe && !mine->env);
    struct box_options spec = {.engine = mine};
    CLEANUP(free) char *text = vector_of(&spec, false);
    assert_string_equal(text, "box {x} keyturn-7");
    assert_string_equal(sandbox_engines_find(&own, "bwrap")->about, "another");
    assert_null(sandbox_engines_find(&own, "unknown"));
    sandbox_engines_release(&own);
    scratch_release(&scratch);
}

TEST(wrong_engine_files_are_refused)
{
    static const struct {
        const char *text;
        long line;
        const char *why;
    } mistakes[] = {
        {"[]", 1, "the file must hold one object in {}, with an engine under each name"},
        {"{\n\"a b\": {}}", 2, "invalid engine name \"a b\"; use letters, digits and -"},
        {"{\n\n\"a\": []}", 3, "\"a\" must be an object"},
        {"{\"a\": {\n\"about\": \"x\"}}", 1, "the engine \"a\" has no \"argv\""},
        {"{\"a\": {\n\"argvs\": []}}", 2, "unknown key \"a.argvs\" (did you mean \"argv\"?)"},
        {"{\"a\": {\"argv\": [\n\"x\",\n1]}}", 3, "\"a.argv\" must be a list of strings"},
        {"{\"a\": {\"argv\": \"x\"}}", 1, "\"a.argv\" must be a list of strings"},
        {"{\"a\": {\"argv\": []}}", 1, "\"a.argv\" must be a command"},
        {"{\"a\": {\"argv\": [\"\"]}}", 1, "\"a.argv\" must be a command"},
        {"{\"a\": {\"argv\": [\"x\", \n\"{wrkspace}\"]}}", 2,
         "\"a.argv\": unknown placeholder {wrkspace}; write {{wrkspace}} for literal braces"},
        {"{\"a\": {\"argv\": [\"x\", \"{host:sh}\"]}}", 1,
         "\"a.argv\": unknown placeholder {host:sh}; write {{host:sh}} for literal braces"},
        {"{\"a\": {\"argv\": [\"x\", \"}\"]}}", 1,
         "\"a.argv\": single brace in \"}\"; write {{ or }} for a literal brace"},
        {"{\"a\": {\"argv\": [\"x\"], \"stop\": []}}", 1, "\"a.stop\" must be a command"},
        {"{\"a\": {\"argv\": [\"x\"], \"secret\": true}}", 1, "\"a.secret\" must be a list of strings, or false"},
        {"{\"a\": {\"argv\": [\"x\"], \"unsafe\": 1}}", 1, "\"a.unsafe\" must be true or false"},
        {"{\"a\": {\"argv\": [\"x\"], \"retry\": {\"on\": \"x\"}}}", 1,
         "\"a.retry\" must be an object: {\"on\": \"text of the error\", \"with\": [arguments]}"},
        {"{\"a\": {\"argv\": [\"x\"]},\n\"a\": {\"argv\": [\"x\"]}}", 2, "duplicate key \"a\"; remove one"},
        {"{\"a\": {\"argv\": [\"x\"],\n \"argv\": [\"x\"]}}", 2, "duplicate key \"a.argv\"; remove one"},
        {"{\"a\": {\"argv\": [\"x\"],\n \"zzzzzz\": 1}}", 2, "unknown key \"a.zzzzzz\"; see keyturn-sandbox(7)"},
        {"{\"a\": {\"argv\": [\"x\"], \"program\": {\"argv\": [\"x\"],\n\"argv\": [\"x\"]}}}", 2,
         "duplicate key \"a.program.argv\"; remove one"},
        {"{\"a\": {\"argv\": [\"x\"], \"program\": {\"argv\": [\"x\"],\n\"wrkspace\": \"/w\"}}}", 2,
         "unknown key \"a.program.wrkspace\" (did you mean \"workspace\"?)"},
        {"{\"a\": {\"argv\": [\"x\"], \"program\": {\"argv\": [\"x\"],\n\"lnet\": []}}}", 2,
         "unknown key \"a.program.lnet\" (did you mean \"lent\"?)"},
        {"{\"a\": {\"argv\": [\"x\"], \"program\": {\"argv\": [\"x\"], \"workspace\": 1}}}", 1,
         "\"a.program.workspace\" must be a string"},
        {"{\"a\": {\"argv\": [\"x\"], \"program\": {\"argv\": [\"x\"], \"control\": 1}}}", 1,
         "\"a.program.control\" must be true or false"},
    };
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct sandbox_engines own = {0};
        struct err err = ERR_INIT;
        assert_int_equal(sandbox_engines_read(&own, mistakes[i].text, strlen(mistakes[i].text), true, &err), -1);
        assert_string_equal(err.text, mistakes[i].why);
        assert_int_equal(err.line, mistakes[i].line);
        sandbox_engines_release(&own);
    }
    struct sandbox_engines own = {0};
    struct err err = ERR_INIT;
    assert_int_equal(sandbox_engines_read(&own, "{\n{", 3, true, &err), -1);
    assert_int_equal(err.line, 2);
}

TEST(harness_path)
{
    unsetenv("KEYTURN_HARNESS");
    CLEANUP(free) char *folder = file_program_dir();
    CLEANUP(free) char *want = xasprintf("%s/keyturn-harness", folder);
    CLEANUP(free) char *beside = sandbox_harness_path();
    assert_string_equal(beside, want);
    setenv("KEYTURN_HARNESS", "/elsewhere", 1);
    CLEANUP(free) char *said = sandbox_harness_path();
    assert_string_equal(said, "/elsewhere");
    unsetenv("KEYTURN_HARNESS");
}

/* An image started with compose has the same limits as one that we start. */
TEST(compose_has_the_same_limits)
{
    CLEANUP(strbuf) struct strbuf compose = STRBUF_INIT;
    struct err err = ERR_INIT;
    assert_int_equal(file_read(SOURCE_DIR "/docker/compose.yaml", &compose, 0, &err), 0);
    char *lines[] = {xasprintf("\n    mem_limit: %um\n", BOX_MEMORY_MB),
                     xasprintf("\n    memswap_limit: %um\n", BOX_MEMORY_MB),
                     xasprintf("\n    pids_limit: %u\n", BOX_PIDS), xasprintf("\n    image: %s\n", BOX_IMAGE)};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (!strstr(compose.buf, lines[i]))
            fail_msg("compose.yaml has no%s", lines[i]);
        free(lines[i]);
    }
}

TEST_GROUP(begin, end)
