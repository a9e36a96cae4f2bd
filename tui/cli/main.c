/* The program keyturn: parses the command line and runs the command. The commands keys, themes and help are here too.
 *
 * Without free descriptors or enough stack the program would fail halfway, so prepare_limits checks both first. */

#include "app/cli_error.h"
#include "app/keymap.h"
#include "app/setup.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cli_out.h"
#include "config/config.h"
#include "options.h"
#include "screen/text.h"
#include "screen/theme.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- resource limits ---- */

#define FILES_FREE   40 /* descriptors: loop, thread pool, store, journal, servers, and a program */
#define FILES_ADVICE 64
#define FILES_WANTED 256         /* a lower soft limit is raised to this */
#define STACK_LEAST  (512 << 10) /* bytes: the deepest call chain, libraries included, with room to spare */
#define STACK_WANTED (8 << 20)

/* True if that many descriptors can be opened. Inherited descriptors count too, so the only sure way is to try. */
static bool files_free(void)
{
    int fds[FILES_FREE];
    size_t count = 0;
    while (count < COUNT_OF(fds) && (fds[count] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) >= 0)
        count++;
    bool all = count == COUNT_OF(fds);
    while (count)
        close(fds[--count]);
    return all;
}

/* Raises the soft limit to `wanted`, or to the hard limit. */
static void raise_limit(int resource, rlim_t wanted)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit((__rlimit_resource_t)resource, &limit); /* the caller checks the result */
}

static int prepare_files(struct err *err)
{
    struct rlimit limit;
    raise_limit(RLIMIT_NOFILE, FILES_WANTED);
    if (files_free())
        return 0;
    unsigned long long now = getrlimit(RLIMIT_NOFILE, &limit) ? 0 : (unsigned long long)limit.rlim_cur;
    return err_set(err, "cannot open enough files: the limit is %llu (set ulimit -n to %d or more)", now, FILES_ADVICE);
}

/* The stack of this thread grows up to the current limit. Threads created without an explicit size use the limit at
 * program start. */
static int prepare_stack(struct err *err)
{
    struct rlimit limit;
    pthread_attr_t attr;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_LEAST)
        return 0;
    raise_limit(RLIMIT_STACK, STACK_WANTED);
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur < STACK_LEAST)
        return err_set(err, "the stack is limited to %llu KB (set ulimit -s to %d or more)",
                       (unsigned long long)limit.rlim_cur >> 10, STACK_LEAST >> 10);
    if (pthread_attr_init(&attr) == 0) {
        if (pthread_attr_setstacksize(&attr, STACK_LEAST) == 0)
            pthread_setattr_default_np(&attr);
        pthread_attr_destroy(&attr);
    }
    return 0;
}

/* Raises soft limits that are too low, as far as the hard limit allows. Ignores SIGXFSZ, so that a file at its size
 * limit makes the write fail. Returns -1 and sets `err` if a limit is too low to work with. */
static int prepare_limits(struct err *err)
{
    signal(SIGXFSZ, SIG_IGN);
    return prepare_stack(err) || prepare_files(err) ? -1 : 0;
}

/* ---- keyturn help ---- */

static int send_out(struct cli_out *output)
{
    int status = cli_out_flush(output) ? cli_out_error(output) : STATUS_DONE;
    cli_out_release(output);
    return status;
}

static int print(const struct strbuf *text)
{
    struct cli_out output;
    cli_out_init(&output, STDOUT_FILENO);
    strbuf_add(&output.text, text->buf, text->len);
    return send_out(&output);
}

int cmd_help(const struct options *options)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!options->operand) {
        cli_help(&text);
        return print(&text);
    }
    if (strcmp(options->operand, "config") == 0) {
        config_help_write(&text);
        return print(&text);
    }
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(options->operand, cli_command_name((enum cli_command)i)) == 0) {
            cli_command_help(&text, (enum cli_command)i);
            return print(&text);
        }
    return cli_error(STATUS_USAGE, "unknown command %s (keyturn --help lists them)", options->operand);
}

/* ---- keyturn keys ---- */

int cmd_keys(const struct options *options)
{
    CLEANUP(config) struct config *config = setup_config(options);
    struct keymap *keymap = config ? setup_keymap(config) : NULL;
    struct cli_out output;
    if (!keymap)
        return STATUS_USAGE;
    cli_out_init(&output, STDOUT_FILENO);
    keymap_table(keymap, &output.text);
    keymap_free(keymap);
    return send_out(&output);
}

/* ---- keyturn themes ---- */

#define NAME_COLUMNS 14

static void add_color(struct strbuf *out, int32_t color, bool background)
{
    int32_t index = color == COLOR_DEFAULT ? COLOR_DEFAULT : color_reduce(color, 256);
    if (index != COLOR_DEFAULT)
        strbuf_addf(out, "\033[%d;5;%dm", background ? 48 : 38, (int)index);
}

static void add_sample(struct strbuf *out, const struct theme *theme, enum look look, const char *text)
{
    const struct style *style = &theme->styles[look];
    strbuf_addf(out, "\033[0%s%s%s%sm", style->bold ? ";1" : "", style->dim ? ";2" : "", style->underline ? ";4" : "",
                style->reverse ? ";7" : "");
    add_color(out, style->fg, false);
    add_color(out, style->bg, true);
    strbuf_addf(out, " %s ", text);
    strbuf_addstr(out, "\033[0m");
}

static void add_preview(struct strbuf *out, const struct theme *theme)
{
    static const struct {
        enum look look;
        const char *text;
    } samples[] = {
        {LOOK_STATUS_WAIT, "? waiting for approval"},
        {LOOK_USER, "you"},
        {LOOK_AGENT, "agent"},
        {LOOK_DIFF_REMOVE, "- old line"},
        {LOOK_DIFF_ADD, "+ new line"},
        {LOOK_CALL_FAILED, "failed"},
        {LOOK_GAUGE_WARN, "! 83 %"},
        {LOOK_SELECT, "selected"},
    };
    for (size_t i = 0; i < COUNT_OF(samples); i++)
        add_sample(out, theme, samples[i].look, samples[i].text);
}

int cmd_themes(const struct options *options)
{
    struct cli_out output;
    char **names = theme_names();
    bool colors = isatty(STDOUT_FILENO);
    (void)options;
    cli_out_init(&output, STDOUT_FILENO);
    for (size_t i = 0; names[i]; i++) {
        struct theme theme;
        struct err err = ERR_INIT;
        size_t begin = output.text.len;
        text_show(&output.text, names[i], strlen(names[i]), 0);
        if (colors)
            text_pad(&output.text, begin, NAME_COLUMNS);
        if (theme_load(&theme, names[i], &err)) {
            strbuf_addstr(&output.text, "  ");
            text_show(&output.text, err.text, strlen(err.text), 0); /* the error quotes the file, so sanitize it */
        } else if (colors) {
            add_preview(&output.text, &theme);
        }
        strbuf_addch(&output.text, '\n');
        free(names[i]);
    }
    free(names);
    return send_out(&output);
}

/* ---- the program ---- */

/* Opens descriptors 0 to 2 if they are closed, so that a journal cannot become standard output. */
static void fill_standard_files(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
        cli_out_closed |= fd == STDOUT_FILENO;
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static int (*const run[])(const struct options *options) = {
#define COMMAND(ID, name, operands, least, most, help, more) [COMMAND_##ID] = cmd_##name,
#include "commands.def"
#undef COMMAND
    [COMMAND_NONE] = cmd_start,
};

int main(int argc, char **argv)
{
    struct cli_options line;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    int status;
    fill_standard_files();
    /* Texts are allocated and freed with every event. Keep freed memory, so that it need not be mapped and zeroed
     * again. */
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    if (cli_options_parse(&line, argc, argv, &err)) {
        status = cli_error(STATUS_USAGE, "%s", err.text);
    } else if (line.version) {
        strbuf_addstr(&text, "keyturn " KEYTURN_VERSION "\n");
        status = print(&text);
    } else if (line.help) {
        if (line.command == COMMAND_NONE)
            cli_help(&text);
        else
            cli_command_help(&text, line.command);
        status = print(&text);
    } else if (prepare_limits(&err)) {
        status = cli_error(STATUS_FAILED, "%s", err.text);
    } else {
        status = run[line.command](&line.options);
    }
    cli_options_release(&line);
    return status;
}
