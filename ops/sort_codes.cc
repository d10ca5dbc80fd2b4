#include "ops/sort_codes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/status.h"
#include "ops/key_table.h"
#include "ops/ordered_bits.h"

namespace adjoin {
namespace {

uint64_t CodeOf(int64_t v) { return static_cast<uint64_t>(v) ^ kSignBit; }
uint64_t CodeOf(double v) { return OrderedBits(v + 0.0); }  // -0 is 0

template <typename T>
void NumberCodes(const T* values, int64_t rows, uint64_t* codes) {
  using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  for (int64_t r = 0; r < rows; ++r) codes[r] = CodeOf(static_cast<Wide>(values[r]));
}

// Ranks of strings among the distinct ones.
void TextCodes(const Vector& key, int64_t rows, LargeVector<uint64_t>& codes) {
  TextTable table(/*borrows=*/true);
  int32_t distinct = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t code = key.is_null(r) ? 0 : table.FindOrAdd(key.as<std::string_view>()[r]);
    if (!key.is_null(r)) distinct = std::max(distinct, code + 1);
    codes[r] = static_cast<uint64_t>(code);
  }
  std::vector<int32_t> order(static_cast<size_t>(distinct));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return table.at(a) < table.at(b); });
  std::vector<uint64_t> rank(static_cast<size_t>(distinct) + 1);
  for (int32_t i = 0; i < distinct; ++i) rank[order[i]] = static_cast<uint64_t>(i);
  for (uint64_t& code : codes) code = rank[code];
}

// Ranks of values that no 64-bit code holds.
template <typename T>
void RankCodes(const Vector& key, int64_t rows, LargeVector<uint64_t>& codes) {
  const T* values = key.as<T>();
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return values[a] < values[b]; });
  uint64_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && values[order[i - 1]] < values[order[i]]) ++rank;
    codes[order[i]] = rank;
  }
}

// Coefficients at the one scale that all values have; false where there is none, or 64 bits are too
// few.
bool CoefficientCodes(const Vector& key, int64_t rows, LargeVector<uint64_t>& codes) {
  const auto* values = key.as<Decimal>();
  int scale = -1;
  for (int64_t r = 0; r < rows; ++r) {
    if (key.is_null(r)) continue;
    const __int128 coefficient = values[r].coefficient();
    if (scale < 0) scale = values[r].scale();
    if (values[r].scale() != scale || coefficient != static_cast<int64_t>(coefficient))
      return false;
    codes[r] = CodeOf(static_cast<int64_t>(coefficient));
  }
  return true;
}

void ValueCodes(const Vector& key, int64_t rows, LargeVector<uint64_t>& codes) {
  WithElementType(key.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, std::string_view>) {
      TextCodes(key, rows, codes);
    } else if constexpr (std::is_same_v<T, Decimal>) {
      if (!CoefficientCodes(key, rows, codes)) RankCodes<T>(key, rows, codes);
    } else if constexpr (!std::is_arithmetic_v<T>) {
      RankCodes<T>(key, rows, codes);
    } else {
      NumberCodes(key.as<T>(), rows, codes.data());
    }
  });
}

}  // namespace

bool HasOwnCodes(TypeId type) {
  return WithElementType(type, [](auto zero) { return std::is_arithmetic_v<decltype(zero)>; });
}

void OwnCodes(const Vector& key, SortOrder order, int64_t rows, uint64_t* codes) {
  WithElementType(key.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) NumberCodes(key.as<T>(), rows, codes);
  });
  if (order.descending) {
    for (int64_t r = 0; r < rows; ++r) codes[r] = ~codes[r];
  }
  if (key.valid == nullptr) return;
  for (int64_t r = 0; r < rows; ++r) {
    if (key.valid[r] == 0) codes[r] = order.nulls_first ? 0 : ~uint64_t{0};
  }
}

SortCodes::SortCodes(std::span<const Vector> keys, std::span<const SortOrder> orders,
                     int64_t rows) {
  for (size_t k = 0; k < keys.size(); ++k) {
    const SortOrder order = k < orders.size() ? orders[k] : SortOrder{};
    LargeVector<uint64_t> codes(static_cast<size_t>(rows));
    ValueCodes(keys[k], rows, codes);
    if (order.descending) {
      for (uint64_t& code : codes) code = ~code;
    }
    if (keys[k].valid != nullptr) {
      LargeVector<uint64_t> nulls(static_cast<size_t>(rows));
      for (int64_t r = 0; r < rows; ++r) {
        const bool null = keys[k].valid[r] == 0;
        nulls[r] = null != order.nulls_first ? 1 : 0;
        if (null) codes[r] = 0;
      }
      Add(std::move(nulls));
    }
    Add(std::move(codes));
  }
}

int64_t SortCodes::BytesARow(std::span<const Vector> keys) {
  int64_t bytes = 0;
  for (const Vector& key : keys) {
    bytes += key.valid == nullptr ? 8 : 16;
    if (key.type == TypeId::kText) bytes += kBytesAText;
  }
  return bytes;
}

// Codes that are all the same decide nothing.
void SortCodes::Add(LargeVector<uint64_t> codes) {
  const bool same =
      std::all_of(codes.begin(), codes.end(), [&](uint64_t code) { return code == codes.front(); });
  if (!same) columns_.push_back(std::move(codes));
}

CodeRange SortCodes::FirstRange(int64_t rows) const {
  const auto [least, greatest] =
      std::minmax_element(columns_[0].begin(), columns_[0].begin() + rows);
  return {*least, *greatest};
}

void SortBits(std::span<uint64_t> items, int low, int high) {
  // About where a sort by comparison costs what three passes of 11 bits do, each with 2048
  // counters; an estimate, not a measured crossover.
  constexpr size_t kFewest = 700;
  constexpr int kDigitBits = 11;
  if (items.size() < kFewest) {
    std::sort(items.begin(), items.end());
    return;
  }
  std::vector<uint64_t> other(items.size());
  std::span<uint64_t> from = items, to = other;
  for (int shift = low; shift < high; shift += kDigitBits) {
    const uint64_t mask = (uint64_t{1} << std::min(kDigitBits, high - shift)) - 1;
    std::array<uint32_t, (1 << kDigitBits) + 1> next{};
    for (uint64_t item : from) ++next[((item >> shift) & mask) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (uint64_t item : from) to[next[(item >> shift) & mask]++] = item;
    std::swap(from, to);
  }
  if (from.data() != items.data()) std::copy(from.begin(), from.end(), items.begin());
}

void SortRows(const SortCodes& codes, std::span<int64_t> rows) {
  const auto less = [&](int64_t a, int64_t b) { return codes.Less(a, b); };
  if (codes.empty() || std::is_sorted(rows.begin(), rows.end(), less)) return;
  if (rows.size() < 32) {
    std::sort(rows.begin(), rows.end(), less);
    return;
  }
  // The first code's leading bits and a row's place in one number: sorting those touches no other
  // memory, and ties keep their order. What the bits left out decide is put right run by run.
  CodeRange range{~uint64_t{0}, 0};
  for (int64_t row : rows) {
    range.first = std::min(range.first, codes.First(row));
    range.last = std::max(range.last, codes.First(row));
  }
  const auto code_bits = static_cast<int>(std::bit_width(range.last - range.first));
  const auto place_bits = static_cast<int>(std::bit_width(rows.size() - 1));
  const uint64_t places = (uint64_t{1} << place_bits) - 1;
  std::vector<uint64_t> items(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t code =
        code_bits == 0 ? 0 : (codes.First(rows[i]) - range.first) << (64 - code_bits);
    items[i] = (code & ~places) | i;
  }
  SortBits(items, std::max(place_bits, 64 - code_bits), 64);
  std::vector<int64_t> sorted(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) sorted[i] = rows[items[i] & places];
  if (!codes.single() || code_bits + place_bits > 64) {
    for (size_t begin = 0, end; begin < items.size(); begin = end) {
      for (end = begin + 1; end < items.size() && ((items[begin] ^ items[end]) & ~places) == 0;)
        ++end;
      if (end - begin > 1) std::sort(sorted.data() + begin, sorted.data() + end, less);
    }
  }
  std::copy(sorted.begin(), sorted.end(), rows.begin());
}

absl::StatusOr<std::vector<int64_t>> SortAllRows(const SortCodes& codes, int64_t rows,
                                                 const RunState& run,
                                                 const PipelineOptions& options) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const int64_t piece = std::max<int64_t>(options.morsel_rows, 1);
  ADJOIN_RETURN_IF_ERROR(ForEachBlock(run.pool, (rows + piece - 1) / piece, [&](int64_t block) {
    const int64_t begin = block * piece;
    SortRows(codes, std::span(order).subspan(begin, std::min(piece, rows - begin)));
    return absl::OkStatus();
  }));
  std::vector<int64_t> merged(order.size());
  const auto less = [&](int64_t a, int64_t b) { return codes.Less(a, b); };
  for (int64_t width = piece; width < rows && !codes.empty(); width *= 2) {
    const int64_t pairs = (rows + 2 * width - 1) / (2 * width);
    ADJOIN_RETURN_IF_ERROR(ForEachBlock(run.pool, pairs, [&](int64_t block) {
      const auto begin = order.begin() + block * 2 * width;
      const auto middle = order.begin() + std::min(rows, block * 2 * width + width);
      const auto end = order.begin() + std::min(rows, (block + 1) * 2 * width);
      std::merge(begin, middle, middle, end, merged.begin() + (begin - order.begin()), less);
      return absl::OkStatus();
    }));
    order.swap(merged);
  }
  return order;
}

}  // namespace adjoin
