#pragma once
/* An HTTP server on the loopback, in its own thread. It answers requests with the prepared answers of a test, in order,
 * and keeps the requests. Connections stay open unless an answer says otherwise. */

#include <stdbool.h>
#include <stddef.h>

struct model_server;

struct served {
    const char *status; /* "429 Too Many Requests"; NULL: "200 OK" */
    const char *type;   /* content type; NULL: that of an event stream; "": send none */
    const char *more;   /* further header lines, each with its \r\n; NULL: none */
    const char *body;   /* NULL: none */
    size_t len;         /* of the body; 0: strlen */
    size_t piece;       /* bytes sent at once; 0: all */
    bool lengthless;    /* no Content-Length: the body ends with the connection */
    bool promises_more; /* a Content-Length longer than the body, then the connection ends */
    bool closes;        /* the connection ends after the answer without notice */
    bool resets;        /* the same with a reset: unread data of the client is followed by an error */
    bool raw;           /* send only the body: no status, no headers */
    bool silent;        /* after the body, wait until the client closes */
};

struct model_server *model_server_new(void);
void model_server_free(struct model_server *server);
/* "http://127.0.0.1:PORT" */
const char *model_server_url(const struct model_server *server);
/* Adds one more answer, which is copied. When none are left, the server repeats the last one. */
void model_server_add(struct model_server *server, const struct served *answer);
/* Drops answers and requests. */
void model_server_reset(struct model_server *server);
size_t model_server_count(struct model_server *server);       /* requests so far */
size_t model_server_connections(struct model_server *server); /* that were accepted */
/* Returns head and body of request `i`; the caller frees it. */
char *model_server_request(struct model_server *server, size_t i);
/* Returns the body of the last request; the caller frees it. */
char *model_server_body(struct model_server *server);
/* Waits until the client of a silent answer has closed. */
void model_server_wait_gone(struct model_server *server);
