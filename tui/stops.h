#pragma once
/* The signals that end a command: SIGINT, SIGTERM, SIGHUP. */

struct loop;
struct loop_watch;

struct stops {
    /* One came; the exit status for it. */
    void (*stopped)(void *user, int status);
    void *user;
    struct loop_watch *watches[3];
};

/* Listens until stops_unwatch. The other two fields are set by the caller. */
void stops_watch(struct stops *stops, struct loop *loop);
void stops_unwatch(struct stops *stops);
