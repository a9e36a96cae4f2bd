/* The host's side of keyturn-launch: its command line, its messages in a stream, leftover processes of a program,
 * and guards (launcher.h). */

#include "launcher.h"
#include "child.h"
#include "file.h"
#include "log.h"
#include "loop.h"
#include "mem.h"
#include "processes.h"
#include "strbuf.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID_MAX    65536u
#define HELD_MAX    16384u /* more than the last messages ever need */
#define KILL_ROUNDS 50
#define ENVIRON_MAX ((size_t)4 << 20)

/* ---- its command line ---- */

char *launcher_path(void)
{
    const char *said = getenv("KEYTURN_LAUNCH");
    char *real = said && *said ? realpath(said, NULL) : NULL; /* the caller may run it from another folder */
    if (said && *said)
        return real ? real : xstrdup(said);
    CLEANUP(free) char *folder = file_program_dir();
    const char *const places[] = {"keyturn-launch", "../keyturn-launch", "../libexec/keyturn/keyturn-launch"};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        CLEANUP(free) char *path = xasprintf("%s/%s", folder, places[i]);
        if (access(path, X_OK) == 0)
            return steal(&path);
    }
    return xasprintf("%s/keyturn-launch", folder);
}

/* keyturn-launch OPTION… -- COMMAND… */
static char **launch_command(const char *const *options, size_t option_count, const char *const *command)
{
    size_t count = 0;
    while (command[count])
        count++;
    char **argv = xcalloc(option_count + count + 3, sizeof(*argv));
    char **at = argv;
    *at++ = launcher_path();
    for (size_t i = 0; i < option_count; i++)
        *at++ = xstrdup(options[i]);
    *at++ = xstrdup("--");
    for (size_t i = 0; i < count; i++)
        *at++ = xstrdup(command[i]);
    return argv;
}

char **launcher_argv(const char *const *argv, const char *cwd)
{
    const char *const options[] = {"--control", "--cwd", cwd};
    return launch_command(options, COUNT_OF(options), argv);
}

char **launcher_env(const char *const *env)
{
    char **prefixed = argv_copy(env);
    for (char **at = prefixed; *at; at++) {
        char *plain = *at;
        *at = xasprintf(LAUNCH_PREFIX "%s", plain);
        free(plain);
    }
    return prefixed;
}

/* ---- its messages in a shared stream ---- */

/* Without the end of the line, because a terminal makes it CR LF. */
static const char mark[] = LAUNCH_WORD "begins";
static const char ended[] = LAUNCH_WORD "ended";

struct launcher_words {
    struct strbuf said; /* received before the mark */
    struct strbuf held; /* bytes that may be the last messages */
    bool marked;        /* the mark was received, or is no longer expected */
    bool last;          /* keyturn-launch sends last messages */
    void (*output)(void *user, bool engine, const char *bytes, size_t len);
    void *user;
};

struct launcher_words *launcher_words_new(bool last, void (*output)(void *user, bool engine, const char *, size_t len),
                                          void *user)
{
    struct launcher_words *words = xcalloc(1, sizeof(*words));
    *words = (struct launcher_words){.last = last, .output = output, .user = user};
    strbuf_init(&words->said);
    strbuf_init(&words->held);
    return words;
}

static void drop_front(struct strbuf *buf, size_t len)
{
    memmove(buf->buf, buf->buf + len, buf->len - len);
    strbuf_set_len(buf, buf->len - len);
}

/* Returns where the last messages may begin: at the last match, or at a partial match at the end. */
static size_t last_begins(const struct strbuf *held)
{
    size_t len = strlen(ended);
    for (size_t at = held->len; at-- > 0;) {
        size_t rest = held->len - at;
        if (memcmp(held->buf + at, ended, rest < len ? rest : len) == 0)
            return rest > HELD_MAX ? held->len : at;
    }
    return held->len;
}

static void give_held(struct launcher_words *words, size_t len)
{
    if (len)
        words->output(words->user, false, words->held.buf, len);
    drop_front(&words->held, len);
}

static void feed_output(struct launcher_words *words, const char *bytes, size_t len)
{
    if (words->last) {
        strbuf_add(&words->held, bytes, len);
        give_held(words, last_begins(&words->held));
    } else if (len) {
        words->output(words->user, false, bytes, len);
    }
}

void launcher_words_feed(struct launcher_words *words, const char *bytes, size_t len)
{
    if (words->marked) {
        feed_output(words, bytes, len);
        return;
    }
    struct strbuf *said = &words->said;
    strbuf_add(said, bytes, len);
    const char *at = memmem(said->buf, said->len, mark, strlen(mark));
    const char *end = at ? memchr(at, '\n', said->len - (size_t)(at - said->buf)) : NULL;
    if (!end) {
        if (said->len > SAID_MAX)
            drop_front(said, said->len - SAID_MAX / 2);
        return;
    }
    words->marked = true;
    words->output(words->user, true, said->buf, (size_t)(at - said->buf));
    feed_output(words, end + 1, said->len - (size_t)(end + 1 - said->buf));
    strbuf_reset(said);
}

bool launcher_words_marked(const struct launcher_words *words)
{
    return words->marked;
}

const char *launcher_words_said(const struct launcher_words *words)
{
    return words->said.buf;
}

void launcher_words_give_up(struct launcher_words *words)
{
    words->marked = true;
    if (words->said.len)
        words->output(words->user, false, words->said.buf, words->said.len);
    strbuf_reset(&words->said);
}

static bool are_words(const struct strbuf *held)
{
    const char *end = held->buf + held->len;
    if (held->len < strlen(ended) || end[-1] != '\n')
        return false;
    for (const char *at = held->buf; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1)
        if (strncmp(at, LAUNCH_WORD, strlen(LAUNCH_WORD)) != 0)
            return false;
    return true;
}

void launcher_words_end(struct launcher_words *words, void (*hear)(void *user, const char *line))
{
    struct strbuf *held = &words->held;
    if (!are_words(held)) {
        give_held(words, held->len);
        return;
    }
    for (const char *at = held->buf; *at; at = strchr(at, '\n') + 1) {
        const char *text = at + strlen(LAUNCH_WORD);
        CLEANUP(free) char *line = xmemdup0(text, strcspn(text, "\r\n"));
        hear(words->user, line);
    }
    strbuf_reset(held);
}

void launcher_words_free(struct launcher_words *words)
{
    if (!words)
        return;
    strbuf_release(&words->said);
    strbuf_release(&words->held);
    free(words);
}

/* ---- leftovers: one scan of /proc finds all of them; the next round finds what they start meanwhile ---- */

struct leftovers {
    struct loop_work work;
    struct loop *loop;
    int launcher;
    char *variable, *group;
    struct left_process left[PROCESS_LEFT_MAX];
    size_t count;
    void (*killed)(void *user, const struct left_process *left, size_t count); /* NULL: the owner has left */
    void *user;
};

static bool has_variable(int pid, const char *variable)
{
    size_t wanted = strlen(variable) + 1;
    CLEANUP(free) char *path = xasprintf("/proc/%d/environ", pid);
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    char bytes[4096];
    for (ssize_t got; fd >= 0 && text.len < ENVIRON_MAX && (got = read(fd, bytes, sizeof(bytes))) > 0;)
        strbuf_add(&text, bytes, (size_t)got);
    for (const char *at = text.buf; at < text.buf + text.len; at += strlen(at) + 1)
        if (strncmp(at, variable, wanted) == 0)
            return true;
    return false;
}

static void mark_group(struct processes *all, const char *group)
{
    FILE *file = group ? fopen(group, "re") : NULL;
    for (int pid; file && fscanf(file, "%d", &pid) == 1;)
        for (size_t i = 0; i < all->count; i++)
            all->items[i].ours |= all->items[i].pid == pid;
    if (file)
        fclose(file);
}

static void find_leftovers(struct processes *all, const struct leftovers *leftovers)
{
    processes_read(all);
    mark_group(all, leftovers->group);
    for (size_t i = 0; i < all->count; i++) {
        struct process_entry *entry = &all->items[i];
        entry->ours =
            entry->pid > 1 && entry->pid != getpid() &&
            (entry->ours || entry->pid == leftovers->launcher || has_variable(entry->pid, leftovers->variable));
    }
    processes_mark_below(all);
    processes_keep_ours(all);
}

static void note_leftovers(struct leftovers *leftovers, const struct processes *all)
{
    for (size_t i = 0; i < all->count && leftovers->count < PROCESS_LEFT_MAX; i++)
        if (all->items[i].pid != leftovers->launcher) {
            struct left_process *left = &leftovers->left[leftovers->count++];
            *left = (struct left_process){.pid = all->items[i].pid, .survived = true};
            memcpy(left->name, all->items[i].name, sizeof(left->name));
        }
}

static void leftovers_work(struct loop_work *work)
{
    struct leftovers *leftovers = CONTAINER_OF(work, struct leftovers, work);
    struct processes all = {0};
    find_leftovers(&all, leftovers);
    note_leftovers(leftovers, &all);
    for (int i = 0; all.count && i < KILL_ROUNDS; i++) {
        for (size_t j = 0; j < all.count; j++)
            kill(all.items[j].pid, SIGKILL);
        poll(NULL, 0, 1);
        find_leftovers(&all, leftovers);
    }
    for (size_t i = 0; i < leftovers->count; i++)
        leftovers->left[i].survived = processes_have(&all, leftovers->left[i].pid);
    processes_release(&all);
}

static void leftovers_done(struct loop_work *work)
{
    struct leftovers *leftovers = CONTAINER_OF(work, struct leftovers, work);
    if (leftovers->killed)
        leftovers->killed(leftovers->user, leftovers->left, leftovers->count);
    free(leftovers->variable);
    free(leftovers->group);
    free(leftovers);
}

struct leftovers *leftovers_kill(struct loop *loop, int launcher, const char *name, const char *group,
                                 void (*killed)(void *user, const struct left_process *left, size_t count), void *user)
{
    struct leftovers *leftovers = xcalloc(1, sizeof(*leftovers));
    *leftovers = (struct leftovers){.loop = loop,
                                    .launcher = launcher,
                                    .variable = xasprintf("%s=%s", LAUNCH_NAME, name),
                                    .group = group ? xstrdup(group) : NULL,
                                    .killed = killed,
                                    .user = user};
    loop_work_start(loop, &leftovers->work, leftovers_work, leftovers_done);
    return leftovers;
}

void leftovers_leave(struct leftovers *leftovers)
{
    if (!leftovers)
        return;
    leftovers->killed = NULL;
    loop_work_disown(leftovers->loop, &leftovers->work);
}

/* ---- guards ---- */

static void ignore_line(void *data, const char *bytes, size_t len)
{
    (void)data;
    (void)bytes;
    (void)len;
}

struct child *launcher_guard_start(struct loop *loop, const char *const *stop, const char *const *env)
{
    struct err err = ERR_INIT;
    char **argv = launch_command((const char *const[]){"--guard"}, 1, stop);
    struct process_spec spec = {.argv = (const char *const *)argv, .env = env};
    struct child *guard = child_start(loop, &spec, &(struct child_ops){.control = ignore_line}, NULL, &err);
    if (!guard)
        log_warn("cannot start the guard of %s: %s", stop[0], err.text);
    argv_free(argv);
    return guard;
}

void launcher_guard_dismiss(struct child *guard)
{
    if (!guard)
        return;
    child_write_control(guard, &(char){LAUNCH_DONE}, 1);
    child_free(guard);
}
