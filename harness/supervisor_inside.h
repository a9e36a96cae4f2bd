#pragma once
/* What the files of the supervisor share: supervisor.c waits and serves, supervisor_zygote.c keeps a zygote and a spare
 * child. */

#include "base/arena.h"
#include "events.h"
#include "execution.h"
#include "protocol.h"
#include "request.h"
#include "supervisor.h"

struct supervisor {
    const struct supervisor_options *options;
    struct protocol protocol;
    struct event_sink sink;
    struct zygote_link zygote;
    int signals;
    /* loading */
    struct record_reader loading;
    struct event_sink notes; /* what was said while loading; ready comes before it */
    struct stream printed[2];
    struct strbuf sandbox;
    char *file;          /* of the tools, that is being loaded; NULL: none */
    int64_t file_due_us; /* it must be loaded by then */
    struct left_out {
        char *path, *why;
    } * left_out; /* files that ended the process that loaded them, or did not end */
    size_t left_out_count, left_out_room;
    bool ready, tools_told;
    unsigned zygote_deaths, spare_deaths;
    bool replacing;    /* the zygote, which is not dead but of no use */
    unsigned replaced; /* in a row */
    unsigned burst;    /* times that a child was served in quick succession, the last one at … */
    int64_t served_us;
    int zygote_status;
    /* running */
    struct spare spare;
    bool spare_asked;
    struct request request; /* waits for a child; id NULL: none does */
    bool waiting;
    int64_t patience_us; /* until when it waits */
    struct arena request_memory;
    struct strbuf secrets;
    struct execution execution;
    bool bounded;    /* the workspace is, so that its files can be counted; … */
    int64_t look_us; /* … the next time then */
    uint64_t files;  /* that were there before the script */
    int exit_status; /* -1: go on */
};

int64_t now_us(void);
/* Ends the harness; `why` is for people, NULL: there is nothing to say. */
void give_up(struct supervisor *s, int status, const char *why);

void start_zygote(struct supervisor *s);
/* Asks for a spare child, when there is none and none is under way. */
void want_spare(struct supervisor *s);
/* What it tells while it loads the tools (false: nothing now), and what it does later. */
bool read_loading(struct supervisor *s);
void read_control(struct supervisor *s);
/* The file that is being loaded has had its time. */
void lose_file(struct supervisor *s);
void release_files(struct supervisor *s);
/* It has not made a child in time: another takes its place. */
void replace_zygote(struct supervisor *s);
