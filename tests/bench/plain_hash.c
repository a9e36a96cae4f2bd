/* core/base/hash.c without the processor's instructions, under other names (plain.h). */

#define HASH_PLAIN
#define sha256_init      plain_sha256_init
#define sha256_add       plain_sha256_add
#define sha256_hex       plain_sha256_hex
#define hash_sha256      plain_hash_sha256
#define hash_md5         plain_hash_md5
#define hash_fnv1a       plain_hash_fnv1a
#define hash_map_get     plain_hash_map_get
#define hash_map_put     plain_hash_map_put
#define hash_map_has     plain_hash_map_has
#define hash_map_clear   plain_hash_map_clear
#define hash_map_release plain_hash_map_release
#include "../../core/base/hash.c"
