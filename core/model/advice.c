#include "advice.h"
#include "base/mem.h"

static const struct {
    long status;
    const char *keyed, *keyless; /* what to do with a key and without one; NULL: the same */
} by_status[] = {
    {401, "check the key that key_env or key_command gives", "name its key with key_env or key_command"},
    {402, "see to the account at the provider", NULL},
    {403, "check what this key is allowed, or take another model", "name its key with key_env or key_command"},
    {404, "check model and base_url in the config file", NULL},
    {405, "check base_url in the config file", NULL},
    {407, "check the proxy that the environment names", NULL},
};

static const char *const by_trouble[] = {
    [HTTP_TROUBLE] = NULL,
    [HTTP_NO_NAME] = "check base_url, and that this machine is on the network",
    [HTTP_NO_SERVER] = "check that the server runs, and base_url",
    [HTTP_NO_PROXY] = "check the proxy that the environment names",
    [HTTP_NO_TRUST] = "if the server is yours, name its authority's certificate with SSL_CERT_FILE",
    [HTTP_NO_TLS] = "check that the server speaks TLS: base_url of one that does not begins with http://",
    [HTTP_NO_HTTP] = "check base_url: that of a server that speaks TLS begins with https://",
    [HTTP_NO_WORD] = "the server ended the connection: check base_url, and whether it must begin with https://",
    [HTTP_CUT] = "the server, or what stands before it, ended the connection: what it logs may say why",
};

const char *advice_of_status(long status, bool keyed)
{
    for (size_t i = 0; i < COUNT_OF(by_status); i++)
        if (by_status[i].status == status)
            return keyed || !by_status[i].keyless ? by_status[i].keyed : by_status[i].keyless;
    return NULL;
}

const char *advice_of_trouble(enum http_trouble trouble)
{
    return by_trouble[trouble];
}
