// SQL's random_* functions: what jax.random draws, by key and index.
#pragma once

#include <string_view>
#include <vector>

#include "plan/expr.h"

namespace adjoin {

bool IsRandomFunction(std::string_view name);

// Whether a call of that name, of ScalarFunction::name, is a float that a word of bits gives: it
// has its type from the word, not from constants beside it.
bool IsRandomFloat(std::string_view name);

// A key is one BIGINT: its two words, or a seed. `i` is any BIGINT.
//   random_split(key, i)                 child i of the key: a key, and the 64 bits of element i
//   random_fold_in(key, data)            the key for the lowest 32 bits of `data`
//   random_bits(key, i)                  32 bits, from 0 to 4294967295
//   random_uniform(key, i [, low, high]) from low (0) to below high (1)
//   random_normal(key, i [, scale])      of standard deviation scale (1)
// The latter two are REAL where low and high, or scale, are, and otherwise DOUBLE PRECISION; in a
// plan they are calls of (low, high, word) and (scale, word), where the word is random_bits(key,
// i), or random_split(key, i) for DOUBLE PRECISION. Null where the arguments are no such call's.
// REQUIRES: IsRandomFunction(name).
ExprRef ResolveRandom(std::string_view name, const std::vector<ExprRef>& args);

}  // namespace adjoin
