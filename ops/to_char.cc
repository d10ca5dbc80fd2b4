#include "ops/to_char.h"

#include <optional>
#include <string>
#include <string_view>

#include "engine/date_format.h"
#include "engine/status.h"

namespace adjoin {
namespace {

using Made = absl::StatusOr<std::optional<std::string_view>>;

struct KnownFormat {
  std::string pattern;
  DateFormat format;
};

template <typename T>
absl::Status RunToChar(const RowCall& call) {
  auto& known = Kept<KnownFormat>(call);
  return RunRows<Made, T, std::string_view>(call, [&](T value, std::string_view pattern) -> Made {
    if (pattern != known.pattern) {
      known.pattern = pattern;
      known.format = DateFormat(pattern);
    }
    const absl::StatusOr<std::optional<std::string>> text = known.format.Format(value);
    if (!text.ok()) return text.status();
    if (!text->has_value()) return std::nullopt;
    return call.text.Copy(**text);
  });
}

}  // namespace

const RowFunction kTimestampToChar =
                      RowSignature<Made, Timestamp, std::string_view>(RunToChar<Timestamp>),
                  kIntervalToChar =
                      RowSignature<Made, Interval, std::string_view>(RunToChar<Interval>);

}  // namespace adjoin
