#pragma once
/* An HTTP server on the loopback, in a thread of its own: it answers requests with what a test prepared, in order, and
 * keeps what it was asked. Connections are kept open unless an answer says otherwise. */

#include <stdbool.h>
#include <stddef.h>

struct model_server;

struct served {
    const char *status; /* "429 Too Many Requests"; NULL: "200 OK" */
    const char *type;   /* content type; NULL: that of an event stream; "": none is told */
    const char *more;   /* further header lines, each with its \r\n; NULL: none */
    const char *body;   /* NULL: none */
    size_t len;         /* of the body; 0: strlen */
    size_t piece;       /* bytes sent at once; 0: all */
    bool lengthless;    /* no Content-Length: the body ends with the connection */
    bool promises_more; /* a Content-Length that the body does not keep, and then the end of the connection */
    bool closes;        /* the connection ends behind the answer, though nothing says so */
    bool resets;        /* likewise, with a reset: whatever the client did not read yet is followed by an error */
    bool raw;           /* the body is all that is sent: no status, no headers */
    bool silent;        /* after the body nothing happens until the client goes away */
};

struct model_server *model_server_new(void);
void model_server_free(struct model_server *server);
/* "http://127.0.0.1:PORT" */
const char *model_server_url(const struct model_server *server);
/* One more answer; copied. When there are none left the last is given again. */
void model_server_add(struct model_server *server, const struct served *answer);
/* Forgets answers and requests. */
void model_server_reset(struct model_server *server);
size_t model_server_count(struct model_server *server);       /* requests so far */
size_t model_server_connections(struct model_server *server); /* that were accepted */
/* Head and body of request `i`; yours. */
char *model_server_request(struct model_server *server, size_t i);
/* The body of the last one. */
char *model_server_body(struct model_server *server);
/* Waits until the client of a silent answer has gone away. */
void model_server_wait_gone(struct model_server *server);
