#include "lend.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "inside.h"
#include "workspace.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Signs that stand between the parts of a container's volume. */
static bool is_plain(const char *text)
{
    return !strpbrk(text, ":,\n");
}

bool workspace_lend(struct workspace *ws, const char *path, const char *place)
{
    CLEANUP(free) char *real = realpath(path, NULL);
    if (!ws->lends || !real || !is_plain(real) || !is_plain(place) || strcmp(place, ".") == 0)
        return false;
    pthread_mutex_lock(&ws->mutex);
    size_t at = 0;
    while (at < ws->lent_count && strcmp(ws->lent[at].place, place) != 0)
        at++;
    if (at == ws->lent_count) {
        GROW(ws->lent, ws->lent_count, ws->lent_room);
        ws->lent[ws->lent_count++] = (struct program_lent){.place = xstrdup(place)};
    }
    free(ws->lent[at].path);
    ws->lent[at].path = steal(&real);
    pthread_mutex_unlock(&ws->mutex);
    return true;
}

/* A program may have put anything in its place: a mount goes on a folder, and through no link. Nor is the folder itself
 * one that something else was put in place of. */
static bool is_there(const struct workspace *ws, const struct program_lent *lent)
{
    struct stat st;
    CLEANUP(free) char *still = realpath(lent->path, NULL);
    CLEANUP(fd) int fd = beneath_openat(ws->root, lent->place, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, NULL);
    CLEANUP(free) char *real = fd < 0 ? NULL : inside_real(ws->root, fd, "");
    return real && strcmp(real, lent->place) == 0 && still && strcmp(still, lent->path) == 0 &&
           stat(lent->path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct program_lent *workspace_lent(struct workspace *ws, size_t *count)
{
    pthread_mutex_lock(&ws->mutex);
    struct program_lent *lent = xcalloc(ws->lent_count + 1, sizeof(*lent));
    *count = 0;
    for (size_t i = 0; i < ws->lent_count; i++)
        if (is_there(ws, &ws->lent[i]))
            lent[(*count)++] =
                (struct program_lent){.path = xstrdup(ws->lent[i].path), .place = xstrdup(ws->lent[i].place)};
    pthread_mutex_unlock(&ws->mutex);
    return lent;
}

void workspace_lent_free(struct program_lent *lent, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(lent[i].path);
        free(lent[i].place);
    }
    free(lent);
}
