#include "engine/statistics.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/column.h"

namespace adjoin {
namespace {

// As many bits tell up to about five million values apart by their hashes (linear counting, Whang
// et al. 1990), in 128 KiB that a pass keeps in L2.
constexpr size_t kBits = size_t{1} << 20;

class Marks {
 public:
  void Add(size_t bit) { words_[bit / 64] |= uint64_t{1} << (bit % 64); }
  size_t Count() const {
    size_t count = 0;
    for (uint64_t word : words_) count += static_cast<size_t>(std::popcount(word));
    return count;
  }

 private:
  std::vector<uint64_t> words_ = std::vector<uint64_t>(kBits / 64);
};

// Calls f(value) for each that is no NULL and no NaN.
template <typename T, typename F>
void ForEachValue(const Column& column, F&& f) {
  const T* values = column.values<T>();
  const bool nulls = column.has_nulls();
  for (int64_t r = 0; r < column.length(); ++r) {
    if (nulls && column.is_null(r)) continue;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(values[r])) continue;
    }
    f(values[r]);
  }
}

template <typename T>
size_t HashOf(T value) {
  uint64_t bits = 0;
  if constexpr (std::is_same_v<T, Decimal>) {
    bits = value.low ^ static_cast<uint64_t>(value.high);
  } else {
    std::memcpy(&bits, &value, sizeof(value));
  }
  bits = (bits ^ (bits >> 32)) * 0x9E3779B97F4A7C15;
  return static_cast<size_t>((bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9 >> 44);
}
static_assert(kBits == size_t{1} << (64 - 44));

template <typename T>
ColumnStatistics Compute(const Column& column) {
  T low{}, high{};
  int64_t count = 0;
  ForEachValue<T>(column, [&](T value) {
    low = count == 0 ? value : std::min(low, value);
    high = count == 0 ? value : std::max(high, value);
    ++count;
  });
  if (count == 0) return {};
  ColumnStatistics s{0, static_cast<double>(low), static_cast<double>(high)};
  Marks marks;
  double most = static_cast<double>(count);
  if constexpr (std::is_integral_v<T>) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    if (range < kBits) {
      ForEachValue<T>(column, [&](T value) {
        marks.Add(static_cast<uint64_t>(value) - static_cast<uint64_t>(low));
      });
      s.distinct = static_cast<double>(marks.Count());
      return s;
    }
    most = std::min(most, static_cast<double>(range) + 1);
  }
  ForEachValue<T>(column, [&](T value) { marks.Add(HashOf(value)); });
  const auto bits = static_cast<double>(kBits), marked = static_cast<double>(marks.Count());
  s.distinct =
      marked == bits ? most : std::min(most, std::round(-bits * std::log1p(-marked / bits)));
  return s;
}

}  // namespace

ColumnStatistics ComputeStatistics(const Column& column) {
  if (const Column::Coordinates* c = column.coordinates()) {
    const double extent = static_cast<double>(std::min(c->extent, column.length()));
    if (extent == 0) return {};
    return {extent, static_cast<double>(c->origin), static_cast<double>(c->origin) + extent - 1};
  }
  switch (column.type()) {
    case TypeId::kBool:
      return Compute<uint8_t>(column);
    case TypeId::kInt16:
      return Compute<int16_t>(column);
    case TypeId::kInt32:
    case TypeId::kDate:
      return Compute<int32_t>(column);
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return Compute<int64_t>(column);
    case TypeId::kFloat32:
      return Compute<float>(column);
    case TypeId::kFloat64:
      return Compute<double>(column);
    case TypeId::kText:
      return {static_cast<double>(column.dictionary()->size())};
    case TypeId::kDecimal:
      return Compute<Decimal>(column);
    case TypeId::kInterval:
      return {static_cast<double>(column.length())};
  }
  return {};
}

}  // namespace adjoin
