#pragma once
/* The user that sandboxed code runs as on this machine when Keyturn runs as root.
 *
 * Inside a sandbox uid 65534 means nothing: outside, the processes belong to the user who started the sandbox. The
 * kernel checks that outer uid for many things that no capability guards (sysctls, files of root). So root runs its
 * sandboxes as another user. Sandboxes of an ordinary user run as that user. */

#include <stdbool.h>
#include <sys/types.h>

/* If /etc/passwd has a user of this name, that user is taken, else the number. systemd leaves 65520-65533 unused and
 * Debian reserves 65000-65533, so no package has files or services of that user. 65534 does have some. The number
 * has 16 bits, so containers of ordinary users map it too. */
#define SANDBOX_USER_NAME "_keyturn"
#define SANDBOX_UID       65525

struct sandbox_user {
    uid_t uid;
    gid_t gid;
};

/* The user for engines of this process. NULL if we are not root, or root of a user namespace without such a user. */
const struct sandbox_user *sandbox_user(void);
/* The same for every user who runs Keyturn: for containers, whose users differ from those of the machine. */
const struct sandbox_user *sandbox_user_always(void);
/* Gives a new entry of a folder to the sandbox's user, if the folder belongs to that user. */
bool sandbox_user_give(int folder, int made);
