#pragma once
/* Makes HTTP requests on the loop. No other file uses curl.
 *
 * It checks certificates, against those in SSL_CERT_FILE if that is set. It does not follow redirects: a 3xx is an
 * answer like any other. It uses the proxies of curl's environment variables. One `struct http` per loop keeps
 * connections for the next request. Everything runs on the loop thread. curl measures its time limits itself, so this
 * does not work on a loop in virtual time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http;
struct http_transfer;
struct loop;

/* Returns NULL if libcurl is not installed. */
struct http *http_new(struct loop *loop, struct err *err);
/* Drops running transfers without calling their callbacks. Do not call it from a callback. */
void http_free(struct http *http);

/* Why no answer came, as far as the user can do something about it. */
enum http_trouble {
    HTTP_TROUBLE,   /* any other reason, or no error */
    HTTP_NO_NAME,   /* the host's name is unknown */
    HTTP_NO_SERVER, /* no server listens there */
    HTTP_NO_PROXY,  /* the proxy's name is unknown, or no proxy listens there */
    HTTP_NO_TRUST,  /* the certificate is not trusted */
    HTTP_NO_TLS,    /* another TLS error */
    HTTP_NO_HTTP,   /* the server there does not speak HTTP */
    HTTP_NO_WORD,   /* the connection ended before an answer began */
    HTTP_CUT,       /* the connection ended within the answer */
};

struct http_result {
    const char *error; /* NULL if an answer came, with any status; else one sentence */
    bool timed_out;    /* the error was a timeout */
    bool too_long;     /* the error was an answer beyond `limit` */
    bool hopeless;     /* the next attempt will fail too: a bad address, a bad certificate */
    enum http_trouble trouble;
    long status;              /* 0 if none came */
    const char *content_type; /* NULL if not sent */
    const char *location;     /* redirect target; NULL: none */
    int64_t retry_after_ms;   /* of the answer; -1 if not sent */
};

struct http_request {
    const char *method;         /* NULL: GET, or POST if there is a body */
    const char *url;            /* http or https */
    const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
    const char *body;           /* borrowed until the end of the request; NULL: none */
    size_t body_len;
    bool direct;        /* use no proxy for plain http: the request holds what others must not read */
    bool plain;         /* do not decompress the answer: a few bytes could expand to many at once */
    int64_t timeout_ms; /* for the whole transfer; 0: none */
    size_t limit;       /* bytes of the answer's body, after decompression; 0: none */
    /* Called with each part of the body, with any status. May be NULL. */
    void (*on_data)(void *user, const char *bytes, size_t len);
    /* Called once, unless canceled; never from within http_start. The transfer is freed when it returns. */
    void (*on_done)(void *user, const struct http_result *result);
    void *user;
};

/* Never fails: errors of the request are reported through on_done. */
struct http_transfer *http_start(struct http *http, const struct http_request *request);
/* The status and the type so far, for use in on_data. */
long http_status(const struct http_transfer *transfer);
/* Returns true if the body is compressed. In a plain request it is not decompressed. */
bool http_compressed(const struct http_transfer *transfer);
const char *http_content_type(const struct http_transfer *transfer); /* NULL: not sent */
/* Stops all callbacks. May be called from on_data. */
void http_cancel(struct http_transfer *transfer);
