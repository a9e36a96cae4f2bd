#pragma once
/* Who sandboxed code is on this machine when Keyturn runs as root.
 *
 * Inside a sandbox uid 65534 means nothing: outside it is whoever started the sandbox. The kernel asks for root by that
 * outer uid before many things that no capability guards (sysctls, files of root's), so root hands its sandboxes to
 * another user. An ordinary user's sandboxes are the user's own. */

#include <stdbool.h>
#include <sys/types.h>

/* The user of that name is taken if /etc/passwd has one. Else the number: systemd leaves 65520-65533 unused and Debian
 * reserves 65000-65533, so no package has files or services of that user. 65534 does have some. It has 16 bits, so
 * ordinary users' containers map it too. */
#define SANDBOX_USER_NAME "_keyturn"
#define SANDBOX_UID       65525

struct sandbox_user {
    uid_t uid;
    gid_t gid;
};

/* For whoever runs the engine: NULL when that is no root, or root of a user namespace that has no such user. */
const struct sandbox_user *sandbox_user(void);
/* The same without a look at who runs: containers of everybody have a user who is not that of the machine. */
const struct sandbox_user *sandbox_user_always(void);
/* Gives what was made in a folder to the sandbox's user, if the folder is that user's. */
bool sandbox_user_give(int folder, int made);
/* Whether a user namespace has this number: `map` is the text of its uid_map or gid_map. */
bool sandbox_user_is_mapped(const char *map, unsigned id);
