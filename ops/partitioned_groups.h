// A group-by of many groups, part by part of their keys' hashes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "engine/budget_charge.h"
#include "engine/large_vector.h"
#include "ops/groups.h"
#include "ops/partitioned_rows.h"
#include "ops/step.h"

namespace adjoin {

// What a block of rows leaves: groups, or those of its first rows and then rows.
struct BlockOfGroups {
  explicit BlockOfGroups(const std::shared_ptr<MemoryBudget>& budget) : charge(budget) {}
  BudgetCharge charge;  // of what follows
  std::unique_ptr<Groups> groups;
  std::unique_ptr<PartitionedRows> rows;  // may be null
  int64_t num_rows = 0;                   // of the block
};

// The groups of all blocks, in first-seen order, with the bits that merging block after block
// gives: a part's rows are added up a block by itself, and the blocks' sums one after another.
class PartitionedGroups {
 public:
  // Merges the blocks, parts beside each other on the run's pool, and lets them go. Errors: 53200.
  static absl::StatusOr<PartitionedGroups> Make(const HashAggregateSpec& spec,
                                                std::vector<std::unique_ptr<BlockOfGroups>> blocks,
                                                const RunState& run);

  int64_t size() const { return begins_.back().group; }
  // Groups by the rows that are their first, so many rows a piece.
  int64_t pieces() const { return std::ssize(begins_) - 1; }
  int64_t begin(int64_t piece) const { return begins_[static_cast<size_t>(piece)].group; }
  // Calls f(column, values) for the result's columns of one piece. Thread-safe.
  absl::Status Read(int64_t piece,
                    absl::FunctionRef<void(int column, const Vector& values)> f) const;
  std::shared_ptr<const Dictionary> DictionaryOf(int column) const {
    return dictionaries_[static_cast<size_t>(column)];
  }

 private:
  struct Part {
    std::unique_ptr<Groups> groups;
    std::unique_ptr<BudgetCharge> charge;
  };
  // What is before a piece: groups of all parts, and of each.
  struct Begin {
    int64_t group = 0;
    std::vector<int64_t> of_part;
  };
  void NumberPieces(int64_t num_rows);
  std::shared_ptr<const Dictionary> CommonDictionary(int column) const;
  const HashAggregateSpec* spec_ = nullptr;
  std::unique_ptr<BudgetCharge> charge_;  // of part_of_row_
  std::vector<Part> parts_;
  LargeVector<uint16_t> part_of_row_;  // 1 more than the part that it is a group's first row of; 0
  std::vector<std::shared_ptr<const Dictionary>> dictionaries_;  // of all parts, by column
  std::vector<Begin> begins_;  // of each piece, and what would come after the last
};

}  // namespace adjoin
