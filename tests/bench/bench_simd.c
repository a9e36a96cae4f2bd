/* Compares the product's own vector instructions with the same code without them. They must be 1.5 times as fast, or
 * they are removed. */

#include "base/mem.h"
#include "bench.h"
#include "plain.h"

#define SIZE  (4 << 20)
#define WORTH (1 / 1.5)

static void digest(void *bytes)
{
    char out[HASH_SHA256_HEX];
    hash_sha256(bytes, SIZE, out);
}

static void digest_plain(void *bytes)
{
    char out[HASH_SHA256_HEX];
    plain_hash_sha256(bytes, SIZE, out);
}

int main(void)
{
    CLEANUP(free) unsigned char *bytes = xmalloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i * 31 % 251);
    struct bench_pair pair = bench_compare(9, digest, digest_plain, bytes);
    bench_report("sha256", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, WORTH);
    return bench_status();
}
