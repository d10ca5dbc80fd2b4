// The scalar functions without kernels: of text, dates, timestamps and intervals. Each is one row
// of a table: its SQL name and the C++ function, which says the SQL types.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "plan/scalar_functions.h"

namespace adjoin {

// The function of that name whose arguments these are, or become by casts that PostgreSQL makes
// unasked; no value: of a type still open (a quoted literal). Of several the one that takes most as
// they are, then the first. nullptr: none, or all arguments are booleans and numbers and a function
// with kernels has that name.
const ScalarFunction* FindRowFunction(std::string_view name,
                                      std::span<const std::optional<TypeId>> args);
// Whether some function has that name.
bool IsRowFunction(std::string_view name);

// A call with the arguments cast as it takes them; of constants it is computed at once, but where
// that fails.
ExprRef CallRowFunction(const ScalarFunction* function, std::vector<ExprRef> args);

// TIMESTAMP for a date beside a timestamp; no value for other pairs.
std::optional<TypeId> TemporalType(TypeId a, TypeId b);

}  // namespace adjoin
