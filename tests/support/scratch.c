/* A folder for one test, removed when the test ends. */

#include "scratch.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

void scratch_init(struct scratch *scratch)
{
    struct err err = ERR_INIT;
    scratch->path = file_make_temp_dir(NULL, "keyturn-test-", &err);
    if (!scratch->path)
        BUG("%s", err.text);
}

static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    if (type == FTW_D || type == FTW_DNR)
        chmod(path, 0700);
    return 0;
}

void scratch_release(struct scratch *scratch)
{
    struct err err = ERR_INIT;
    if (!scratch->path)
        return;
    nftw(scratch->path, open_up, 16, FTW_PHYS);
    if (file_remove_tree(scratch->path, &err))
        BUG("%s", err.text);
    free(scratch->path);
    scratch->path = NULL;
}

char *scratch_path(const struct scratch *scratch, const char *name)
{
    return xasprintf("%s/%s", scratch->path, name);
}

void scratch_mkdir(const struct scratch *scratch, const char *name)
{
    CLEANUP(free) char *path = scratch_path(scratch, name);
    struct err err = ERR_INIT;
    if (file_mkdirs(path, 0755, &err))
        BUG("%s", err.text);
}

void scratch_write_bytes(const struct scratch *scratch, const char *name, const void *bytes, size_t len)
{
    CLEANUP(free) char *path = scratch_path(scratch, name);
    const char *slash = strrchr(name, '/');
    if (slash) {
        CLEANUP(free) char *folder = xmemdup0(name, (size_t)(slash - name));
        scratch_mkdir(scratch, folder);
    }
    FILE *file = fopen(path, "we");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file))
        BUG("cannot write %s: %s", path, strerror(errno));
}

void scratch_write(const struct scratch *scratch, const char *name, const char *text)
{
    scratch_write_bytes(scratch, name, text, strlen(text));
}

char *scratch_read(const struct scratch *scratch, const char *name, size_t *len)
{
    CLEANUP(free) char *path = scratch_path(scratch, name);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (file_read(path, &text, 0, &err)) {
        if (err.code == ENOENT)
            return NULL;
        BUG("%s", err.text);
    }
    return strbuf_detach(&text, len);
}

static bool stat_of(const struct scratch *scratch, const char *name, struct stat *st)
{
    CLEANUP(free) char *path = scratch_path(scratch, name);
    return lstat(path, st) == 0;
}

bool scratch_exists(const struct scratch *scratch, const char *name)
{
    struct stat st;
    return stat_of(scratch, name, &st);
}

mode_t scratch_mode(const struct scratch *scratch, const char *name)
{
    struct stat st;
    if (!stat_of(scratch, name, &st))
        BUG("there is no %s", name);
    return st.st_mode & 07777;
}

void scratch_chmod(const struct scratch *scratch, const char *name, mode_t mode)
{
    CLEANUP(free) char *path = scratch_path(scratch, name);
    if (chmod(path, mode))
        BUG("cannot chmod %s: %s", path, strerror(errno));
}

void scratch_remove(const struct scratch *scratch, const char *name)
{
    CLEANUP(free) char *path = scratch_path(scratch, name);
    struct err err = ERR_INIT;
    if (file_remove_tree(path, &err))
        BUG("%s", err.text);
}

char *scratch_list(const struct scratch *scratch, const char *name)
{
    CLEANUP(free) char *path = scratch_path(scratch, name);
    struct strbuf names = STRBUF_INIT;
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        BUG("cannot list %s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        if (strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0)
            strbuf_addf(&names, "%s%s", names.len ? " " : "", entry);
        free(entries[i]);
    }
    free(entries);
    return strbuf_detach(&names, NULL);
}
