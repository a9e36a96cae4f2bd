#pragma once
/* HTTP requests on the loop. The one file that knows curl.
 *
 * Certificates are checked (against those in SSL_CERT_FILE, where that is set), redirects are not followed (a 3xx is an
 * answer like another), and proxies are what curl's environment variables say. One `struct http` per loop keeps
 * connections for the next request. Everything on the loop thread; curl measures its time limits itself, so this is not
 * for a loop in virtual time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http;
struct http_transfer;
struct loop;

/* NULL when there is no curl. */
struct http *http_new(struct loop *loop, struct err *err);
/* Drops what is under way; nobody is called. Not from within a callback. */
void http_free(struct http *http);

/* What kept an answer from coming, told apart where a person can do something about it. */
enum http_trouble {
    HTTP_TROUBLE,   /* whatever else, or none */
    HTTP_NO_NAME,   /* the host's name is not known */
    HTTP_NO_SERVER, /* nobody listens there */
    HTTP_NO_PROXY,  /* the proxy's name is not known, or nobody listens there */
    HTTP_NO_TRUST,  /* the certificate */
    HTTP_NO_TLS,    /* something else about TLS */
    HTTP_NO_HTTP,   /* whoever listens there speaks something else */
    HTTP_NO_WORD,   /* the connection ended before an answer began */
    HTTP_CUT,       /* it ended within the answer */
};

struct http_result {
    const char *error; /* NULL when an answer came, whatever its status; else one sentence */
    bool timed_out;    /* that was the error */
    bool too_long;     /* likewise */
    bool hopeless;     /* likewise one that the next attempt has too: an address that is none, a false certificate */
    enum http_trouble trouble;
    long status;              /* 0 when none came */
    const char *content_type; /* NULL when not told */
    const char *location;     /* where it redirects to; NULL: it does not */
    int64_t retry_after_ms;   /* of the answer; -1 when not told */
};

struct http_request {
    const char *method;         /* NULL: GET, or POST when there is a body */
    const char *url;            /* http or https */
    const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
    const char *body;           /* copied; NULL: none */
    size_t body_len;
    bool direct;        /* a plain http request uses no proxy: it carries what others must not read */
    bool plain;         /* what comes compressed is not unpacked: a few bytes could be many at once */
    int64_t timeout_ms; /* for the whole of it; 0: none */
    size_t limit;       /* bytes of the answer's body, after decompression; 0: none */
    /* A part of the body, as it comes, whatever the status. May be NULL. */
    void (*on_data)(void *user, const char *bytes, size_t len);
    /* Once, unless cancelled; never from within http_start. The transfer is gone when it returns. */
    void (*on_done)(void *user, const struct http_result *result);
    void *user;
};

/* Never fails by itself: what is wrong with the request comes through on_done. */
struct http_transfer *http_start(struct http *http, const struct http_request *request);
/* The status and the type so far, for on_data. */
long http_status(const struct http_transfer *transfer);
/* Its body is, and was not unpacked when the request is a plain one. */
bool http_compressed(const struct http_transfer *transfer);
const char *http_content_type(const struct http_transfer *transfer); /* NULL: not told */
/* Neither callback is called any more. Also from within on_data. */
void http_cancel(struct http_transfer *transfer);
