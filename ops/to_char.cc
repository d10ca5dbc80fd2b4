#include "ops/to_char.h"

#include <optional>
#include <string>
#include <string_view>

#include "engine/date_format.h"
#include "engine/number_format.h"
#include "engine/status.h"

namespace adjoin {
namespace {

using Made = absl::StatusOr<std::optional<std::string_view>>;

// A pattern as it was read last: nearly always it is one constant.
template <typename Format>
struct Known {
  std::string pattern;
  absl::StatusOr<Format> format = Format();
};

absl::StatusOr<DateFormat> ParseAs(std::string_view pattern, const DateFormat*) {
  return DateFormat(pattern);
}
absl::StatusOr<NumberFormat> ParseAs(std::string_view pattern, const NumberFormat*) {
  return NumberFormat::Parse(pattern);
}

// Runs a function of (T, pattern), which `use` computes by the pattern that it is given.
template <typename Format, typename R, typename T, typename Use>
absl::Status RunByPattern(const RowCall& call, Use use) {
  auto& known = Kept<Known<Format>>(call);
  return RunRows<R, T, std::string_view>(call, [&](T value, std::string_view pattern) -> R {
    if (pattern != known.pattern) {
      known.pattern = pattern;
      known.format = ParseAs(pattern, static_cast<const Format*>(nullptr));
    }
    ADJOIN_RETURN_IF_ERROR(known.format.status());
    return use(*known.format, value);
  });
}

template <typename T>
absl::Status RunToChar(const RowCall& call) {
  return RunByPattern<DateFormat, Made, T>(call, [&](const DateFormat& format, T value) -> Made {
    const absl::StatusOr<std::optional<std::string>> text = format.Format(value);
    if (!text.ok()) return text.status();
    if (!text->has_value()) return std::nullopt;
    return call.text.Copy(**text);
  });
}

using NumberMade = absl::StatusOr<std::string_view>;
// Of a number, which a NumberFormat takes as an `As`.
template <typename T, typename As = T>
absl::Status RunNumberToChar(const RowCall& call) {
  return RunByPattern<NumberFormat, NumberMade, T>(
      call, [&](const NumberFormat& format, T value) -> NumberMade {
        ADJOIN_ASSIGN_OR_RETURN(const std::string text, format.Format(static_cast<As>(value)));
        return call.text.Copy(text);
      });
}
template <typename T, typename As = T>
constexpr RowFunction NumberToChar() {
  return RowSignature<NumberMade, T, std::string_view>(RunNumberToChar<T, As>);
}

using NumberRead = absl::StatusOr<std::optional<Decimal>>;
absl::Status RunToNumber(const RowCall& call) {
  return RunByPattern<NumberFormat, NumberRead, std::string_view>(
      call, [](const NumberFormat& format, std::string_view text) { return format.Read(text); });
}

absl::Status RunToTimestamp(const RowCall& call) {
  return RunByPattern<DateFormat, absl::StatusOr<Timestamp>, std::string_view>(
      call,
      [](const DateFormat& format, std::string_view text) { return format.ReadTimestamp(text); });
}
absl::Status RunToDate(const RowCall& call) {
  return RunByPattern<DateFormat, absl::StatusOr<Date>, std::string_view>(
      call, [](const DateFormat& format, std::string_view text) { return format.ReadDate(text); });
}

}  // namespace

const RowFunction kTimestampToChar =
                      RowSignature<Made, Timestamp, std::string_view>(RunToChar<Timestamp>),
                  kIntervalToChar =
                      RowSignature<Made, Interval, std::string_view>(RunToChar<Interval>);
// PostgreSQL takes a SMALLINT for a double precision.
const RowFunction kNumberToChar[6] = {NumberToChar<int16_t, double>(), NumberToChar<int32_t>(),
                                      NumberToChar<int64_t>(),         NumberToChar<Decimal>(),
                                      NumberToChar<float>(),           NumberToChar<double>()};
const RowFunction kToTimestamp =
    RowSignature<absl::StatusOr<Timestamp>, std::string_view, std::string_view>(RunToTimestamp);
const RowFunction kToDate =
    RowSignature<absl::StatusOr<Date>, std::string_view, std::string_view>(RunToDate);
const RowFunction kToNumber =
    RowSignature<NumberRead, std::string_view, std::string_view>(RunToNumber);

}  // namespace adjoin
