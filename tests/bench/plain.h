#pragma once
/* What bench_simd.c compares with: the same code of the product, compiled without vector instructions of its own. */

#include "base/hash.h"

void plain_hash_sha256(const void *bytes, size_t len, char out[HASH_SHA256_HEX]);
