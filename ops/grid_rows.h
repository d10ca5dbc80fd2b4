// From the Grid layout to Rows: the relation of an array program as a Table.
#pragma once

#include <string>
#include <vector>

#include "ops/row_program.h"

namespace adjoin {

// A column over a grid's axes: an array (strides in elements, 0 to broadcast), or the coordinate of
// one axis. An array in memory of RunState::results is the column.
struct GridRowsColumn {
  TypeId type;
  int axis = -1;  // >= 0: origin + index along it
  int64_t origin = 0;
  ArrayAddress address;
  std::vector<int64_t> strides;
  bool nullable = false;  // then `valid` has one byte a cell
  ArrayAddress valid;
  std::vector<int64_t> valid_strides;
};

// Writes the rows of a grid, in row-major order of its axes and only where the mask is 1, to a
// relation slot.
class GridRowsStep final : public Step {
 public:
  struct Mask {
    bool present = false;
    ArrayAddress address;
    std::vector<int64_t> strides;
  };
  GridRowsStep(std::vector<int64_t> extents, Mask mask, std::vector<GridRowsColumn> columns,
               Schema schema, int slot, std::string label);
  absl::Status Run(RunState& state) const override;
  std::string Describe() const override { return label_; }

 private:
  absl::StatusOr<ColumnRef> MakeColumn(const RunState& state, const GridRowsColumn& column,
                                       const std::vector<int64_t>* kept, int64_t rows) const;
  std::vector<int64_t> extents_;
  Mask mask_;
  std::vector<GridRowsColumn> columns_;
  Schema schema_;
  size_t slot_;
  std::string label_;
};

}  // namespace adjoin
