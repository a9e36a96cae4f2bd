/* Roles and themes: parses a theme, finds it by name, and reduces its colors to those of the terminal.
 *
 * A file is read in two passes: parse_line stores each line, then inherit fills in missing values from the parent of
 * each role. */

#include "theme.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FILE_MOST  (64 * 1024)
#define COLOR_OPEN (-2) /* while a file is read: inherit from the parent */

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

struct theme_reader {
    struct theme *theme;
    long line;
    long named_on[LOOK_COUNT]; /* line that sets the role; 0: none so far */
    struct err *err;
};

/* Sets the error "there is no KIND NAME; did you mean …?" with the line. */
static int unknown(struct theme_reader *reader, const char *kind, const char *name, const struct nearest *near,
                   const char *otherwise)
{
    if (near->best)
        return err_set(reader->err, "unknown %s %.60s; did you mean %s?", kind, name, near->best);
    return err_set(reader->err, "unknown %s %.60s; %s", kind, name, otherwise);
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

static int parse_color(struct theme_reader *reader, const char *text, int32_t *color)
{
    int32_t number;
    if (!*text)
        return 0; /* inherited later */
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
    return unknown(reader, "color", text, &near, "write a name (red, bright-blue), 0 to 255, #rrggbb or default");
}

static int parse_attribute(struct theme_reader *reader, const char *name, struct style *style)
{
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < COUNT_OF(attributes); i++) {
        if (strcasecmp(attributes[i].name, name) == 0) {
            *(bool *)((char *)style + attributes[i].offset) = true;
            return 0;
        }
        nearest_offer(&near, attributes[i].name);
    }
    return unknown(reader, "attribute", name, &near, "known: bold, dim, italic, underline, reverse");
}

/* fg[,bg][+attribute…]; `text` is modified. */
static int parse_style(struct theme_reader *reader, char *text, struct style *style)
{
    char *plus = strchr(text, '+');
    if (plus)
        *plus++ = '\0';
    char *comma = strchr(text, ',');
    if (comma)
        *comma++ = '\0';
    if (parse_color(reader, text, &style->fg) || parse_color(reader, comma ? comma : "", &style->bg))
        return -1;
    while (plus) {
        char *next = strchr(plus, '+');
        if (next)
            *next++ = '\0';
        if (parse_attribute(reader, plus, style))
            return -1;
        plus = next;
    }
    return 0;
}

/* The next word of *line, terminated; NULL at its end or at a comment. A `#` starts a comment only where no color can
 * be. */
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

static int parse_line(struct theme_reader *reader, char *line)
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
        return unknown(reader, "role", role, &near, "`text` is one");
    }
    if (!look)
        return err_set(reader->err, "%s has no color; write a name, 0 to 255, #rrggbb or default", role);
    if (reader->named_on[index])
        return err_set(reader->err, "duplicate role %s", role);
    reader->named_on[index] = reader->line;
    if (parse_style(reader, look, &reader->theme->styles[index]))
        return -1;
    char *more = next_word(&line, false);
    return more ? err_set(reader->err, "unexpected word %.60s", more) : 0;
}

/* Fills in what a role leaves open: each color separately, attributes only if the theme does not name the role at
 * all. */
static void inherit(struct theme_reader *reader)
{
    struct style *styles = reader->theme->styles;
    struct style own[LOOK_COUNT];
    memcpy(own, styles, sizeof(own));
    for (enum look look = 0; look < LOOK_COUNT; look++) {
        bool named = reader->named_on[look] > 0;
        enum look above = look;
        while (above != LOOK_TEXT) {
            above = look_parent(above);
            if (styles[look].fg == COLOR_OPEN)
                styles[look].fg = own[above].fg;
            if (styles[look].bg == COLOR_OPEN)
                styles[look].bg = own[above].bg;
            if (!named && reader->named_on[above]) {
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
    struct theme_reader reader = {.theme = &parsed, .err = err};
    snprintf(parsed.name, sizeof(parsed.name), "%s", name);
    for (size_t i = 0; i < LOOK_COUNT; i++)
        parsed.styles[i].fg = parsed.styles[i].bg = COLOR_OPEN;
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t line_len = newline ? (size_t)(newline - text) - at : len - at;
        CLEANUP(free) char *line = xmemdup0(text + at, line_len);
        bool whole = strlen(line) == line_len;
        reader.line++;
        if (line_len && line[line_len - 1] == '\r')
            line[line_len - 1] = '\0';
        if (whole ? parse_line(&reader, line) : err_set(err, "NUL byte")) {
            if (err)
                err->line = reader.line;
            return -1;
        }
        at += line_len + 1;
    }
    inherit(&reader);
    *theme = parsed;
    return 0;
}

/* ---- finding ---- */

#define FOLDERS 4

/* The theme folders, the user's own first; NULL for one that does not exist. */
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

/* True for a plain name: it must not lead out of the folder. */
static bool is_name(const char *name, size_t len)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return len > 0 && len < sizeof(((struct theme *)0)->name) && strspn(name, good) >= len;
}

/* Copies of files in themes/, so that the program starts without the files and NO_COLOR always works. */
static const char theme_default[] = {
#include "default.theme.inc"
    0};
static const char theme_mono[] = {
#include "mono.theme.inc"
    0};

static const char *builtin_theme(const char *name)
{
    if (strcmp(name, "default") == 0)
        return theme_default;
    return strcmp(name, "mono") == 0 ? theme_mono : NULL;
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
    if (result > 0 && builtin_theme(name))
        result = theme_parse(theme, name, builtin_theme(name), strlen(builtin_theme(name)), err);
    return result;
}

/* Terminals that set COLORFGBG use "fg;bg" or "fg;default;bg"; 7 and 15 are white. */
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
        err_set(err, "unknown theme %.60s; did you mean %s?", name, near.best);
    else
        err_set(err, "unknown theme %.60s; known: %s", name, all.buf);
    theme_names_free(names);
    return -1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct theme_names {
    char **items;
    size_t count, room;
};

static void add_name(struct theme_names *names, const char *name, size_t len)
{
    if (!is_name(name, len))
        return;
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->items[i]) == len && memcmp(names->items[i], name, len) == 0)
            return;
    GROW(names->items, names->count, names->room);
    names->items[names->count++] = xmemdup0(name, len);
}

static void add_folder(struct theme_names *names, const char *folder)
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
    struct theme_names names = {0};
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

/* ---- roles ---- */

static const struct {
    const char *name, *doc;
} looks[LOOK_COUNT] = {
#define ROLE(ID, name, doc) [LOOK_##ID] = {name, doc},
#include "roles.def"
#undef ROLE
};

const char *look_name(enum look look)
{
    return (unsigned)look < LOOK_COUNT ? looks[look].name : "?";
}

const char *look_doc(enum look look)
{
    return (unsigned)look < LOOK_COUNT ? looks[look].doc : "";
}

static int find_look(const char *name, size_t len)
{
    for (int i = 0; i < LOOK_COUNT; i++)
        if (strncmp(looks[i].name, name, len) == 0 && looks[i].name[len] == '\0')
            return i;
    return -1;
}

int look_from_name(const char *name)
{
    return find_look(name, strlen(name));
}

enum look look_parent(enum look look)
{
    const char *name = look_name(look);
    size_t len = strlen(name);
    /* `wave.bar` has no role `wave` above it: skip names that are not roles. */
    for (;;) {
        while (len && name[len - 1] != '.')
            len--;
        if (len == 0)
            return LOOK_TEXT;
        int above = find_look(name, --len);
        if (above >= 0)
            return (enum look)above;
    }
}

/* ---- fewer colors ---- */

/* Colors for terminals that have fewer. The first 16 are the user's own palette, whose real values are unknown, so
 * xterm's default values are used for them. */

struct rgb {
    int red, green, blue;
};

static const struct rgb palette[16] = {
    {0, 0, 0},     {205, 0, 0},     {0, 205, 0},     {205, 205, 0},   {0, 0, 238}, {205, 0, 205},
    {0, 205, 205}, {229, 229, 229}, {127, 127, 127}, {255, 0, 0},     {0, 255, 0}, {255, 255, 0},
    {92, 92, 255}, {255, 0, 255},   {0, 255, 255},   {255, 255, 255},
};
static const int cube_levels[6] = {0, 95, 135, 175, 215, 255};

static struct rgb color_rgb(int32_t color)
{
    if (color & COLOR_RGB)
        return (struct rgb){color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF};
    if (color < 16)
        return palette[color];
    if (color >= 232) {
        int gray = 8 + 10 * (color - 232);
        return (struct rgb){gray, gray, gray};
    }
    color -= 16;
    return (struct rgb){cube_levels[color / 36], cube_levels[color / 6 % 6], cube_levels[color % 6]};
}

/* The eye sees green best and blue least. Weighting with the average red approximates that. */
static long distance(struct rgb a, struct rgb b)
{
    long mean = (a.red + b.red) / 2;
    long red = a.red - b.red;
    long green = a.green - b.green;
    long blue = a.blue - b.blue;
    return ((512 + mean) * red * red >> 8) + 4 * green * green + ((767 - mean) * blue * blue >> 8);
}

static int32_t nearest_color(struct rgb wanted, int32_t first, int32_t end)
{
    int32_t best = first;
    for (int32_t color = first + 1; color < end; color++)
        if (distance(wanted, color_rgb(color)) < distance(wanted, color_rgb(best)))
            best = color;
    return best;
}

/* For 16 or 8 colors: the hue decides if there is one. The nearest color of a pastel is white, so a diff in pastel
 * green and red would be white twice. */
static int32_t nearest_hue(struct rgb rgb, bool bright)
{
    int most = rgb.red > rgb.green ? rgb.red : rgb.green;
    int least = rgb.red < rgb.green ? rgb.red : rgb.green;
    most = most > rgb.blue ? most : rgb.blue;
    least = least < rgb.blue ? least : rgb.blue;
    int middle = (most + least) / 2;
    if (most < 64)
        return 0;
    if ((most - least) * 5 < most) { /* a gray */
        if (bright)
            return most < 160 ? 8 : most < 240 ? 7 : 15;
        return most < 100 ? 0 : 7;
    }
    int32_t hue = (rgb.red > middle ? 1 : 0) | (rgb.green > middle ? 2 : 0) | (rgb.blue > middle ? 4 : 0);
    return bright && most >= 230 ? hue + 8 : hue;
}

int32_t color_reduce(int32_t color, int colors)
{
    if (color < 0 || colors < 8)
        return COLOR_DEFAULT;
    if (!(color & COLOR_RGB) && color < (colors >= 256 ? 256 : colors >= 16 ? 16 : 8))
        return color;
    /* With 256 colors, avoid the user's palette: those 16 may have any value. */
    if (colors >= 256)
        return nearest_color(color_rgb(color), 16, 256);
    /* A bright color keeps its hue, but bright black must not become black on black. */
    if (color < 16)
        return color == 8 ? 7 : color - 8;
    return nearest_hue(color_rgb(color), colors >= 16);
}

static int lightness(int32_t color)
{
    struct rgb rgb = color_rgb(color);
    return (299 * rgb.red + 587 * rgb.green + 114 * rgb.blue) / 1000;
}

struct style style_reduce(const struct style *style, int colors)
{
    struct style reduced = *style;
    reduced.fg = color_reduce(style->fg, colors);
    reduced.bg = color_reduce(style->bg, colors);
    /* Two different colors must not become the same. */
    if (reduced.fg >= 0 && reduced.fg == reduced.bg && style->fg != style->bg) {
        bool lighter = lightness(style->fg) >= lightness(style->bg);
        reduced.fg = lighter ? 7 : 0;
        if (reduced.fg == reduced.bg)
            reduced.bg = lighter ? 0 : 7;
    }
    return reduced;
}
