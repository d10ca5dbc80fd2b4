// The structure of a join whose pairs are summed by group, in compressed rows (CSR): what a sparse
// product knows before it reads a value.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/budget_charge.h"
#include "ops/join_index.h"
#include "ops/pipeline.h"

namespace adjoin {

// The keys of one side: of the join, and of the groups.
struct SparseKeys {
  RelationRef relation;
  JoinKeys on;
  CompiledExpr groups;       // no outputs: all rows are one group
  std::vector<int> columns;  // of the relation, that these read
};

// Groups are numbered a side, in first-seen order of its rows; on the left of those that have a
// match. Immutable, but that FindPattern and DropKeys may be called once.
class SparseStructure {
 public:
  // 54001 where a side has 2^32 rows.
  static absl::StatusOr<std::unique_ptr<SparseStructure>> Build(
      const SparseKeys& left, const Table& left_table, const SparseKeys& right,
      const Table& right_table, RunState& run, const PipelineOptions& options);

  // Left rows that have a match, by group, a group's in row order; each meets a *run* of right
  // rows.
  int64_t left_groups() const { return static_cast<int64_t>(left_offsets.size()) - 1; }
  std::vector<uint32_t> left_offsets;     // by group: its first entry
  std::vector<uint32_t> left_rows, runs;  // by entry
  std::vector<int64_t> pairs;             // by group: pairs of the groups before it
  // Right rows by run, a run's by group, a group's in row order.
  static constexpr uint32_t kScattered = UINT32_MAX;
  std::vector<uint32_t> run_offsets;     // by run: its first entry
  std::vector<uint32_t> right_rows;      // by entry; empty: entry i is row i
  std::vector<uint32_t> right_of_entry;  // by entry: its group; empty: all are group 0
  std::vector<uint32_t> first_group;     // by run: its groups follow each other from here on
  int64_t right_groups = 1;
  int64_t right_entries = 0;
  bool single_rows = false;  // every run is one row

  // Group g of the left meets groups [pattern_offsets[g], pattern_offsets[g + 1]) of `pattern` of
  // the right. REQUIRES: the right side has keys.
  absl::Status FindPattern(RunState& run);
  bool has_pattern() const { return !pattern_offsets.empty(); }
  std::vector<int64_t> pattern_offsets;
  std::vector<uint32_t> pattern;

  // Left groups [part_begins[p], part_begins[p + 1]) are about as much work for every p.
  std::vector<int64_t> part_begins;

  // Key columns of the product's rows. REQUIRES: a pattern, where the right has keys.
  absl::StatusOr<ColumnRef> KeyColumn(int side, int number, RunState& run) const;
  // Frees what only KeyColumn reads.
  void DropKeys() {
    left_keys_ = nullptr;
    right_keys_ = nullptr;
  }
  int64_t num_rows() const { return has_pattern() ? pattern_offsets.back() : left_groups(); }
  int64_t bytes() const;

 private:
  SparseStructure() = default;
  absl::Status AddRight(const SparseKeys& keys, const Table& table, const JoinIndex& index,
                        RunState& run, const PipelineOptions& options);
  absl::Status AddLeft(const SparseKeys& keys, const Table& table, const JoinIndex& index,
                       RunState& run, const PipelineOptions& options);
  void CutParts();

  std::unique_ptr<KeyTable> left_keys_, right_keys_;
  std::unique_ptr<BudgetCharge> charge_;
};

}  // namespace adjoin
