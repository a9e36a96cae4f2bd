/* keyturn keys and keyturn themes. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "cmd.h"
#include "keymap.h"
#include "output.h"
#include "say.h"
#include "setup.h"
#include "text.h"
#include "theme.h"
#include <string.h>
#include <unistd.h>

static int send_out(struct output *output)
{
    int status = output_flush(output) ? output_say_failed(output) : STATUS_DONE;
    output_release(output);
    return status;
}

int cmd_keys(const struct options *options)
{
    CLEANUP(config) struct config *config = setup_config(options);
    struct keymap *keymap = config ? setup_keymap(config) : NULL;
    struct output output;
    if (!keymap)
        return STATUS_USAGE;
    output_init(&output, STDOUT_FILENO);
    keymap_table(keymap, &output.text, false);
    keymap_free(keymap);
    return send_out(&output);
}

/* ---- themes ---- */

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
        {LOOK_STATUS_WAIT, "? waiting for you"},
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
    struct output output;
    char **names = theme_names();
    bool colors = isatty(STDOUT_FILENO);
    (void)options;
    output_init(&output, STDOUT_FILENO);
    for (size_t i = 0; names[i]; i++) {
        struct theme theme;
        struct err err = ERR_INIT;
        size_t begin = output.text.len;
        text_show(&output.text, names[i], strlen(names[i]), 0);
        if (colors)
            text_pad(&output.text, begin, NAME_COLUMNS);
        if (theme_load(&theme, names[i], &err)) {
            strbuf_addstr(&output.text, "  ");
            text_show(&output.text, err.text, strlen(err.text), 0); /* it repeats what the file holds */
        } else if (colors) {
            add_preview(&output.text, &theme);
        }
        strbuf_addch(&output.text, '\n');
        free(names[i]);
    }
    free(names);
    return send_out(&output);
}
