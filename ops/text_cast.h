// Casts between text and the other types, one value at a time, with PostgreSQL's rules and words.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "engine/types.h"

namespace adjoin {

// The value that `text` spells; spaces around it are ignored. Errors: 22P02 `invalid input syntax
// for type integer: "x"`, 22003 `value "99999" is out of range for type smallint` (floats: `"1e999"
// is out of range for type real`).
absl::StatusOr<Value> ParseText(std::string_view text, TypeId target);

// The words of a scalar kernel's error whose result has type `result`.
absl::Status ScalarErrorStatus(ScalarError error, TypeId result);

}  // namespace adjoin
