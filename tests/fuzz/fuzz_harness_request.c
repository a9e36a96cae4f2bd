/* Fuzzes lines from the host. A line is refused with a message, or it is a request that can run; reading it twice gives
 * the same request. */

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "request.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_taken(const struct request *request)
{
    if (!request->id || !request->script || strlen(request->script) != request->script_len)
        BUG("a request without id or script");
    if (!utf8_valid(request->script, request->script_len) || !utf8_valid(request->id, strlen(request->id)))
        BUG("a request that is no text");
    if (!(request->timeout >= 1 && request->timeout <= 1e6))
        BUG("a timeout of %f", request->timeout);
    for (size_t i = 0; i < request->secret_count; i++)
        if (!request->secrets[i][0] || strchr(request->secrets[i], '='))
            BUG("a secret's name of '%s'", request->secrets[i]);
    for (size_t i = 0; i < request->file_count; i++) {
        const struct request_file *file = &request->files[i];
        if (!*file->path || *file->path == '/' || strncmp(file->path, "../", 3) == 0 || strstr(file->path, "/../"))
            BUG("a file at '%s'", file->path);
        for (size_t at = 0; at < file->len; at++) /* none is missing */
            *(volatile const char *)(file->bytes + at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena) struct arena first = ARENA_INIT;
    CLEANUP(arena) struct arena second = ARENA_INIT;
    struct request request, again;
    struct err err = ERR_INIT, err_again = ERR_INIT;
    bool taken = request_parse(&request, &first, (const char *)data, size, &err) == 0;
    if (taken)
        check_taken(&request);
    else if (!err.text[0])
        BUG("refused without a reason");
    if (request.id && strlen(request.id) > REQUEST_ID_MAX)
        BUG("an id of %zu bytes", strlen(request.id));
    if ((request_parse(&again, &second, (const char *)data, size, &err_again) == 0) != taken ||
        strcmp(err.text, err_again.text) != 0)
        BUG("read twice, it is another request");
    return 0;
}
