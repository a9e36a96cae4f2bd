/* The part of the config file about workspaces and skills. */

#include "base/mem.h"
#include "config_inside.h"
#include "expand.h"
#include <string.h>

/* A whole number in a range. */
static int take_number(struct reading *reading, const struct json *value, int64_t least, int64_t most, int64_t *out)
{
    int64_t number = json_int(value, least - 1);
    if (number < least || number > most) {
        err_set(reading->err, "\"workspace.%s\" must be a whole number, %lld to %lld, is %.40s", value->key,
                (long long)least, (long long)most, value->text);
        return config_at_line(reading, value);
    }
    *out = number;
    return 0;
}

#define NUMBER(field, least, most)                                                          \
    static int take_##field(struct reading *reading, const struct json *value)              \
    {                                                                                       \
        return take_number(reading, value, least, most, &reading->config->workspace.field); \
    }
#define TRUTH(field)                                                           \
    static int take_##field(struct reading *reading, const struct json *value) \
    {                                                                          \
        reading->config->workspace.field = json_bool(value, false);            \
        return 0;                                                              \
    }
NUMBER(max_disk_mb, 1, 1 << 20)
NUMBER(memory_mb, 16, 1 << 20)
NUMBER(pids, 8, 32768) /* the sandbox, a shell and what that starts need some */
NUMBER(cpu_percent, 1, 6400)
NUMBER(timeout_s, 1, 86400)
NUMBER(programs, 1, 64)
TRUTH(persist)

static int take_engine(struct reading *reading, const struct json *value)
{
    reading->config->workspace.engine = config_keep(reading, value);
    reading->config->workspace.engine_line = config_line_of(reading, value);
    return 0;
}

/* A list of texts, NULL-terminated, and where each stands; `lines` NULL: nobody asks. */
static int take_texts(struct reading *reading, const struct json *value, const char *within, const char *const **out,
                      const long **lines)
{
    struct arena *arena = &reading->config->arena;
    const char **list = arena_calloc(arena, (size_t)value->count + 1, sizeof(*list));
    long *at = arena_calloc(arena, (size_t)value->count + 1, sizeof(*at));
    size_t count = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING || !item->len) {
            err_set(reading->err, "\"%s%s\" must hold texts, one of them is %s", within, value->key,
                    item->type == JSON_STRING ? "empty" : json_type_name(item->type));
            return config_at_line(reading, item);
        }
        at[count] = config_line_of(reading, item);
        list[count++] = config_keep(reading, item);
    }
    *out = list;
    if (lines)
        *lines = at;
    return 0;
}

static int take_inputs(struct reading *reading, const struct json *value)
{
    return take_texts(reading, value, "workspace.", &reading->config->workspace.inputs, NULL);
}

/* `true` is every public host, a list what it says. */
static int take_network(struct reading *reading, const struct json *value)
{
    struct network_rules *rules = &reading->config->workspace.network;
    bool all = value->type == JSON_TRUE;
    const char *const *texts = (const char *const[]){"*", NULL};
    const long *lines = NULL;
    if (value->type == JSON_ARRAY && take_texts(reading, value, "workspace.", &texts, &lines))
        return -1;
    size_t count = all ? 1 : value->type == JSON_ARRAY ? (size_t)value->count : 0;
    struct network_rule *items = arena_calloc(&reading->config->arena, count ? count : 1, sizeof(*items));
    for (size_t i = 0; i < count; i++)
        if (network_rule_parse(&items[i], texts[i], reading->err)) {
            err_prefix(reading->err, "\"workspace.network\"");
            reading->err->line = lines ? lines[i] : 0;
            return -1;
        }
    *rules = (struct network_rules){items, count, "\"workspace.network\""};
    return 0;
}

static int take_allow(struct reading *reading, const struct json *value)
{
    struct config_workspace *workspace = &reading->config->workspace;
    return take_texts(reading, value, "workspace.", &workspace->allow, &workspace->allow_lines);
}

static int take_deny(struct reading *reading, const struct json *value)
{
    struct config_workspace *workspace = &reading->config->workspace;
    return take_texts(reading, value, "workspace.", &workspace->deny, &workspace->deny_lines);
}

struct naming {
    struct reading *reading;
    const struct json *item; /* whose text names variables */
};

static void on_missing(void *user, const char *name)
{
    const struct naming *naming = user;
    struct config *config = naming->reading->config;
    struct config_workspace *workspace = &config->workspace;
    GROW(workspace->env_lacking, workspace->env_lacking_count, workspace->env_lacking_room);
    workspace->env_lacking[workspace->env_lacking_count++] =
        (struct config_lack){.key = arena_strdup(&config->arena, naming->item->key),
                             .name = name,
                             .line = config_line_of(naming->reading, naming->item)};
    if (!workspace->env_missing)
        workspace->env_missing = name;
}

/* "${}" or "${:-instead}" somewhere in the text. */
static bool names_nothing(const char *text)
{
    for (; (text = strstr(text, "${")); text += 2)
        if (text[2] == '}' || (strncmp(text + 2, ":-", 2) == 0 && strchr(text, '}')))
            return true;
    return false;
}

/* As a shell can say it: any other would be left out when a program starts. */
static bool is_variable(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *name && !strchr("0123456789", *name) && !name[strspn(name, plain)];
}

static int take_env(struct reading *reading, const struct json *value)
{
    struct config_workspace *workspace = &reading->config->workspace;
    struct arena *arena = &reading->config->arena;
    const char **list = arena_calloc(arena, (size_t)value->count + 1, sizeof(*list));
    size_t count = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING || !is_variable(item->key)) {
            err_set(reading->err, "\"workspace.env\" must hold names of variables and texts, which \"%.60s\" is not",
                    item->key);
            return config_at_line(reading, item);
        }
        if (names_nothing(item->text)) {
            err_set(reading->err, "\"workspace.env\": the text of \"%.60s\" has a ${} that names no variable",
                    item->key);
            return config_at_line(reading, item);
        }
        struct naming naming = {reading, item};
        list[count++] = arena_printf(arena, "%s=%s", item->key, config_expand(arena, item->text, on_missing, &naming));
    }
    workspace->env = list;
    return 0;
}

static const struct key workspace_keys[] = {
    {"engine", A_TEXT, take_engine},
    {"network", A_TRUTH_OR_LIST, take_network},
    {"persist", A_TRUTH, take_persist},
    {"max_disk_mb", A_NUMBER, take_max_disk_mb},
    {"memory_mb", A_NUMBER, take_memory_mb},
    {"pids", A_NUMBER, take_pids},
    {"cpu_percent", A_NUMBER, take_cpu_percent},
    {"timeout_s", A_NUMBER, take_timeout_s},
    {"programs", A_NUMBER, take_programs},
    {"inputs", A_LIST, take_inputs},
    {"allow", A_LIST, take_allow},
    {"deny", A_LIST, take_deny},
    {"env", AN_OBJECT, take_env},
};

int config_take_workspace(struct reading *reading, const struct json *value)
{
    return config_walk(reading, "workspace.", value, workspace_keys, COUNT_OF(workspace_keys));
}

int config_take_skills(struct reading *reading, const struct json *value)
{
    return take_texts(reading, value, "", &reading->config->skills, NULL);
}
