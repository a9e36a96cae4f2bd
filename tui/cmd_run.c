/* keyturn run and keyturn demo. */

#include "app.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cmd.h"
#include "demo.h"
#include "drive.h"
#include "sandbox/rooms.h"
#include "say.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PROMPT_BYTES_MAX (1u << 20)

/* How fast a recorded model answers: as it did where somebody watches, else at once. */
static double usual_speed(void)
{
    return isatty(STDOUT_FILENO) ? 1 : 0;
}

/* The prompt of `run` */

static void trim(struct strbuf *text)
{
    while (text->len && strchr(" \t\r\n", text->buf[text->len - 1]) && text->buf[text->len - 1])
        strbuf_set_len(text, text->len - 1);
}

static int read_prompt(const struct options *options, struct strbuf *prompt)
{
    if (options->operand && strcmp(options->operand, "-") != 0) {
        strbuf_addstr(prompt, options->operand);
    } else {
        if (!options->operand && isatty(STDIN_FILENO))
            return say_error(STATUS_USAGE, "keyturn run needs a prompt (keyturn run \"what to do\", or pipe it in)");
        if (strbuf_read(prompt, STDIN_FILENO, PROMPT_BYTES_MAX))
            return errno == EFBIG
                       ? say_error(STATUS_USAGE, "the prompt on standard input is larger than 1 MiB (put the "
                                                 "material in a file of the workspace)")
                       : say_error(STATUS_USAGE, "cannot read the prompt from standard input: %s", strerror(errno));
    }
    if (memchr(prompt->buf, '\0', prompt->len))
        return say_error(STATUS_USAGE, "the prompt holds a NUL byte (it must be text)");
    trim(prompt);
    if (!prompt->len)
        return say_error(STATUS_USAGE, "the prompt is empty (say what the agent should do)");
    return 0;
}

int cmd_run(const struct options *options)
{
    if (app_wanted(options) && !(options->operand && strcmp(options->operand, "-") == 0))
        return app_live(options, false);
    CLEANUP(config) struct config *config = setup_config(options);
    CLEANUP(strbuf) struct strbuf prompt = STRBUF_INIT;
    struct model_choice model = {0};
    if (!config)
        return STATUS_USAGE;
    if (!options->model && !config->model)
        return setup_say_no_model(options);
    /* Before standard input is read: whoever has no model should not have to type a prompt to hear of it. */
    int status = setup_choose_model(options, config, &model);
    free(model.file);
    if (!status)
        status = read_prompt(options, &prompt);
    if (status)
        return status;
    struct drive drv = {.prompt = prompt.buf};
    struct setup_plan plan = {
        .options = options,
        .config = config,
        .workspace = options->workspace ? options->workspace : ".",
        .keep = true,
        .memory = true,
        .speed = usual_speed(),
    };
    return drive(&drv, &plan);
}

/* The demo */

static int run_demo(const struct options *options, const struct config *config, struct recording *recording,
                    const char *temp)
{
    CLEANUP(free) char *workspace = NULL;
    int status = demo_workspace(options, recording, temp, &workspace);
    if (status)
        return status;
    struct drive drv = {.scratch = temp};
    struct setup_plan plan = {
        .options = options,
        .config = config,
        .workspace = workspace,
        .recording = recording,
        /* What cannot be undone, because its files are gone, needs no checkpoints. */
        .temp = options->workspace ? NULL : temp,
        .keep = true,
        .speed = usual_speed(),
    };
    status = drive(&drv, &plan);
    if (options->workspace)
        say_notice("the demo's files are in %s", options->workspace);
    return status;
}

int cmd_demo(const struct options *options)
{
    if (app_wanted(options))
        return app_live(options, true);
    struct err err = ERR_INIT;
    CLEANUP(config) struct config *config = setup_config(options);
    CLEANUP(free) char *file = config ? demo_find() : NULL;
    if (!file)
        return STATUS_USAGE;
    struct recording *recording = recording_open(file, &err);
    if (!recording)
        return say_file_error(STATUS_USAGE, file, &err);
    struct rooms *scratch = rooms_open_scratch(&err);
    int status =
        scratch ? run_demo(options, config, recording, rooms_path(scratch)) : say_error(STATUS_USAGE, "%s", err.text);
    recording_free(recording);
    rooms_close(scratch);
    return status;
}
