#include "launch.h"
#include "file.h"
#include "mem.h"
#include <stdlib.h>
#include <unistd.h>

char *launch_path(void)
{
    const char *said = getenv("KEYTURN_LAUNCH");
    char *real = said && *said ? realpath(said, NULL) : NULL; /* it is not always used from here */
    if (said && *said)
        return real ? real : xstrdup(said);
    CLEANUP(free) char *folder = file_program_dir();
    const char *const places[] = {"keyturn-launch", "../keyturn-launch", "../libexec/keyturn/keyturn-launch"};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        CLEANUP(free) char *path = xasprintf("%s/%s", folder, places[i]);
        if (access(path, X_OK) == 0)
            return steal(&path);
    }
    return xasprintf("%s/keyturn-launch", folder);
}
