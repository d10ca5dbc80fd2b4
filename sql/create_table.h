// CREATE TABLE: columns and keys of the parse tree to a schema.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "sql/tree.h"
#include "sql/utility.h"

namespace adjoin {

// Decodes a CreateStmt body. PRIMARY KEY gives the dims. Errors: 42701 a column twice, 42703 a key
// column that is not there, 42P16 two primary keys, the type's own; 0A000 for other constraints and
// clauses.
absl::StatusOr<CreateTable> DecodeCreateTable(const Json& body, std::string_view text);

}  // namespace adjoin
