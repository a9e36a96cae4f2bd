#pragma once
/* What the files of the supervisor share: supervisor.c waits and serves requests, supervisor_zygote.c keeps a zygote
 * and a spare child. */

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
    struct event_sink notes; /* output of the tools while loading; `ready` precedes it */
    struct stream printed[2];
    struct strbuf sandbox;
    char *file;          /* the tool file being loaded; NULL: none */
    int64_t file_due_us; /* deadline for loading it */
    struct left_out {
        char *path, *why;
    } * left_out; /* files that killed the zygote while it loaded them, or did not finish */
    size_t left_out_count, left_out_room;
    bool ready, tools_told;
    unsigned zygote_deaths, spare_deaths;
    bool replacing;    /* the zygote is alive but unusable, and is being replaced */
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
    bool bounded;    /* the workspace is bounded, so its files can be counted; … */
    int64_t look_us; /* … next at this time */
    uint64_t files;  /* files that existed before the script */
    int exit_status; /* -1: keep running */
};

int64_t now_us(void);
/* Ends the harness. `why` is printed for the user; NULL prints nothing. */
void give_up(struct supervisor *s, int status, const char *why);

void start_zygote(struct supervisor *s);
/* Asks for a spare child unless one exists or is on its way. */
void want_spare(struct supervisor *s);
/* Read the zygote's records while it loads tools (false: none now), and its messages afterwards. */
bool read_loading(struct supervisor *s);
void read_control(struct supervisor *s);
/* Call when the file being loaded has used up its time. */
void lose_file(struct supervisor *s);
void release_files(struct supervisor *s);
/* Call when the zygote has not made a child in time: starts another one. */
void replace_zygote(struct supervisor *s);
