// A node on its way through the Rows lowering: where its rows come from and where its columns are.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ops/pipeline.h"

namespace adjoin {

struct StoredJoin;

// Either a *view* (columns of a stored relation) or a pipeline without a sink. A value: copies read
// the same rows.
struct RowStream {
  std::vector<int> position;  // by column of the node: where it is in a batch; -1: nobody reads it
  int width = 0;              // columns of a batch
  std::optional<RelationRef> view;
  std::vector<int> view_columns;  // by batch column: the relation's column
  std::vector<Branch> branches;   // without `view`
  std::vector<int> slots;         // read by it, also by its operators
  int base_table_scans = 0;
  bool one_to_one = true;  // batches carry row numbers of the one source that are dense
  bool repeatable = true;  // computing it again in another pipeline gives equal rows, row ids too

  // A join of two views, and nothing since: what to read where it is to be stored.
  std::shared_ptr<const StoredJoin> join;

  // The table column of node column `column`. REQUIRES: a view.
  int table_column(int column) const {
    return view_columns[static_cast<size_t>(position[static_cast<size_t>(column)])];
  }
  std::vector<int> table_columns() const;  // by node column; -1: nobody reads it
  size_t num_operators() const;

  // Turns a view into a scan of those of its columns that are read; positions move.
  void Open();
  // Adds an operator to every branch; opens a view. `new_width`: columns of its batches.
  void Append(std::shared_ptr<const StreamOperator> op, int new_width, bool keeps_rows);
};

}  // namespace adjoin
