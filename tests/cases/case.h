#pragma once
/* The shared declarations of the case runner, which runs stories about the engine from text files (README.md has the
 * grammar). case_file.c reads the files and case_run.c runs the statements over a turn_rig. case_setup.c prepares the
 * situation, case_user.c acts as the user, case_expect.c checks. A failing case reports its file and line. */

#include "base/arena.h"
#include "support/fake_tools.h"
#include "support/turn_rig.h"

struct case_line {
    int number;
    char *text; /* without the white space around it */
};

struct case_block {
    char *name;
    struct case_line *lines;
    size_t count, room;
};

struct case_file {
    const char *path;
    struct case_block all;     /* lines before the first block; part of every case */
    struct case_block *setups; /* blocks that cases name with `use` */
    size_t setup_count, setup_room;
    struct case_block *cases;
    size_t case_count, case_room;
};

/* Words of a line: split at blanks, unquoted, with the values of variables. */
#define WORDS_MAX 32
struct words {
    char *item[WORDS_MAX + 1]; /* NULL after the last */
    size_t len[WORDS_MAX];
    size_t count;
};

struct case_variable {
    char *name, *value;
    struct case_variable *next;
};

struct case_tool {
    struct fake_tool fake;
    char *name;
    struct case_tool *next;
};

/* Statements that run when a certain event is emitted. */
struct case_hook {
    struct case_run *run;
    enum event_type type;
    const struct case_line *line;
    const char *statement;
    bool done;
    struct loop_task task;
    struct case_hook *next;
};

/* One run of a case, or of one row of its table. */
struct case_run {
    const struct case_file *file;
    const struct case_block *block;
    const struct case_line *row; /* row of `with`; NULL if the case has no table */
    bool story;                  /* print the story of a passing case too */

    struct arena arena;
    struct turn_rig rig;
    bool explained, finished;          /* the failure was printed; every statement ran */
    const struct case_line *line;      /* the running line */
    const struct case_line *block_end; /* path of the file */
    const struct case_line *refused;   /* the newest refusal that a statement checked */
    struct case_variable *variables;
    struct case_tool *tools;
    struct case_hook *hooks;
    struct sink sink;                /* for the hooks */
    struct fake_answer *answer;      /* that `call` and `delta` lines extend */
    bool in_file;                    /* the journal */
    struct change_set *version;      /* the user's own, of the last `edited` */
    struct checkpoints *checkpoints; /* hidden from the engine by `set checkpoints off` */
    struct artifact_store *artifacts;
    struct strbuf walked;
    const char *automatic; /* "yes", "no", "cancel" */
    const char *refusal;   /* the question that an automatic answer is for; NULL: none */
    struct case_mark {
        const struct case_line *line;
        size_t events;
    } * marks; /* position in the story at each statement */
    size_t mark_count, mark_room;
};

/* Ends the case with an error in the running line. */
_Noreturn void case_fail(struct case_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* case_file.c: fails with a message on stderr and exit status 2. */
void case_file_read(struct case_file *file, const char *path);
void case_file_release(struct case_file *file);
const struct case_block *case_file_setup(const struct case_file *file,
                                         const char *name); /* NULL if the name is unknown */
void case_split(struct case_run *run, const char *text, struct words *words);
/* The first words as case_split returns them, and the rest of the line unchanged except for variables. */
const char *case_split_raw(struct case_run *run, const char *text, size_t count, struct words *words);
void case_set(struct case_run *run, const char *name, const char *value);

/* case_expect.c */
void case_expect(struct case_run *run, const struct words *words);
void case_remember(struct case_run *run, const struct words *words); /* remember NAME VIEW FIELD */
enum event_type case_event_type(struct case_run *run, const char *name);
char *case_path(struct case_run *run, const char *path); /* of a file of the workspace; the caller's */
struct case_tool *case_tool_find(struct case_run *run, const char *name);

/* case_setup.c: the values of words */
/* The value of KEY=VALUE among the words from `first` on, or NULL. Marks the word as used. */
const char *case_take_option(struct words *words, size_t first, const char *key);
void case_check_count(struct case_run *run, const struct words *words, size_t least, size_t most);
int64_t case_duration(struct case_run *run, const char *text); /* "10s", "500ms", "7us", in microseconds */
double case_number(struct case_run *run, const char *text);
bool case_truth(struct case_run *run, const char *text);
void case_check_closed(struct case_run *run, const char *what); /* fails when the engine is open */

/* Statements: case_setup.c and case_user.c */
typedef void case_statement(struct case_run *run, struct words *words);
case_statement case_do_set, case_do_secret, case_do_limit, case_do_file, case_do_folder, case_do_remove, case_do_name,
    case_do_tool, case_do_let_go, case_do_answer, case_do_delta, case_do_auto, case_do_recorded, case_do_run,
    case_do_walk, case_do_resume;
void case_do_call(struct case_run *run, const char *text);
/* Returns false if no such intent exists. `refused` is the line that expects a refusal; NULL: the intent must be
 * accepted. */
bool case_do_wish(struct case_run *run, struct words *words, const struct case_line *refused, bool from_hook);
