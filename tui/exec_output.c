#include "exec_output.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "plain.h"
#include "say.h"
#include <string.h>

void exec_output_init(struct exec_output *out)
{
    *out = (struct exec_output){
        .account = {.script = "", .colour = plain_style_for(STDOUT_FILENO).colour},
        .readable = isatty(STDOUT_FILENO),
    };
    output_init(&out->output, STDOUT_FILENO);
}

void exec_output_release(struct exec_output *out)
{
    output_release(&out->output);
    free(out->script);
}

void exec_output_script(struct exec_output *out, const char *script)
{
    free(out->script);
    out->script = redact_copy(script);
    out->account.script = out->script;
}

void exec_output_event(struct exec_output *out, const char *line, size_t len)
{
    CLEANUP(strbuf) struct strbuf veiled = STRBUF_INIT;
    bool secret = redact_json(&veiled, line, len);
    const char *shown = secret ? veiled.buf : line;
    size_t shown_len = secret ? veiled.len : len;
    if (out->readable) {
        exec_account_event(&out->account, &out->output.text, shown, shown_len);
    } else {
        size_t begin = out->output.text.len;
        strbuf_add(&out->output.text, shown, shown_len);
        json_make_printable(&out->output.text, begin);
        strbuf_addch(&out->output.text, '\n');
    }
}

int exec_say_error(const char *error)
{
    return say_error(STATUS_FAILED, "%.*s", (int)strcspn(error, "\n"), error);
}
