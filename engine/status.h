// Errors of the engine: absl::Status with a SQLSTATE and, for SQL text, a position in it.
//
// Every error a user can cause is made by one of the functions below, so that one table maps
// SQLSTATE to absl code. SqlStateOf and PositionOf read the payloads back; both survive
// absl::Status copies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace adjoin {

// SQLSTATEs that the engine raises. The last group is ours: derivatives have no SQL standard.
namespace sqlstate {
inline constexpr std::string_view kSyntaxError = "42601";
inline constexpr std::string_view kUndefinedColumn = "42703";
inline constexpr std::string_view kUndefinedTable = "42P01";
inline constexpr std::string_view kUndefinedFunction = "42883";
inline constexpr std::string_view kUndefinedObject = "42704";
inline constexpr std::string_view kUndefinedParameter = "42P02";
inline constexpr std::string_view kDuplicateTable = "42P07";
inline constexpr std::string_view kDuplicateColumn = "42701";
inline constexpr std::string_view kDuplicateAlias = "42712";
inline constexpr std::string_view kDuplicatePreparedStatement = "42P05";
inline constexpr std::string_view kInvalidStatementName = "26000";
inline constexpr std::string_view kAmbiguousColumn = "42702";
inline constexpr std::string_view kAmbiguousFunction = "42725";
inline constexpr std::string_view kGroupingError = "42803";
inline constexpr std::string_view kWindowingError = "42P20";
inline constexpr std::string_view kDatatypeMismatch = "42804";
inline constexpr std::string_view kCannotCoerce = "42846";
inline constexpr std::string_view kIndeterminateDatatype = "42P18";
inline constexpr std::string_view kInvalidColumnReference = "42P10";
inline constexpr std::string_view kInvalidTableDefinition = "42P16";
inline constexpr std::string_view kWrongObjectType = "42809";
inline constexpr std::string_view kDependentObjects = "2BP01";
inline constexpr std::string_view kFeatureNotSupported = "0A000";
inline constexpr std::string_view kCardinalityViolation = "21000";
inline constexpr std::string_view kNullValueNotAllowed = "22004";
inline constexpr std::string_view kNumericOutOfRange = "22003";
inline constexpr std::string_view kInvalidDateTimeFormat = "22007";
inline constexpr std::string_view kDateTimeOutOfRange = "22008";
inline constexpr std::string_view kSubstringError = "22011";
inline constexpr std::string_view kCharacterNotInRepertoire = "22021";
inline constexpr std::string_view kInvalidEscapeSequence = "22025";
inline constexpr std::string_view kInvalidEscapeCharacter = "22019";
inline constexpr std::string_view kInvalidUseOfEscapeCharacter = "2200C";
inline constexpr std::string_view kInvalidRegularExpression = "2201B";
inline constexpr std::string_view kDivisionByZero = "22012";
inline constexpr std::string_view kInvalidTextRepresentation = "22P02";
inline constexpr std::string_view kInvalidParameterValue = "22023";
inline constexpr std::string_view kBadCopyFileFormat = "22P04";
inline constexpr std::string_view kInvalidRowCountInLimit = "2201W";
inline constexpr std::string_view kInvalidRowCountInOffset = "2201X";
inline constexpr std::string_view kNotNullViolation = "23502";
inline constexpr std::string_view kUniqueViolation = "23505";
inline constexpr std::string_view kCheckViolation = "23514";
inline constexpr std::string_view kActiveTransaction = "25001";
inline constexpr std::string_view kInFailedTransaction = "25P02";
inline constexpr std::string_view kUndefinedFile = "58P01";
inline constexpr std::string_view kIoError = "58030";
inline constexpr std::string_view kDiskFull = "53100";
inline constexpr std::string_view kOutOfMemory = "53200";
inline constexpr std::string_view kInsufficientResources = "53000";
inline constexpr std::string_view kQueryCanceled = "57014";
inline constexpr std::string_view kProgramLimitExceeded = "54000";
inline constexpr std::string_view kStatementTooComplex = "54001";
inline constexpr std::string_view kInternalError = "XX000";
// Derivatives (shared names with the data-driven cases).
inline constexpr std::string_view kNotScalar =
    "AD001";  // grad of what is not one row and one column
inline constexpr std::string_view kInvalidDerivativeColumn =
    "AD002";  // not floating point, or rows not identified
inline constexpr std::string_view kNoDerivativeRule =
    "AD003";  // names the construct without a rule
}  // namespace sqlstate

// An error with a SQLSTATE. `position` is the 1-based character of the SQL text it points at.
absl::Status SqlError(std::string_view sqlstate, std::string_view message,
                      std::optional<int> position = std::nullopt);

// The same with psql's DETAIL and HINT lines; either may be empty.
absl::Status SqlErrorWithDetail(std::string_view sqlstate, std::string_view message,
                                std::string_view detail, std::string_view hint = "",
                                std::optional<int> position = std::nullopt);

// The SQLSTATE of `status`; kInternalError when it carries none. REQUIRES: !status.ok().
std::string SqlStateOf(const absl::Status& status);
std::optional<int> PositionOf(const absl::Status& status);
std::string DetailOf(const absl::Status& status);
std::string HintOf(const absl::Status& status);

// `status` with a position, where it has none yet.
absl::Status WithPosition(absl::Status status, int position);

}  // namespace adjoin

#define ADJOIN_RETURN_IF_ERROR(expr)                                                       \
  do {                                                                                     \
    if (absl::Status adjoin_status_ = (expr); !adjoin_status_.ok()) return adjoin_status_; \
  } while (false)

#define ADJOIN_CONCAT_INNER_(a, b) a##b
#define ADJOIN_CONCAT_(a, b) ADJOIN_CONCAT_INNER_(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may be a declaration.
#define ADJOIN_ASSIGN_OR_RETURN(lhs, expr) \
  ADJOIN_ASSIGN_OR_RETURN_IMPL_(ADJOIN_CONCAT_(adjoin_statusor_, __LINE__), lhs, expr)
#define ADJOIN_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) return std::move(tmp).status();      \
  lhs = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)

// For what only our own bug can cause. Active in debug and sanitizer builds.
#ifdef NDEBUG
#define ADJOIN_DCHECK(condition) static_cast<void>(0)
#else
#define ADJOIN_DCHECK(condition)      \
  ((condition) ? static_cast<void>(0) \
               : ::adjoin::internal::CheckFailed(#condition, __FILE__, __LINE__))
#endif
namespace adjoin::internal {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}
