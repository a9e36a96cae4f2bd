#pragma once
/* Tells whether anything in a folder changed since it was last walked, without walking it again.
 *
 *     changes_begin(changes, root);         before a walk: forgets what was reported so far
 *     changes_watch(changes, fd, is_runs);  for every folder, before its names are read
 *     changes_end(changes, sure);           after it; `sure`: the walk saw everything, and no program ran meanwhile
 *     if (changes_none(changes)) …          what the walk found still holds
 *
 * The kernel reports every name that appears, goes or moves in a watched folder, every change of a file's size, and the
 * end of every file that was open for writing (inotify). One report is enough: only the next walk takes it back.
 *
 * Why this holds against a hostile program: no program had a file open when the walk ended, so the first change of a
 * later program goes through a watched folder. After that it may hide, for example behind a name that it removed, but
 * the report is there, and no walk takes it back while a program runs. Whatever cannot be watched (another machine's
 * file system, too many folders, a file with a name outside) makes the answer "changed", never "unchanged".
 *
 * All functions may be called from any thread. */

#include <stdbool.h>

struct changes;

struct changes *changes_new(void);
void changes_free(struct changes *changes); /* NULL is fine */

void changes_begin(struct changes *changes, int root);
/* `runs`: this is the folder in which folders of runs are made and removed (below). */
void changes_watch(struct changes *changes, int folder, bool runs);
void changes_end(struct changes *changes, bool sure);
/* True if nothing changed since the last walk that was sure. */
bool changes_none(struct changes *changes);
/* Something changed that the kernel does not report. */
void changes_note(struct changes *changes);

/* We make the folder `name` among the runs and remove it empty: both leave the workspace unchanged. Call right after
 * each. `folder` is the new folder. Returns a number for changes_removed; -1: it is not watched. */
int changes_made(struct changes *changes, const char *name, int folder);
void changes_removed(struct changes *changes, const char *name, int number);
