// Reading what an absl::Status of Adjoin says: SQLSTATE, position in the SQL text, detail and hint.
//
// Every call of this library that a user's input can make fail returns absl::Status or
// absl::StatusOr. The message is PostgreSQL's wording for SQL errors; the functions below read what
// comes with it. All are thread-safe and total: a status of another origin has SQLSTATE XX000 and
// no position.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace adjoin::api {

// Five characters, e.g. "42703" (undefined column); "00000" for an OK status. AD001 to AD003 are
// ours: grad of what is not one row and one column, a column that cannot be differentiated, a
// construct without a derivative rule.
std::string SqlState(const absl::Status& status);

// The 1-based character of the SQL text (of the whole text given to the call) that the error points
// at.
std::optional<int> ErrorPosition(const absl::Status& status);

// psql's DETAIL and HINT lines, without their labels; empty where there are none.
std::string ErrorDetail(const absl::Status& status);
std::string ErrorHint(const absl::Status& status);

// The error as psql prints it, lines ended by '\n':
//   ERROR:  column "x" does not exist
//   LINE 1: SELECT x
//                  ^
// `sql` is the text that the failing call was given; empty: no LINE. REQUIRES: !status.ok().
std::string FormatError(const absl::Status& status, std::string_view sql = {});

}  // namespace adjoin::api
