#include "complaints.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "user.h"
#include <ctype.h>
#include <string.h>

#define SHOWN_MAX 300u

/* Where what is shown begins: with a whole complaint if it can, else with a word, at least with a character. */
static const char *whole_from(const char *tail)
{
    const char *complaint = strstr(tail, "; "), *word = strchr(tail, ' ');
    if (complaint && complaint[2])
        return complaint + 2;
    if (word && word[1])
        return word + 1;
    while (((unsigned char)*tail & 0xC0) == 0x80)
        tail++;
    return tail;
}

char *complaints_line(const char *said, size_t len)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    bool gap = false;
    for (size_t i = 0; i < len; i++) {
        char c = said[i];
        if (c == '\n' || c == '\r') { /* ssh ends its lines with both */
            gap = true;
            continue;
        }
        if (isspace((unsigned char)c) && (gap || !line.len))
            continue;
        if (gap && line.len)
            strbuf_addstr(&line, "; ");
        gap = false;
        strbuf_addch(&line, c ? c : ' ');
    }
    if (!line.len)
        return NULL;
    const char *end = line.buf + line.len;
    return line.len > SHOWN_MAX ? xasprintf("… %s", whole_from(end - SHOWN_MAX)) : strbuf_detach(&line, NULL);
}

char *complaints_cause(const char *said, const char *image)
{
    static const char *const no_image[] = {"image not known", "No such image", "Unable to find image"};
    for (size_t i = 0; image && i < COUNT_OF(no_image); i++)
        if (strstr(said, no_image[i]))
            return xasprintf("there is no image %s (./dev image makes it)", image);
    static const char *const no_namespace[] = {"No permissions to create new namespace",
                                               "Creating new namespace failed", "bwrap: setting up uid map"};
    for (size_t i = 0; i < COUNT_OF(no_namespace); i++)
        if (strstr(said, no_namespace[i]))
            return xasprintf("%s may not make a user namespace on this machine (raise user.max_user_namespaces, set "
                             "kernel.unprivileged_userns_clone=1, allow bwrap in AppArmor, or use podman or docker)",
                             sandbox_user() ? "the sandbox's user" : "an ordinary user");
    if (strstr(said, "keyturn-harness: unknown option"))
        return xasprintf("the harness there is of another version%s",
                         image ? " (./dev image makes the image anew)" : "");
    return NULL;
}
