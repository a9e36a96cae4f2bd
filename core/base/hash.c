/* Computes SHA-256 (FIPS 180-4), MD5 (RFC 1321) and FNV-1a, and holds the hash table.
 *
 * A digest context keeps at most one partial block, so a stream of any length needs constant memory. SHA-256 uses the
 * processor's instructions if it has them, because the loop computes digests of large files: 4 MB take 3.2 ms with them
 * and 17.3 ms without (sha256 in ./dev bench simd). */

#include "hash.h"
#include "mem.h"
#include <string.h>
#if defined(__x86_64__) && !defined(HASH_PLAIN)
#include <immintrin.h>
#endif

static uint32_t rotate_right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t rotate_left(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static uint32_t load_be32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t load_le32(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void put_hex(char *out, const unsigned char *bytes, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = hex[bytes[i] >> 4];
        out[2 * i + 1] = hex[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

/* ---- SHA-256 ---- */

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha_blocks_plain(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    for (; blocks; blocks--, at += 64) {
        uint32_t w[64];
        for (int i = 0; i < 16; i++)
            w[i] = load_be32(at + 4 * i);
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
            uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + sha_k[i] + w[i];
            uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
            uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g;
            g = f;
            f = e;
            e = d + t1;
            d = c;
            c = b;
            b = a;
            a = t1 + t2;
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
        state[5] += f;
        state[6] += g;
        state[7] += h;
    }
}

#if defined(__x86_64__) && !defined(HASH_PLAIN)
/* The instruction works on the state as (a b e f) and (c d g h), highest word first, and does two rounds at a time. */
__attribute__((target("sha,sse4.1"))) static void sha_blocks_fast(uint32_t state[8], const unsigned char *at,
                                                                  size_t blocks)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    for (; blocks; blocks--, at += 64) {
        __m128i abef_before = abef;
        __m128i cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i)), swap);
        for (int i = 0; i < 16; i++) {
            /* w[i % 4] holds words 4i…4i+3; from the fifth group on it is made of the four groups before it. */
            __m128i *now = &w[i & 3];
            if (i >= 4) {
                __m128i sum = _mm_sha256msg1_epu32(*now, w[(i + 1) & 3]);
                sum = _mm_add_epi32(sum, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
                *now = _mm_sha256msg2_epu32(sum, w[(i + 3) & 3]);
            }
            __m128i k = _mm_loadu_si128((const __m128i *)(const void *)(sha_k + 4 * i));
            __m128i wk = _mm_add_epi32(*now, k);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0E));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
    state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
    state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
    state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
    state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
    state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
    state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
    state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

/* The compilers' names for processor features do not include this one yet, so read CPUID leaf 7, ebx bit 29. */
static bool have_sha_instructions(void)
{
    unsigned eax = 7, ebx, ecx = 0, edx;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("sse4.1"))
        return false;
    __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return ebx >> 29 & 1;
}
#endif

static void sha_blocks(uint32_t state[8], const unsigned char *at, size_t blocks)
{
#if defined(__x86_64__) && !defined(HASH_PLAIN)
    static int fast; /* 0: not asked yet, 1: yes, -1: no; any thread would store the same */
    int known = __atomic_load_n(&fast, __ATOMIC_RELAXED);
    if (!known) {
        known = have_sha_instructions() ? 1 : -1;
        __atomic_store_n(&fast, known, __ATOMIC_RELAXED);
    }
    if (known > 0) {
        sha_blocks_fast(state, at, blocks);
        return;
    }
#endif
    sha_blocks_plain(state, at, blocks);
}

/* ---- MD5 ---- */

static const uint32_t md5_k[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static void md5_block(uint32_t state[4], const unsigned char *at)
{
    static const int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 64; i++) {
        uint32_t mix;
        int word;
        switch (i / 16) {
        case 0:
            mix = (b & c) | (~b & d);
            word = i;
            break;
        case 1:
            mix = (d & b) | (~d & c);
            word = 5 * i + 1;
            break;
        case 2:
            mix = b ^ c ^ d;
            word = 3 * i + 5;
            break;
        default:
            mix = c ^ (b | ~d);
            word = 7 * i;
        }
        uint32_t sum = a + mix + md5_k[i] + load_le32(at + 4 * (word % 16));
        a = d;
        d = c;
        c = b;
        b += rotate_left(sum, turns[i / 16][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/* ---- the table ---- */

struct hash_slot {
    char *key; /* NULL: free */
    uint64_t hash;
    int64_t value;
};

/* The slot of the key, or the free one where it would go. There is always a free one. */
static struct hash_slot *find_slot(const struct hash_map *map, const char *key, uint64_t hash)
{
    size_t mask = map->room - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct hash_slot *slot = &map->slots[i];
        if (!slot->key || (slot->hash == hash && strcmp(slot->key, key) == 0))
            return slot;
    }
}

static void grow_table(struct hash_map *map)
{
    struct hash_map larger = {.room = map->room ? map->room * 2 : 16, .count = map->count};
    larger.slots = xcalloc(larger.room, sizeof(*larger.slots));
    for (size_t i = 0; i < map->room; i++) {
        struct hash_slot *slot = &map->slots[i];
        if (slot->key)
            *find_slot(&larger, slot->key, slot->hash) = *slot;
    }
    free(map->slots);
    *map = larger;
}

void sha256_init(struct sha256 *ctx)
{
    *ctx = (struct sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *ctx, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    size_t filled = ctx->bytes % 64;
    ctx->bytes += len;
    if (filled) {
        size_t take = len < 64 - filled ? len : 64 - filled;
        if (take)
            memcpy(ctx->block + filled, at, take);
        if (filled + take < 64)
            return;
        sha_blocks(ctx->state, ctx->block, 1);
        at += take;
        len -= take;
    }
    if (len >= 64)
        sha_blocks(ctx->state, at, len / 64);
    if (len % 64)
        memcpy(ctx->block, at + len / 64 * 64, len % 64);
}

void sha256_hex(struct sha256 *ctx, char out[HASH_SHA256_HEX])
{
    uint64_t bits = ctx->bytes * 8;
    static const unsigned char padding[64] = {0x80};
    size_t filled = ctx->bytes % 64;
    sha256_add(ctx, padding, (filled < 56 ? 56 : 120) - filled);
    unsigned char tail[8];
    for (int i = 0; i < 8; i++)
        tail[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(ctx, tail, sizeof(tail));
    unsigned char digest[32];
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(ctx->state[i / 4] >> (24 - 8 * (i % 4)));
    put_hex(out, digest, sizeof(digest));
}

void hash_sha256(const void *bytes, size_t len, char out[HASH_SHA256_HEX])
{
    struct sha256 ctx;
    sha256_init(&ctx);
    sha256_add(&ctx, bytes, len);
    sha256_hex(&ctx, out);
}

void hash_md5(const void *bytes, size_t len, char out[HASH_MD5_HEX])
{
    const unsigned char *at = bytes;
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    for (size_t left = len; left >= 64; left -= 64, at += 64)
        md5_block(state, at);
    unsigned char tail[128] = {0};
    size_t rest = len % 64;
    if (rest)
        memcpy(tail, at, rest);
    tail[rest] = 0x80;
    size_t size = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < 8; i++)
        tail[size - 8 + i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    md5_block(state, tail);
    if (size == 128)
        md5_block(state, tail + 64);
    unsigned char digest[16];
    for (int i = 0; i < 16; i++)
        digest[i] = (unsigned char)(state[i / 4] >> 8 * (i % 4));
    put_hex(out, digest, sizeof(digest));
}

uint64_t hash_fnv1a(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

int64_t hash_map_get(const struct hash_map *map, const char *key, int64_t otherwise)
{
    if (map->count == 0)
        return otherwise;
    const struct hash_slot *slot = find_slot(map, key, hash_fnv1a(key, strlen(key)));
    return slot->key ? slot->value : otherwise;
}

void hash_map_put(struct hash_map *map, const char *key, int64_t value)
{
    if (map->count >= map->room / 4 * 3)
        grow_table(map);
    uint64_t hash = hash_fnv1a(key, strlen(key));
    struct hash_slot *slot = find_slot(map, key, hash);
    if (!slot->key) {
        slot->key = xstrdup(key);
        slot->hash = hash;
        map->count++;
    }
    slot->value = value;
}

bool hash_map_has(const struct hash_map *map, const char *key)
{
    return map->count && find_slot(map, key, hash_fnv1a(key, strlen(key)))->key;
}

void hash_map_clear(struct hash_map *map)
{
    for (size_t i = 0; i < map->room; i++)
        free(map->slots[i].key);
    if (map->room)
        memset(map->slots, 0, map->room * sizeof(*map->slots));
    map->count = 0;
}

void hash_map_release(struct hash_map *map)
{
    hash_map_clear(map);
    free(map->slots);
    *map = (struct hash_map){0};
}
