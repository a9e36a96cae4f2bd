/* The environment of programs: their variables in layers, and the policy of the commands they may run.
 *
 * env_merge fills a list from the lowest layer up; a later layer replaces. command_policy_check parses a command line
 * in one pass. A word knows whether all of it was unquoted: a quoted "if" is a command of that name, a bare one begins
 * a statement. */

#include "environment.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <ctype.h>
#include <fnmatch.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

const struct layout_row layout_rows[LAYOUT_DIRS] = {
    [LAYOUT_SKILLS] = {"skills", "SKILLS_DIR"},
    [LAYOUT_WORK] = {"work", "WORK_DIR"},
    [LAYOUT_RUNS] = {"runs", NULL},
    [LAYOUT_OUT] = {"out", "OUTPUT_DIR"},
};

struct env_list {
    char **items;
    size_t count, room;
};

static void env_list_cleanup(struct env_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}

static void put_entry(struct env_list *list, char *take_entry)
{
    size_t name = strcspn(take_entry, "=") + 1;
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], take_entry, name) == 0) {
            free(list->items[i]);
            list->items[i] = take_entry;
            return;
        }
    GROW(list->items, list->count + 1, list->room);
    list->items[list->count++] = take_entry;
    list->items[list->count] = NULL;
}

static void put(struct env_list *list, const char *name, const char *value)
{
    put_entry(list, xasprintf("%s=%s", name, value));
}

static bool is_name(const char *name)
{
    return *name && !strchr(name, '=');
}

bool env_steers(const char *name)
{
    static const char *const patterns[] = {
        "HOME",     "ENV", "BASH_ENV", "PROMPT_COMMAND", "PS4",    "SHELL",      "SHELLOPTS",   "PATH",
        "BASHOPTS", "IFS", "CDPATH",   "LD_*",           "DYLD_*", "GLOBIGNORE", "BASH_FUNC_*", "GCONV_PATH"};
    for (size_t i = 0; i < COUNT_OF(patterns); i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    if (!isalpha((unsigned char)*name) && *name != '_')
        return true;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name != '\0';
}

static void put_workspace(struct env_list *list, const struct env_layers *layers)
{
    put(list, LAYOUT_ENV_ROOT, layers->root);
    for (size_t i = 0; i < LAYOUT_DIRS; i++)
        if (layout_rows[i].env) {
            CLEANUP(free) char *path = xasprintf("%s/%s", layers->root, layout_rows[i].name);
            put(list, layout_rows[i].env, path);
        }
    if (layers->run) {
        CLEANUP(free) char *path = xasprintf("%s/%s", layers->root, layers->run);
        put(list, LAYOUT_ENV_RUN, path);
    }
}

char **env_merge(const struct env_layers *layers, struct err *err)
{
    CLEANUP(env_list) struct env_list list = {0};
    GROW(list.items, list.count, list.room);
    list.items[0] = NULL;
    for (const char *const *at = layers->clean ? NULL : layers->below; at && *at; at++)
        if (strchr(*at, '='))
            put_entry(&list, xstrdup(*at));
    if (layers->root)
        put_workspace(&list, layers);
    for (size_t i = 0; i < layers->provider.count; i++) {
        const struct env_var *var = &layers->provider.items[i];
        if (is_name(var->name) && !(layers->clean && env_steers(var->name)))
            put(&list, var->name, var->value);
    }
    for (size_t i = 0; i < layers->call.count; i++) {
        const struct env_var *var = &layers->call.items[i];
        if (!is_name(var->name)) {
            err_set(err, "invalid variable name \"%.60s\"", var->name);
            return NULL;
        }
        put(&list, var->name, var->value);
    }
    if (!env_value((const char *const *)list.items, "PATH"))
        put(&list, "PATH", ENV_PATH);
    list.count = 0;
    return steal(&list.items);
}

const char *env_value(const char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

/* ---- the policy of commands ---- */

/* State of one pass over the line. A word knows whether all of it was unquoted: a quoted "if" is a command of that
 * name, a bare one begins a statement. */

struct environment_reader {
    struct arena *arena;
    struct command_line *line;
    const char *at;
    struct err *err;
    const char **words; /* of the current command */
    size_t count, room;
    struct strbuf word;
    bool braces; /* the word has an unquoted brace */
};

static int refuse_command(struct environment_reader *r, const char *what)
{
    return err_set(r->err, "%s is not allowed", what);
}

/* ---- forbidden syntax ---- */

static const struct {
    const char *begin, *what;
} constructs[] = {
    {"$((", "arithmetic expansion '$((…))'"},
    {"$(", "command substitution '$(…)'"},
    {"${", "parameter expansion '${…}'"},
    {"$", "parameter expansion '$'"},
    {"`", "command substitution by back-ticks"},
    {"<(", "process substitution '<(…)'"},
    {">(", "process substitution '>(…)'"},
    {"<", "input redirection '<'"},
    {">", "output redirection '>'"},
    {"(", "subshell or function '(…)'"},
    {")", "a ')' without quotes"},
    {"[", "test or pattern '[…]' (quote it to use it literally)"},
    {"]", "a ']' without quotes"},
    {"*", "pattern '*' (quote it to use it literally)"},
    {"?", "pattern '?' (quote it to use it literally)"},
    {"!", "negation or history '!'"},
    {"#", "comment '#'"},
    {"~", "home folder '~'"},
    {"|&", "pipe of both streams '|&'"},
    {";;", "separator ';;'"},
    {"\n", "a second line"},
    {"\r", "a second line"},
};

static const char *construct_at(const char *at)
{
    for (size_t i = 0; i < COUNT_OF(constructs); i++)
        if (strncmp(at, constructs[i].begin, strlen(constructs[i].begin)) == 0)
            return constructs[i].what;
    return (unsigned char)*at < ' ' && *at != '\t' ? "a control character" : NULL;
}

static const char *const keywords[] = {
    "if",   "then", "elif", "else",     "fi",     "for",    "do",   "done", "while", "until",
    "case", "esac", "in",   "function", "select", "coproc", "time", "{",    "}",     "[[",
};

static bool in_list(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(list[i], name) == 0)
            return true;
    return false;
}

/* "{a,b}" and "{1..3}" expand to several words, and an open brace may begin a block. "{}" is a word. */
static int check_braces(struct environment_reader *r, const char *word)
{
    for (const char *at = strchr(word, '{'); at; at = strchr(at, '{')) {
        const char *end = strchr(at, '}');
        if (!end)
            return refuse_command(r, "an unclosed '{'");
        size_t len = (size_t)(end - at);
        if (memchr(at, ',', len) || memmem(at, len, "..", 2))
            return refuse_command(r, "brace expansion '{…}' (quote it to use it literally)");
        at = end;
    }
    return 0;
}

/* True for "NAME=" at the beginning of a command. */
static bool is_assignment(const char *word)
{
    size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return len && (word[len] == '=' || strncmp(word + len, "+=", 2) == 0);
}

/* ---- words ---- */

static int read_single(struct environment_reader *r)
{
    size_t len = strcspn(++r->at, "'\n\r");
    if (r->at[len] != '\'')
        return refuse_command(r, r->at[len] ? "a second line" : "an unclosed quote");
    strbuf_add(&r->word, r->at, len);
    r->at += len + 1;
    return 0;
}

static int read_double(struct environment_reader *r)
{
    for (r->at++; *r->at != '"'; r->at++) {
        if (!*r->at)
            return refuse_command(r, "an unclosed quote");
        if (strchr("$`\n\r!", *r->at))
            return refuse_command(r, construct_at(r->at));
        if (*r->at == '\\' && r->at[1] && strchr("\\\"$`", r->at[1]))
            r->at++;
        else if (*r->at == '\\' && (r->at[1] == '\n' || r->at[1] == '\r'))
            return refuse_command(r, "a second line");
        strbuf_addch(&r->word, *r->at);
    }
    r->at++;
    return 0;
}

static int read_escaped(struct environment_reader *r)
{
    if (!r->at[1] || r->at[1] == '\n' || r->at[1] == '\r')
        return refuse_command(r, "a backslash at the end of a line");
    strbuf_addch(&r->word, r->at[1]);
    r->at += 2;
    return 0;
}

static int end_word(struct environment_reader *r, bool only_bare)
{
    const char *word = arena_memdup0(r->arena, r->word.buf, r->word.len);
    if (r->count == 0 && is_assignment(word))
        return refuse_command(r, "an assignment before a command");
    if (r->count == 0 && only_bare && in_list(keywords, COUNT_OF(keywords), word))
        return refuse_command(r, arena_printf(r->arena, "the statement '%s'", word));
    if (r->braces && check_braces(r, word))
        return -1;
    GROW(r->words, r->count, r->room);
    r->words[r->count++] = word;
    return 0;
}

static int read_word(struct environment_reader *r)
{
    bool bare = true;
    strbuf_reset(&r->word);
    r->braces = false;
    for (; *r->at && !strchr(" \t|&;", *r->at);) {
        const char *wrong = construct_at(r->at);
        int failed = 0;
        bare = bare && !strchr("'\"\\", *r->at);
        r->braces = r->braces || *r->at == '{';
        if (*r->at == '\'')
            failed = read_single(r);
        else if (*r->at == '"')
            failed = read_double(r);
        else if (*r->at == '\\')
            failed = read_escaped(r);
        else if (wrong && !(*r->at == '~' && r->word.len))
            failed = refuse_command(r, wrong);
        else
            strbuf_addch(&r->word, *r->at++);
        if (failed)
            return -1;
    }
    return end_word(r, bare);
}

/* ---- commands ---- */

static int end_command(struct environment_reader *r, bool more_follow)
{
    if (!r->count)
        return err_set(r->err,
                       more_follow ? "a command is missing before an operator" : "a command is missing at the end");
    if (r->line->count == POLICY_COMMANDS_MAX)
        return err_set(r->err, "more than %d commands", POLICY_COMMANDS_MAX);
    const char **words = arena_calloc(r->arena, r->count + 1, sizeof(*words));
    memcpy(words, r->words, r->count * sizeof(*words));
    r->line->commands[r->line->count++] = words;
    r->count = 0;
    return 0;
}

static int read_operator(struct environment_reader *r)
{
    const char *wrong = construct_at(r->at);
    if (wrong)
        return refuse_command(r, wrong);
    if (r->at[0] == '&' && r->at[1] != '&')
        return refuse_command(r, "the background operator '&'");
    if (end_command(r, true))
        return -1;
    bool last_semicolon = r->at[0] == ';';
    r->at += r->at[0] != ';' && r->at[1] == r->at[0] ? 2 : 1;
    r->at += strspn(r->at, " \t");
    return *r->at || last_semicolon ? 0 : err_set(r->err, "a command is missing at the end");
}

static int read_line(struct environment_reader *r)
{
    for (r->at += strspn(r->at, " \t"); *r->at; r->at += strspn(r->at, " \t"))
        if (strchr("|&;", *r->at) ? read_operator(r) : read_word(r))
            return -1;
    if (!r->count && !r->line->count)
        return err_set(r->err, "the command is empty");
    return r->count ? end_command(r, false) : 0;
}

int command_line_parse(struct arena *arena, const char *command, struct command_line *line, struct err *err)
{
    struct environment_reader r = {.arena = arena, .line = line, .err = err, .word = STRBUF_INIT};
    line->count = 0;
    command += strspn(command, " \t\n\r");
    size_t len = strlen(command);
    while (len && strchr(" \t\n\r", command[len - 1]))
        len--;
    if (len > POLICY_COMMAND_MAX)
        return err_set(err, "the command is longer than %zu bytes", POLICY_COMMAND_MAX);
    r.at = arena_memdup0(arena, command, len);
    int failed = read_line(&r);
    strbuf_release(&r.word);
    free(r.words);
    return failed;
}

/* ---- names ---- */

/* Commands that run other commands from their arguments, change the meaning of a name, or set variables. */
static const char *const runners[] = {
    "sh",      "bash",       "zsh",     "ash",     "dash",     "ksh",      "mksh",    "fish",    "csh",       "tcsh",
    "pwsh",    "powershell", "cmd",     "busybox", "toybox",   "eval",     "exec",    "command", "source",    ".",
    "builtin", "xargs",      "env",     "nohup",   "timeout",  "sudo",     "su",      "doas",    "setsid",    "unshare",
    "nsenter", "chroot",     "runuser", "setpriv", "time",     "nice",     "ionice",  "chrt",    "taskset",   "stdbuf",
    "strace",  "ltrace",     "gdb",     "script",  "flock",    "parallel", "watch",   "trap",    "alias",     "unalias",
    "enable",  "hash",       "export",  "unset",   "readonly", "local",    "declare", "typeset", "set",       "shopt",
    "cd",      "pushd",      "popd",    "printf",  "read",     "getopts",  "let",     "mapfile", "readarray", "coproc",
};

bool command_policy_active(const struct command_policy *policy)
{
    return policy && ((policy->allow && policy->allow[0]) || (policy->deny && policy->deny[0]));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int check_name(const struct command_policy *policy, const char *name, struct err *err)
{
    for (const char *const *at = policy->deny; at && *at; at++)
        if (strcasecmp(*at, name) == 0 || strcasecmp(*at, base_name(name)) == 0)
            return err_set(err, "the command \"%.80s\" is denied here", name);
    if (in_list(runners, COUNT_OF(runners), base_name(name)))
        return err_set(err, "the command \"%.80s\" can start other commands, so command lists always deny it", name);
    for (const char *const *at = policy->allow; at && *at; at++)
        if (strcmp(*at, name) == 0)
            return 0;
    return policy->allow && policy->allow[0] ? err_set(err, "the command \"%.80s\" is not allowed", name) : 0;
}

int command_policy_check(const struct command_policy *policy, const char *command, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct command_line line;
    if (!command_policy_active(policy))
        return 0;
    if (command_line_parse(&arena, command, &line, err))
        return -1;
    for (size_t i = 0; i < line.count; i++)
        if (check_name(policy, line.commands[i][0], err))
            return -1;
    return 0;
}

int command_policy_check_entry(const char *name, bool allow, struct err *err)
{
    if (name[strcspn(name, " \t\r\n")])
        return err_set(err, "\"%.80s\" is not a command name: spaces and arguments are not allowed", name);
    if (strpbrk(name, "*?"))
        return err_set(err, "\"%.80s\" is not a command name: patterns are not supported", name);
    if (allow && in_list(runners, COUNT_OF(runners), base_name(name)))
        return err_set(err, "\"%.80s\" can start other commands, so command lists always deny it", name);
    return 0;
}
