// The functions of the clock. There are no time zones: each is a TIMESTAMP, or a DATE, in UTC.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// now, transaction_timestamp, statement_timestamp, clock_timestamp.
bool IsClockFunction(std::string_view name);
// A call of one of them. Errors: 42883 where it has arguments.
absl::StatusOr<ExprRef> BindClockFunction(BindState& state, std::string_view name, const Json& body,
                                          const Context& context);
// CURRENT_DATE, CURRENT_TIMESTAMP and LOCALTIMESTAMP. Errors: 0A000 for the time of day and names
// of users, which this grammar node stands for too.
absl::StatusOr<ExprRef> BindClockKeyword(BindState& state, const Json& body);
// The day on which the transaction began.
absl::StatusOr<ExprRef> CurrentDate(BindState& state);

}  // namespace adjoin
