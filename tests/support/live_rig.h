#pragma once
/* A live model and the server on the loopback that it asks. One at a time: `rig`. */

#include "base/loop.h"
#include "base/strbuf.h"
#include "model/http.h"
#include "model/live.h"
#include "support/model_server.h"
#include "support/streams.h"

#define LIVE_KEY "sk-test-0123456789" /* declared as the secret MY_KEY */

struct live_rig {
    struct model_server *server;
    struct loop *loop;
    struct http *http;
    struct provider *provider;
    struct message_list messages;
    struct model_listener listener;
    int dones;
    char *said; /* stream_describe() of the reply */
    struct model_reply reply;
    struct strbuf heard; /* deltas */
    bool cancels;        /* at the first delta */
};
extern struct live_rig *rig;

/* For cmocka. */
int live_rig_set_up(void **state);
int live_rig_tear_down(void **state);
/* Asks this model from now on; what is left out of the spec is what a test mostly wants. */
void live_rig_use(const struct live_spec *spec);
/* Sends a request; nobody is told before the loop runs. */
void live_rig_start(void);
/* Sends one, waits for its reply and describes it. */
const char *live_rig_ask(void);
/* One of the streams by hand. */
const struct stream *live_rig_stream(const char *name);
