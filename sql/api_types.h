// Between the public API's types (adjoin/table.h) and the engine's.
#pragma once

#include "absl/status/statusor.h"
#include "adjoin/table.h"
#include "engine/table.h"
#include "engine/types.h"

namespace adjoin::api {

static_assert(static_cast<int>(Type::kNumeric) == static_cast<int>(TypeId::kDecimal));
inline TypeId ToEngine(Type type) { return static_cast<TypeId>(type); }
inline Type FromEngine(TypeId type) { return static_cast<Type>(type); }

adjoin::Value ToEngine(const Value& value);
Value FromEngine(const adjoin::Value& value, TypeId type);

Field FromEngine(const adjoin::Field& field);
Schema FromEngine(const adjoin::Schema& schema);
// Dims become NOT NULL. Errors: 42701 for two fields of one name; 22023 for a dim that is no
// column.
absl::StatusOr<adjoin::Schema> ToEngine(const Schema& schema);

}  // namespace adjoin::api
