#include "ops/sort_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/status.h"
#include "ops/key_table.h"

namespace adjoin {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;

uint64_t CodeOf(int64_t v) { return static_cast<uint64_t>(v) ^ kSignBit; }
uint64_t CodeOf(double v) {
  if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  const uint64_t bits = std::bit_cast<uint64_t>(v + 0.0);
  return (bits & kSignBit) != 0 && !std::isnan(v) ? ~bits : bits | kSignBit;
}

// Ranks of strings among the distinct ones.
void TextCodes(const Vector& key, int64_t rows, std::vector<uint64_t>& codes) {
  TextTable table;
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
void RankCodes(const Vector& key, int64_t rows, std::vector<uint64_t>& codes) {
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

void ValueCodes(const Vector& key, int64_t rows, std::vector<uint64_t>& codes) {
  WithElementType(key.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, std::string_view>) {
      TextCodes(key, rows, codes);
    } else if constexpr (!std::is_arithmetic_v<T>) {
      RankCodes<T>(key, rows, codes);
    } else {
      using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
      for (int64_t r = 0; r < rows; ++r) codes[r] = CodeOf(static_cast<Wide>(key.as<T>()[r]));
    }
  });
}

struct CodedRow {
  uint64_t code;
  int64_t row;
};

}  // namespace

SortCodes::SortCodes(std::span<const Vector> keys, std::span<const SortOrder> orders,
                     int64_t rows) {
  for (size_t k = 0; k < keys.size(); ++k) {
    const SortOrder order = k < orders.size() ? orders[k] : SortOrder{};
    std::vector<uint64_t> codes(static_cast<size_t>(rows));
    ValueCodes(keys[k], rows, codes);
    if (order.descending) {
      for (uint64_t& code : codes) code = ~code;
    }
    if (keys[k].valid != nullptr) {
      std::vector<uint64_t> nulls(static_cast<size_t>(rows));
      for (int64_t r = 0; r < rows; ++r) {
        const bool null = keys[k].valid[r] == 0;
        nulls[r] = null != order.nulls_first ? 1 : 0;
        if (null) codes[r] = 0;
      }
      columns_.push_back(std::move(nulls));
    }
    columns_.push_back(std::move(codes));
  }
}

void SortRows(const SortCodes& codes, std::span<int64_t> rows) {
  const auto less = [&](int64_t a, int64_t b) { return codes.Less(a, b); };
  if (codes.empty() || std::is_sorted(rows.begin(), rows.end(), less)) return;
  if (rows.size() < 32) {
    std::sort(rows.begin(), rows.end(), less);
    return;
  }
  // The first code travels with its row, so that most comparisons touch no other memory.
  std::vector<CodedRow> coded(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) coded[i] = {codes.First(rows[i]), rows[i]};
  if (codes.single()) {
    std::sort(coded.begin(), coded.end(), [](const CodedRow& a, const CodedRow& b) {
      return a.code != b.code ? a.code < b.code : a.row < b.row;
    });
  } else {
    std::sort(coded.begin(), coded.end(), [&](const CodedRow& a, const CodedRow& b) {
      return a.code != b.code ? a.code < b.code : codes.Less(a.row, b.row);
    });
  }
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = coded[i].row;
}

absl::StatusOr<std::vector<int64_t>> SortAllRows(const SortCodes& codes, int64_t rows,
                                                 const RunState& run,
                                                 const PipelineOptions& options) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const int64_t piece = std::max<int64_t>(options.morsel_rows, 1);
  const auto for_each = [&](int64_t blocks,
                            const std::function<absl::Status(int64_t)>& body) -> absl::Status {
    if (run.pool != nullptr) return run.pool->ForEachBlock(blocks, body);
    for (int64_t b = 0; b < blocks; ++b) ADJOIN_RETURN_IF_ERROR(body(b));
    return absl::OkStatus();
  };
  ADJOIN_RETURN_IF_ERROR(for_each((rows + piece - 1) / piece, [&](int64_t block) {
    const int64_t begin = block * piece;
    SortRows(codes, std::span(order).subspan(begin, std::min(piece, rows - begin)));
    return absl::OkStatus();
  }));
  std::vector<int64_t> merged(order.size());
  const auto less = [&](int64_t a, int64_t b) { return codes.Less(a, b); };
  for (int64_t width = piece; width < rows && !codes.empty(); width *= 2) {
    ADJOIN_RETURN_IF_ERROR(for_each((rows + 2 * width - 1) / (2 * width), [&](int64_t block) {
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
