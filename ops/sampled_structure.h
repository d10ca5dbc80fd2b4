// What a sampled product knows before it reads a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/budget_charge.h"
#include "engine/column_cache.h"
#include "ops/sampled_product.h"

namespace adjoin {

// A side's rows by run, a run's by what is between the sides.
struct SampledRuns {
  std::vector<uint32_t> offsets;  // by run: its first entry
  std::vector<uint32_t> rows;     // by entry
  std::vector<uint32_t> ids;      // by entry: of what is between, ascending in a run
  static constexpr uint32_t kScattered = UINT32_MAX;
  std::vector<uint32_t> first;  // by run: its ids follow each other from here on
  int64_t bytes() const {
    return static_cast<int64_t>(4 * (offsets.size() + rows.size() + ids.size() + first.size()));
  }
};

// Where one run is so much longer than the other, its rows are searched, not passed by.
inline constexpr uint32_t kMuchLonger = 8;

// Calls pair(entry, entry) for those of two runs that have the same id, ascending, while it says
// true.
template <typename Pair>
void ForEachPair(const SampledRuns& a, uint32_t run_a, const SampledRuns& b, uint32_t run_b,
                 Pair&& pair) {
  uint32_t i = a.offsets[run_a], j = b.offsets[run_b];
  const uint32_t i_end = a.offsets[run_a + 1], j_end = b.offsets[run_b + 1];
  const bool search_a = i_end - i > kMuchLonger * (j_end - j);
  const bool search_b = j_end - j > kMuchLonger * (i_end - i);
  const auto next = [](const std::vector<uint32_t>& ids, uint32_t from, uint32_t end, uint32_t id,
                       bool search) {
    if (!search) return from + 1;
    return static_cast<uint32_t>(std::lower_bound(ids.begin() + from, ids.begin() + end, id) -
                                 ids.begin());
  };
  while (i < i_end && j < j_end) {
    if (a.ids[i] < b.ids[j]) {
      i = next(a.ids, i, i_end, b.ids[j], search_a);
    } else if (a.ids[i] > b.ids[j]) {
      j = next(b.ids, j, j_end, a.ids[i], search_b);
    } else {
      for (uint32_t k = j; k < j_end && b.ids[k] == a.ids[i]; ++k) {
        if (!pair(i, k)) return;
      }
      ++i;
    }
  }
}

// What is known before a value is read.
struct SampledStructure final : CachedValue {
  SampledRuns sides[2];
  // Sample rows that have a pair, by group, a group's in row order.
  std::vector<uint32_t> offsets;  // by group: its first entry
  std::vector<uint32_t> rows;     // by entry, and so the run that it meets of each side
  std::vector<uint32_t> runs[2];
  std::vector<int64_t> part_begins;  // by part: its first group
  std::vector<ColumnRef> keys;
  std::unique_ptr<BudgetCharge> charge;

  int64_t num_groups() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t own_bytes() const {
    return sides[0].bytes() + sides[1].bytes() +
           static_cast<int64_t>(4 * (offsets.size() + 3 * rows.size()));
  }
  int64_t bytes() const override {
    int64_t sum = own_bytes();
    for (const ColumnRef& key : keys) sum += num_groups() * WidthOf(key->type());
    return sum;
  }

  // 54001 where a relation has 2^32 rows.
  static absl::StatusOr<std::shared_ptr<const SampledStructure>> Build(
      const SampledProductSpec& spec, const Table& sample, const Table* const sides[2],
      RunState& run, const PipelineOptions& options);
};

}  // namespace adjoin
