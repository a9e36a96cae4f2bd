#include "exec_inside.h"
#include "say.h"
#include <math.h>
#include <string.h>

struct script_request exec_request(const struct sandbox *sandbox, const struct options *options)
{
    return (struct script_request){
        .mode = options->mode ? (enum script_mode)script_mode_from_name(options->mode) : SCRIPT_PLAN,
        .timeout_s = isnan(options->timeout) ? SCRIPT_TIMEOUT_S : options->timeout,
        .max_output_bytes = options->max_output > 0 ? (size_t)options->max_output : SCRIPT_OUTPUT_BYTES,
        .secrets = sandbox->spec.secrets,
    };
}

struct pool *exec_open_pool(const struct sandbox *sandbox, struct loop *loop, size_t warm)
{
    struct pool *pool = sandbox_pool(sandbox, loop, warm, 1 - warm);
    if (!pool)
        say_error(STATUS_USAGE, "no sandbox is installed (install bubblewrap, or see keyturn engines)");
    else if (sandbox->spec.engine->unsafe)
        say_notice("--engine %s is UNSAFE: nothing holds the script but the layers of the harness itself",
                   sandbox->spec.engine->name);
    return pool;
}

/* A reason that ends with what to do needs no other advice. */
int exec_say_no_box(const char *why)
{
    bool advised = *why && why[strlen(why) - 1] == ')';
    return say_error(STATUS_USAGE, "the script could not be run: %s%s", why,
                     advised ? "" : " (keyturn engines tells more)");
}
