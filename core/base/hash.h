#pragma once
/* Digests and a table keyed by text. SHA-256 names contents, MD5 names calls (the format of the replay key), FNV
 * spreads table keys. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_SHA256_HEX 65
#define HASH_MD5_HEX    33

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};
void sha256_init(struct sha256 *ctx);
void sha256_add(struct sha256 *ctx, const void *bytes, size_t len);
void sha256_hex(struct sha256 *ctx, char out[HASH_SHA256_HEX]); /* ends the computation */

void hash_sha256(const void *bytes, size_t len, char out[HASH_SHA256_HEX]);
void hash_md5(const void *bytes, size_t len, char out[HASH_MD5_HEX]);
uint64_t hash_fnv1a(const void *bytes, size_t len);

/* Text → number. Keys are copied. Open addressing; grows by doubling. A zeroed struct is an empty table. */
struct hash_slot;
struct hash_map {
    struct hash_slot *slots;
    size_t count;
    size_t room;
};
/* The value, or `otherwise`. */
int64_t hash_map_get(const struct hash_map *map, const char *key, int64_t otherwise);
void hash_map_put(struct hash_map *map, const char *key, int64_t value);
bool hash_map_has(const struct hash_map *map, const char *key);
void hash_map_clear(struct hash_map *map); /* keeps the slots */
void hash_map_release(struct hash_map *map);
