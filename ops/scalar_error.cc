#include "ops/scalar_error.h"

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {

absl::Status ScalarErrorStatus(ScalarError error, TypeId result) {
  switch (error) {
    case ScalarError::kNone:
      return absl::OkStatus();
    case ScalarError::kDivisionByZero:
      return SqlError(sqlstate::kDivisionByZero, "division by zero");
    case ScalarError::kInvalidText:
      return SqlError(sqlstate::kInvalidTextRepresentation, "invalid input syntax");
    case ScalarError::kDomain:
      return SqlError(sqlstate::kNumericOutOfRange, "input is out of range");
    case ScalarError::kOverflow:
      break;
  }
  if (IsFloat(result)) {
    return SqlError(sqlstate::kNumericOutOfRange, "value out of range: overflow");
  }
  return SqlError(sqlstate::kNumericOutOfRange,
                  ToStd(absl::StrCat(ToAbsl(TypeName(result)), " out of range")));
}

}  // namespace adjoin
