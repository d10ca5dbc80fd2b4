#include "engine/status.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/text.h"

namespace adjoin {
namespace {

constexpr std::string_view kSqlStateUrl = "adjoin/sqlstate";
constexpr std::string_view kPositionUrl = "adjoin/position";
constexpr std::string_view kDetailUrl = "adjoin/detail";
constexpr std::string_view kHintUrl = "adjoin/hint";

struct CodeOfSqlState {
  std::string_view prefix;  // of a SQLSTATE; the first row that fits counts
  absl::StatusCode code;
};

constexpr CodeOfSqlState kCodes[] = {
    {sqlstate::kUndefinedColumn, absl::StatusCode::kNotFound},
    {sqlstate::kUndefinedTable, absl::StatusCode::kNotFound},
    {sqlstate::kUndefinedFunction, absl::StatusCode::kNotFound},
    {sqlstate::kUndefinedObject, absl::StatusCode::kNotFound},
    {sqlstate::kUndefinedParameter, absl::StatusCode::kNotFound},
    {sqlstate::kInvalidStatementName, absl::StatusCode::kNotFound},
    {sqlstate::kUndefinedFile, absl::StatusCode::kNotFound},
    {sqlstate::kDuplicateTable, absl::StatusCode::kAlreadyExists},
    {sqlstate::kDuplicatePreparedStatement, absl::StatusCode::kAlreadyExists},
    {sqlstate::kUniqueViolation, absl::StatusCode::kAlreadyExists},
    {sqlstate::kCheckViolation, absl::StatusCode::kFailedPrecondition},
    {sqlstate::kFeatureNotSupported, absl::StatusCode::kUnimplemented},
    {sqlstate::kNoDerivativeRule, absl::StatusCode::kUnimplemented},
    {sqlstate::kNumericOutOfRange, absl::StatusCode::kOutOfRange},
    {sqlstate::kDivisionByZero, absl::StatusCode::kOutOfRange},
    {sqlstate::kDateTimeOutOfRange, absl::StatusCode::kOutOfRange},
    {sqlstate::kDependentObjects, absl::StatusCode::kFailedPrecondition},
    {sqlstate::kCardinalityViolation, absl::StatusCode::kFailedPrecondition},
    {sqlstate::kNotNullViolation, absl::StatusCode::kFailedPrecondition},
    {"25", absl::StatusCode::kFailedPrecondition},  // transaction state
    {sqlstate::kIoError, absl::StatusCode::kUnavailable},
    {sqlstate::kQueryCanceled, absl::StatusCode::kCancelled},
    {"53", absl::StatusCode::kResourceExhausted},
    {"54", absl::StatusCode::kResourceExhausted},  // program limits
    {"XX", absl::StatusCode::kInternal},
    {"", absl::StatusCode::kInvalidArgument},
};

absl::StatusCode CodeOf(std::string_view state) {
  for (const CodeOfSqlState& row : kCodes) {
    if (state.substr(0, row.prefix.size()) == row.prefix) return row.code;
  }
  return absl::StatusCode::kInternal;
}

void SetText(absl::Status& status, std::string_view url, std::string_view text) {
  if (!text.empty()) status.SetPayload(ToAbsl(url), absl::Cord(ToAbsl(text)));
}

std::string PayloadOr(const absl::Status& status, std::string_view url, std::string_view absent) {
  const auto payload = status.GetPayload(ToAbsl(url));
  return payload.has_value() ? std::string(*payload) : std::string(absent);
}

}  // namespace

absl::Status SqlError(std::string_view sqlstate, std::string_view message,
                      std::optional<int> position) {
  return SqlErrorWithDetail(sqlstate, message, "", "", position);
}

absl::Status SqlErrorWithDetail(std::string_view sqlstate, std::string_view message,
                                std::string_view detail, std::string_view hint,
                                std::optional<int> position) {
  absl::Status status(CodeOf(sqlstate), ToAbsl(message));
  SetText(status, kSqlStateUrl, sqlstate);
  SetText(status, kDetailUrl, detail);
  SetText(status, kHintUrl, hint);
  if (position.has_value()) status = WithPosition(std::move(status), *position);
  return status;
}

std::string SqlStateOf(const absl::Status& status) {
  return PayloadOr(status, kSqlStateUrl, sqlstate::kInternalError);
}

std::optional<int> PositionOf(const absl::Status& status) {
  int position = 0;
  if (!absl::SimpleAtoi(PayloadOr(status, kPositionUrl, ""), &position)) return std::nullopt;
  return position;
}

std::string DetailOf(const absl::Status& status) { return PayloadOr(status, kDetailUrl, ""); }
std::string HintOf(const absl::Status& status) { return PayloadOr(status, kHintUrl, ""); }

absl::Status WithPosition(absl::Status status, int position) {
  if (!status.ok() && !PositionOf(status).has_value()) {
    status.SetPayload(ToAbsl(kPositionUrl), absl::Cord(absl::StrCat(position)));
  }
  return status;
}

}  // namespace adjoin

namespace adjoin::internal {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace adjoin::internal
