/* A file is read in two passes: lines fill in what they say, then every role takes what was left open from its parent,
 * parents first because a parent's name is shorter and the walk up is done per role. */

#include "theme.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "theme_builtin.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FILE_MOST  (64 * 1024)
#define COLOR_OPEN (-2) /* while a file is read: the parent's */

static const char *const color_names[16] = {
    "black",       "red",          "green",      "yellow",       "blue",          "magenta",     "cyan",
    "white",       "bright-black", "bright-red", "bright-green", "bright-yellow", "bright-blue", "bright-magenta",
    "bright-cyan", "bright-white",
};

static const struct {
    const char *name;
    size_t offset;
} attributes[] = {
    {"bold", offsetof(struct style, bold)},       {"dim", offsetof(struct style, dim)},
    {"italic", offsetof(struct style, italic)},   {"underline", offsetof(struct style, underline)},
    {"reverse", offsetof(struct style, reverse)},
};

/* ---- parsing ---- */

struct reading {
    struct theme *theme;
    long line;
    long named_on[LOOK_COUNT]; /* the line, 0: not yet */
    struct err *err;
};

/* "there is no KIND NAME; did you mean …?" with the line. */
static int unknown(struct reading *reading, const char *kind, const char *name, const struct nearest *near,
                   const char *otherwise)
{
    if (near->best)
        return err_set(reading->err, "there is no %s %.60s; did you mean %s?", kind, name, near->best);
    return err_set(reading->err, "there is no %s %.60s; %s", kind, name, otherwise);
}

static bool parse_number(const char *text, int base, long most, int32_t *number)
{
    char *end;
    if (!strchr("0123456789abcdefABCDEF", *text) || !*text)
        return false;
    errno = 0;
    long value = strtol(text, &end, base);
    if (*end || errno || value < 0 || value > most)
        return false;
    *number = (int32_t)value;
    return true;
}

static int parse_color(struct reading *reading, const char *text, int32_t *color)
{
    int32_t number;
    if (!*text)
        return 0; /* stays open */
    if (strcasecmp(text, "default") == 0) {
        *color = COLOR_DEFAULT;
        return 0;
    }
    for (int i = 0; i < 16; i++) {
        if (strcasecmp(text, color_names[i]) == 0) {
            *color = i;
            return 0;
        }
    }
    if (*text == '#' && strlen(text) == 7 && parse_number(text + 1, 16, 0xFFFFFF, &number)) {
        *color = COLOR_RGB | number;
        return 0;
    }
    if (parse_number(text, 10, 255, &number)) {
        *color = number;
        return 0;
    }
    struct nearest near = nearest_to(text);
    nearest_offer(&near, "default");
    for (int i = 0; i < 16; i++)
        nearest_offer(&near, color_names[i]);
    return unknown(reading, "colour", text, &near, "write a name (red, bright-blue), 0 to 255, #rrggbb or default");
}

static int parse_attribute(struct reading *reading, const char *name, struct style *style)
{
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < COUNT_OF(attributes); i++) {
        if (strcasecmp(attributes[i].name, name) == 0) {
            *(bool *)((char *)style + attributes[i].offset) = true;
            return 0;
        }
        nearest_offer(&near, attributes[i].name);
    }
    return unknown(reading, "attribute", name, &near, "there are bold, dim, italic, underline and reverse");
}

/* fg[,bg][+attribute…]; `text` is cut up. */
static int parse_style(struct reading *reading, char *text, struct style *style)
{
    char *plus = strchr(text, '+');
    if (plus)
        *plus++ = '\0';
    char *comma = strchr(text, ',');
    if (comma)
        *comma++ = '\0';
    if (parse_color(reading, text, &style->fg) || parse_color(reading, comma ? comma : "", &style->bg))
        return -1;
    while (plus) {
        char *next = strchr(plus, '+');
        if (next)
            *next++ = '\0';
        if (parse_attribute(reading, plus, style))
            return -1;
        plus = next;
    }
    return 0;
}

/* The next word of *line, terminated; NULL at its end or a comment. A `#` is a comment only where no colour can be. */
static char *next_word(char **line, bool color)
{
    char *word = *line + strspn(*line, " \t");
    if (!*word || (*word == '#' && !color))
        return NULL;
    char *end = word + strcspn(word, " \t");
    *line = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static int parse_line(struct reading *reading, char *line)
{
    char *role = next_word(&line, false);
    if (!role)
        return 0;
    char *look = next_word(&line, true);
    int index = look_from_name(role);
    if (index < 0) {
        struct nearest near = nearest_to(role);
        for (enum look each = 0; each < LOOK_COUNT; each++)
            nearest_offer(&near, look_name(each));
        return unknown(reading, "role", role, &near, "`text` is one");
    }
    if (!look)
        return err_set(reading->err, "%s has no colour; write a name, 0 to 255, #rrggbb or default", role);
    if (reading->named_on[index])
        return err_set(reading->err, "%s is here twice", role);
    reading->named_on[index] = reading->line;
    if (parse_style(reading, look, &reading->theme->styles[index]))
        return -1;
    char *more = next_word(&line, false);
    return more ? err_set(reading->err, "%.60s is one word too many", more) : 0;
}

/* What a role leaves open: colours one by one, attributes only when the theme does not name it at all. */
static void inherit(struct reading *reading)
{
    struct style *styles = reading->theme->styles;
    struct style own[LOOK_COUNT];
    memcpy(own, styles, sizeof(own));
    for (enum look look = 0; look < LOOK_COUNT; look++) {
        bool named = reading->named_on[look] > 0;
        enum look above = look;
        while (above != LOOK_TEXT) {
            above = look_parent(above);
            if (styles[look].fg == COLOR_OPEN)
                styles[look].fg = own[above].fg;
            if (styles[look].bg == COLOR_OPEN)
                styles[look].bg = own[above].bg;
            if (!named && reading->named_on[above]) {
                int32_t fg = styles[look].fg;
                int32_t bg = styles[look].bg;
                styles[look] = own[above];
                styles[look].fg = fg;
                styles[look].bg = bg;
                named = true;
            }
        }
        if (styles[look].fg == COLOR_OPEN)
            styles[look].fg = COLOR_DEFAULT;
        if (styles[look].bg == COLOR_OPEN)
            styles[look].bg = COLOR_DEFAULT;
    }
}

int theme_parse(struct theme *theme, const char *name, const char *text, size_t len, struct err *err)
{
    struct theme parsed = {0};
    struct reading reading = {.theme = &parsed, .err = err};
    snprintf(parsed.name, sizeof(parsed.name), "%s", name);
    for (size_t i = 0; i < LOOK_COUNT; i++)
        parsed.styles[i].fg = parsed.styles[i].bg = COLOR_OPEN;
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t line_len = newline ? (size_t)(newline - text) - at : len - at;
        CLEANUP(free) char *line = xmemdup0(text + at, line_len);
        bool whole = strlen(line) == line_len;
        reading.line++;
        if (line_len && line[line_len - 1] == '\r')
            line[line_len - 1] = '\0';
        if (whole ? parse_line(&reading, line) : err_set(err, "a NUL is in the text")) {
            if (err)
                err->line = reading.line;
            return -1;
        }
        at += line_len + 1;
    }
    inherit(&reading);
    *theme = parsed;
    return 0;
}

/* ---- finding ---- */

#define FOLDERS 4

/* The folders, the user's own first; NULL where there is none. */
static void find_folders(char *folders[FOLDERS])
{
    CLEANUP(free) char *program = file_program_dir();
    const char *named = getenv("KEYTURN_THEMES");
    folders[0] = file_xdg_path(FILE_CONFIG, "themes");
    folders[1] = named && *named ? xstrdup(named) : NULL;
    folders[2] = xasprintf("%s/../themes", program);
    folders[3] = xasprintf("%s/../share/keyturn/themes", program);
}

static void free_folders(char *folders[FOLDERS])
{
    for (size_t i = 0; i < FOLDERS; i++)
        free(folders[i]);
}

/* Names are names: nothing that could lead out of the folder. */
static bool is_name(const char *name, size_t len)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return len > 0 && len < sizeof(((struct theme *)0)->name) && strspn(name, good) >= len;
}

static const char *builtin(const char *name)
{
    if (strcmp(name, "default") == 0)
        return theme_builtin_default;
    return strcmp(name, "mono") == 0 ? theme_builtin_mono : NULL;
}

static int load_file(struct theme *theme, const char *name, const char *path, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (file_read(path, &text, FILE_MOST, err))
        return -1;
    struct err inside = ERR_INIT;
    if (theme_parse(theme, name, text.buf, text.len, &inside)) {
        err_set(err, "%s:%ld: %s", path, inside.line, inside.text);
        return -1;
    }
    return 0;
}

static int load_named(struct theme *theme, const char *name, struct err *err)
{
    char *folders[FOLDERS];
    int result = 1; /* not found */
    find_folders(folders);
    for (size_t i = 0; i < FOLDERS && result > 0; i++) {
        CLEANUP(free) char *path = folders[i] ? xasprintf("%s/%s.theme", folders[i], name) : NULL;
        if (path && access(path, F_OK) == 0)
            result = load_file(theme, name, path, err);
    }
    free_folders(folders);
    if (result > 0 && builtin(name))
        result = theme_parse(theme, name, builtin(name), strlen(builtin(name)), err);
    return result;
}

/* COLORFGBG is "fg;bg" or "fg;default;bg" where terminals set it at all; 7 and 15 are white. */
static bool is_light_terminal(void)
{
    const char *value = getenv("COLORFGBG");
    const char *last = value ? strrchr(value, ';') : NULL;
    return last && (strcmp(last, ";7") == 0 || strcmp(last, ";15") == 0);
}

static int load_suggested(struct theme *theme, struct err *err)
{
    const char *no_color = getenv("NO_COLOR");
    if (no_color && *no_color)
        return load_named(theme, "mono", err);
    if (is_light_terminal() && load_named(theme, "light", NULL) == 0)
        return 0;
    return load_named(theme, "default", err);
}

int theme_load(struct theme *theme, const char *name, struct err *err)
{
    if (!name)
        return load_suggested(theme, err);
    int result = is_name(name, strlen(name)) ? load_named(theme, name, err) : 1;
    if (result <= 0)
        return result;
    char **names = theme_names();
    struct nearest near = nearest_to(name);
    CLEANUP(strbuf) struct strbuf all = STRBUF_INIT;
    for (size_t i = 0; names[i]; i++) {
        nearest_offer(&near, names[i]);
        strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    if (near.best)
        err_set(err, "there is no theme %.60s; did you mean %s?", name, near.best);
    else
        err_set(err, "there is no theme %.60s; there are %s", name, all.buf);
    theme_names_free(names);
    return -1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **items;
    size_t count, room;
};

static void add_name(struct names *names, const char *name, size_t len)
{
    if (!is_name(name, len))
        return;
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->items[i]) == len && memcmp(names->items[i], name, len) == 0)
            return;
    GROW(names->items, names->count, names->room);
    names->items[names->count++] = xmemdup0(name, len);
}

static void add_folder(struct names *names, const char *folder)
{
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".theme") == 0)
            add_name(names, entry->d_name, (size_t)(dot - entry->d_name));
    }
    if (dir)
        closedir(dir);
}

char **theme_names(void)
{
    struct names names = {0};
    char *folders[FOLDERS];
    add_name(&names, "default", 7);
    add_name(&names, "mono", 4);
    find_folders(folders);
    for (size_t i = 0; i < FOLDERS; i++)
        add_folder(&names, folders[i]);
    free_folders(folders);
    qsort(names.items, names.count, sizeof(*names.items), compare_names);
    GROW(names.items, names.count, names.room);
    names.items[names.count] = NULL;
    return names.items;
}

void theme_names_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
