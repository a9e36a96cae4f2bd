/* A main() for fuzz targets without a fuzzer: it runs the target once with every file in the folders named on the
 * command line. So the corpora, with every input that a fuzzer found, are part of every test run. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (file_read(path, &content, 0, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        return -1;
    }
    /* A copy of the exact size, so that the sanitizer finds a read past the end. */
    CLEANUP(free) uint8_t *bytes = xmalloc(content.len ? content.len : 1);
    memcpy(bytes, content.buf, content.len);
    LLVMFuzzerTestOneInput(bytes, content.len);
    return 0;
}

static int run_folder(const char *folder, size_t *count)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, NULL, alphasort);
    if (found < 0) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return -1;
    }
    int result = 0;
    for (int i = 0; i < found; i++) {
        CLEANUP(free) char *path = xasprintf("%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            if (run_file(path) < 0)
                result = -1;
            else
                ++*count;
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    int result = 0;
    for (int i = 1; i < argc; i++)
        if (run_folder(argv[i], &count) < 0)
            result = 1;
    printf("%zu inputs\n", count);
    return count ? result : 1;
}
