/* The config file from within the workbench. What the editor leaves behind counts only if it can be read: else
 * everything stays as it was, and the line that is wrong is named. Keys are bound once, when the program starts. */

#include "app_inside.h"
#include "base/file.h"
#include "config_example.h"
#include <string.h>
#include <unistd.h>

static int make_file(const char *path, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const char *slash = strrchr(path, '/');
    CLEANUP(free) char *folder = slash > path ? xmemdup0(path, (size_t)(slash - path)) : NULL;
    if (folder && file_mkdirs(folder, 0700, err))
        return -1;
    config_example_write(&text);
    return file_replace(path, text.buf, text.len, 0600, err);
}

int app_edit_config(struct app *app, struct err *err)
{
    CLEANUP(free) char *usual = config_default_path();
    const char *path = app->options->config ? app->options->config : usual;
    struct err reason = ERR_INIT;
    if (access(path, F_OK) && make_file(path, err))
        return -1;
    if (app_edit_file(app, path, err))
        return -1;
    struct config *config = config_load(path, &reason);
    if (!config)
        return err_set(err, "config file, line %ld: %s (the settings stay as they were)", reason.line, reason.text);
    for (size_t i = 0; i < app->options->mcp.count; i++)
        if (config_add_mcp(config, app->options->mcp.items[i], &reason)) {
            config_free(config);
            return err_set(err, "%.200s: %s (the settings stay as they were)", app->options->mcp.items[i], reason.text);
        }
    config_free(app->config);
    app->config = config;
    free(app->notice);
    app->notice = config->model ? xasprintf("the model is %s from now on", config->model)
                                : xstrdup("there is still no \"model\" in the config file");
    app_go(app, (struct stage){.kind = STAGE_START});
    return 0;
}
