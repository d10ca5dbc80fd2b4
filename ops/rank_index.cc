#include "ops/rank_index.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// Values this far apart are always worth it: 48 KiB. Farther ones: 12 bytes a row, as a hash table
// has, or 12 bits a look-up. TPC-H at scale factor 1, 6M possible numbers of orders: q05, which
// builds from 230k of them, 33 -> 19 ms, q12 from 30k, 24 -> 12.
constexpr uint64_t kAlways = uint64_t{1} << 18;
constexpr double kValuesARow = 64, kValuesAProbe = 8;
constexpr uint64_t kMost = uint64_t{1} << 31;
constexpr int64_t kBlockRows = int64_t{1} << 16;

bool IsWideInteger(TypeId type) {
  return type == TypeId::kInt32 || type == TypeId::kInt64 || type == TypeId::kDate ||
         type == TypeId::kTimestamp;
}

// Calls f with the values as int32_t or int64_t.
template <typename F>
auto WithIntegers(const Vector& key, F&& f) {
  return VectorWidth(key.type) == 4 ? f(key.as<int32_t>()) : f(key.as<int64_t>());
}

}  // namespace

int64_t RankIndex::Range::bytes() const {
  return static_cast<int64_t>(last / 64 + 1) *
         static_cast<int64_t>(sizeof(uint64_t) + sizeof(uint32_t));
}

std::optional<RankIndex::Range> RankIndex::RangeOf(const Vector& key, int64_t n, double probes,
                                                   TaskPool* pool) {
  if (!IsWideInteger(key.type)) return std::nullopt;
  struct Ends {
    int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
  };
  std::vector<Ends> of_blocks(static_cast<size_t>((n + kBlockRows - 1) / kBlockRows));
  ForEachRange(pool, n, kBlockRows, [&](int64_t begin, int64_t end) {
    Ends ends;
    WithIntegers(key, [&](const auto* values) {
      for (int64_t r = begin; r < end; ++r) {
        if (key.is_null(r)) continue;
        ends.low = std::min<int64_t>(ends.low, values[r]);
        ends.high = std::max<int64_t>(ends.high, values[r]);
      }
    });
    of_blocks[static_cast<size_t>(begin / kBlockRows)] = ends;
  });
  Ends all;
  for (const Ends& ends : of_blocks)
    all = {std::min(all.low, ends.low), std::max(all.high, ends.high)};
  if (all.low > all.high) return std::nullopt;
  const uint64_t last = static_cast<uint64_t>(all.high) - static_cast<uint64_t>(all.low);
  const double worth = std::max(kValuesARow * static_cast<double>(n), kValuesAProbe * probes);
  if (last >= kMost || (last > kAlways && static_cast<double>(last) > worth)) return std::nullopt;
  return Range{all.low, last};
}

RankIndex::RankIndex(const Range& range, const Vector& key, int64_t n) : range_(range) {
  const size_t words = range.last / 64 + 1;
  marks_.assign(words, 0);
  WithIntegers(key, [&](const auto* values) {
    for (int64_t r = 0; r < n; ++r) {
      if (key.is_null(r)) continue;
      const uint64_t at =
          static_cast<uint64_t>(static_cast<int64_t>(values[r])) - static_cast<uint64_t>(range.low);
      marks_[at / 64] |= uint64_t{1} << (at % 64);
    }
  });
  before_.resize(words);
  for (size_t w = 0; w < words; ++w) {
    before_[w] = static_cast<uint32_t>(size_);
    size_ += std::popcount(marks_[w]);
  }
}

int64_t RankIndex::FindMatches(const Vector& key, int64_t n, int32_t* rows, int64_t* ids,
                               uint32_t* at) const {
  const KernelTable& kernels = Kernels();
  const auto last = static_cast<uint32_t>(range_.last);
  const int64_t m =
      VectorWidth(key.type) == 4
          ? kernels.select_marked_4(key.as<int32_t>(), n, range_.low, last, marks_.data(), rows, at)
          : kernels.select_marked_8(key.as<int64_t>(), n, range_.low, last, marks_.data(), rows,
                                    at);
  kernels.rank(marks_.data(), before_.data(), at, m, ids);
  return m;
}

}  // namespace adjoin
