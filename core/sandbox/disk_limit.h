#pragma once
/* The disk limit of a folder that programs write to: counts what it holds and compares that with the limit.
 * workspace/disk_watch.h does so while a program runs. */

#include "base/err.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk_entry;

/* What a folder holds. */
struct disk_count {
    int64_t bytes;   /* of all files; a file with several links counts once; symbolic links are not followed */
    int64_t entries; /* files, folders and other entries */
    size_t missed;   /* folders that could not be counted */
    char why[192];   /* one of them, with the reason */
};
/* Counts while a program may run: puts back the modes of folders that the program closed. */
struct disk_count disk_count(int root);

/* Counting as a part of a walk that has other users too. The walk opens closed folders and has WALK_ANY_DEPTH. */
struct disk_counting {
    struct disk_count count;
    struct hash_map linked; /* files with more than one name */
    int64_t names_missing;  /* their names that the walk did not meet: 0 at the end if all are in the folder */
};
/* Returns the size of a file, 0 for anything else. */
int64_t disk_counting_add(struct disk_counting *counting, const struct walk_entry *entry);
/* True when so much was counted that the walk may stop. */
bool disk_counting_full(const struct disk_counting *counting);
/* A folder cannot be read; `code` is an errno value. */
void disk_counting_missed(struct disk_counting *counting, const char *path, int code);
void disk_counting_release(struct disk_counting *counting);

#define WORKSPACE_ENTRIES_MAX 200000 /* applies to every workspace whose bytes are limited */
/* Fails if `more` bytes would exceed the limit. */
int disk_check(int64_t limit, const struct disk_count *count, int64_t more, struct err *err) CHECKED;
