// SQL's names of types.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/types.h"
#include "sql/tree.h"

namespace adjoin {

// The type that a TypeName body names. Errors, at its position in `text`: 42704 for a name that is
// no type of PostgreSQL's, 0A000 for one that is but that the engine lacks.
absl::StatusOr<TypeId> TypeNamed(const Json& type_name, std::string_view text);

// The precision and scale that a TypeName body gives NUMERIC; none for any other type. Errors, at
// its position: 22023 for numbers that PostgreSQL does not take, 0A000 for more than the engine
// does.
absl::StatusOr<NumericModifier> ModifierOf(const Json& type_name, std::string_view text);

// The fields of INTERVAL YEAR TO MONTH and the like; none where the type names none, or a
// precision.
std::optional<IntervalFields> IntervalFieldsOf(const Json& type_name);

}  // namespace adjoin
