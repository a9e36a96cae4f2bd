/* keyturn-harness: runs untrusted Python, one script at a time, inside a sandbox that it puts on itself. */

#include "base/err.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "supervisor.h"
#include "wire.h"
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct tool_names {
    const char **items; /* NULL-terminated */
    size_t count;
};

struct harness_settings {
    const char *tools, *workspace;
    struct tool_names left_out;
    unsigned memory_mb;
    bool no_seccomp, no_landlock, no_rlimits, no_readonly, allow_degraded, end_with_input, help, version;
};

static const struct harness_option {
    const char *name;
    const char *argument; /* NULL: a switch */
    const char *help;
    size_t offset;
} table[] = {
    {"--tools", "DIR", "load every *.py of DIR (default /tools)", offsetof(struct harness_settings, tools)},
    {"--leave-out", "FILE", "do not load this file of DIR; may be given again",
     offsetof(struct harness_settings, left_out)},
    {"--workspace", "DIR", "where scripts run and may write (default /workspace)",
     offsetof(struct harness_settings, workspace)},
    {"--memory", "MB", "address space of a script (default 512)", offsetof(struct harness_settings, memory_mb)},
    {"--no-seccomp", NULL, "turn off the system call filter", offsetof(struct harness_settings, no_seccomp)},
    {"--no-landlock", NULL, "turn off the file rules", offsetof(struct harness_settings, no_landlock)},
    {"--no-rlimits", NULL, "turn off the resource limits", offsetof(struct harness_settings, no_rlimits)},
    {"--no-readonly", NULL, "do not make the rest of the file system read-only",
     offsetof(struct harness_settings, no_readonly)},
    {"--allow-degraded", NULL, "continue if this kernel lacks a layer",
     offsetof(struct harness_settings, allow_degraded)},
    {"--end-with-input", NULL, "exit when standard input closes, even while a script runs",
     offsetof(struct harness_settings, end_with_input)},
    {"--help", NULL, "this text", offsetof(struct harness_settings, help)},
    {"--version", NULL, "the version", offsetof(struct harness_settings, version)},
};

static int usage(const char *fmt, const char *what, const char *more)
{
    fprintf(stderr, "keyturn-harness: ");
    fprintf(stderr, fmt, what, more); /* NOLINT: the formats are below */
    fputc('\n', stderr);
    return -1;
}

static void add_name(struct tool_names *names, const char *name)
{
    names->items = xreallocarray(names->items, names->count + 2, sizeof(*names->items));
    names->items[names->count++] = name;
    names->items[names->count] = NULL;
}

static int set_value(struct harness_settings *settings, const struct harness_option *option, const char *value)
{
    char *place = (char *)settings + option->offset;
    char *end;
    if (!option->argument) {
        *(bool *)place = true;
        return 0;
    }
    if (strcmp(option->argument, "FILE") == 0) {
        add_name((struct tool_names *)(void *)place, value);
        return 0;
    }
    if (strcmp(option->argument, "MB") != 0) {
        *(const char **)place = value;
        return 0;
    }
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (errno || *end || end == value || *value == '-' || number < 64 || number > 1u << 20)
        return usage("%s takes a number of MB, 64 to 1048576, not '%s'", option->name, value);
    *(unsigned *)place = (unsigned)number;
    return 0;
}

static const struct harness_option *find_option(const char *text, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, text, len) == 0)
            return &table[i];
    return NULL;
}

static int unknown(const char *text)
{
    struct nearest near = nearest_to(text);
    for (size_t i = 0; i < COUNT_OF(table); i++)
        nearest_offer(&near, table[i].name);
    if (near.best)
        return usage("unknown option '%s' (did you mean %s?)", text, near.best);
    return usage("unknown option '%s' (%s lists them)", text, "--help");
}

/* Accepts --name value and --name=value. */
static int read_options(struct harness_settings *settings, char **argv)
{
    for (char **at = argv + 1; *at; at++) {
        const char *equals = strchr(*at, '=');
        const struct harness_option *option = find_option(*at, equals ? (size_t)(equals - *at) : strlen(*at));
        const char *value = equals ? equals + 1 : NULL;
        if (!option)
            return unknown(*at);
        if (!option->argument && value)
            return usage("%s takes no value%s", option->name, "");
        if (option->argument && !value && !(value = *++at))
            return usage("%s needs %s", option->name, option->argument);
        if (set_value(settings, option, value) < 0)
            return -1;
    }
    return 0;
}

static int print_help(void)
{
    printf("keyturn-harness [OPTIONS]\n"
           "Runs Python scripts in a sandbox. Requests on standard input, events on standard output, one JSON object a "
           "line.\n\n");
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(free)
        char *left = xasprintf("%s%s%s", table[i].name, table[i].argument ? " " : "",
                               table[i].argument ? table[i].argument : "");

        printf("  %-18s %s\n", left, table[i].help);
    }
    return 0;
}

/* ---- the two roles ---- */

static int run_zygote(const struct harness_settings *settings)
{
    const struct zygote_options options = {
        .sandbox = {.tools = settings->tools,
                    .workspace = settings->workspace,
                    .memory_mb = settings->memory_mb,
                    .no_seccomp = settings->no_seccomp,
                    .no_landlock = settings->no_landlock,
                    .no_rlimits = settings->no_rlimits},
        .tools = settings->tools,
        .left_out = settings->left_out.items,
        .no_readonly = settings->no_readonly,
        .allow_degraded = settings->allow_degraded,
    };
    return zygote_main(&options);
}

/* Returns the settings as arguments of the zygote. */
static char **zygote_arguments(const struct harness_settings *settings)
{
    const struct tool_names *left_out = &settings->left_out;
    char **arguments = xcalloc(COUNT_OF(table) + left_out->count + 2, sizeof(*arguments));
    size_t count = 0;
    arguments[count++] = xstrdup(ZYGOTE_NAME);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const char *place = (const char *)settings + table[i].offset;
        if (!table[i].argument) {
            if (*(const bool *)place)
                arguments[count++] = xstrdup(table[i].name);
        } else if (strcmp(table[i].argument, "FILE") == 0) {
            for (size_t j = 0; j < left_out->count; j++)
                arguments[count++] = xasprintf("%s=%s", table[i].name, left_out->items[j]);
        } else if (strcmp(table[i].argument, "MB") == 0) {
            if (*(const unsigned *)place)
                arguments[count++] = xasprintf("%s=%u", table[i].name, *(const unsigned *)place);
        } else if (*(const char *const *)place) {
            arguments[count++] = xasprintf("%s=%s", table[i].name, *(const char *const *)place);
        }
    }
    return arguments;
}

static int run_supervisor(struct harness_settings *settings)
{
    const char *workspace = settings->workspace ? settings->workspace : "/workspace";
    const char *tools = settings->tools ? settings->tools : "/tools";
    char workspace_path[PATH_MAX], tools_path[PATH_MAX], program_path[PATH_MAX];
    CLEANUP(free) char *missing = NULL;
    struct supervisor_options options = {.limit_cpu = !settings->no_rlimits,
                                         .end_with_input = settings->end_with_input};
    close_range(3, ~0u, 0); /* the parent may have left descriptors open */
    options.program = realpath((const char *)(uintptr_t)getauxval(AT_EXECFN), program_path);
    settings->tools = realpath(tools, tools_path);
    if (!settings->tools)
        options.missing_tools = missing = xasprintf("%s: %s", tools, strerror(errno));
    if (!realpath(workspace, workspace_path) || chdir(workspace_path) < 0) {
        usage("%s: %s (--workspace DIR names the folder scripts run in)", workspace, strerror(errno));
        return 2;
    }
    settings->workspace = options.workspace = workspace_path;
    char **arguments = zygote_arguments(settings);
    options.arguments = arguments;
    int status = supervisor_main(&options);
    for (char **at = arguments; *at; at++)
        free(*at);
    free(arguments);
    return status;
}

int main(int argc, char **argv)
{
    struct harness_settings settings = {0};
    (void)argc;
    if (read_options(&settings, argv) < 0)
        return 2;
    if (settings.help)
        return print_help();
    if (settings.version) {
        printf("keyturn-harness %s\n", KEYTURN_VERSION);
        return 0;
    }
    int status = strcmp(argv[0], ZYGOTE_NAME) == 0 ? run_zygote(&settings) : run_supervisor(&settings);
    fflush(NULL);
    _exit(status); /* skips exit handlers of the interpreter and of sanitizers */
}
