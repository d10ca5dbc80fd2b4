#include "ops/grid_rows.h"

#include <cstring>
#include <utility>

#include "engine/status.h"
#include "ops/vector.h"

namespace adjoin {
namespace {

// Offsets of one array at successive cells of a grid.
class Walk {
 public:
  Walk(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides)
      : extents_(extents), strides_(strides), index_(extents.size(), 0) {}
  int64_t offset() const { return offset_; }
  void Next() {
    for (size_t d = extents_.size(); d-- > 0;) {
      offset_ += strides_[d];
      if (++index_[d] < extents_[d]) return;
      offset_ -= strides_[d] * extents_[d];
      index_[d] = 0;
    }
  }
  int64_t At(int64_t cell) const {
    int64_t offset = 0;
    for (size_t d = extents_.size(); d-- > 0;) {
      offset += cell % extents_[d] * strides_[d];
      cell /= extents_[d];
    }
    return offset;
  }

 private:
  const std::vector<int64_t>& extents_;
  const std::vector<int64_t>& strides_;
  std::vector<int64_t> index_;
  int64_t offset_ = 0;
};

bool IsDense(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  int64_t step = 1;
  for (size_t d = extents.size(); d-- > 0; step *= extents[d]) {
    if (extents[d] != 1 && strides[d] != step) return false;
  }
  return true;
}

// Calls f(row, offset) for every row kept.
template <typename F>
void ForEachRow(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides,
                const std::vector<int64_t>* kept, int64_t rows, F&& f) {
  Walk walk(extents, strides);
  for (int64_t row = 0; row < rows; ++row) {
    if (kept != nullptr) {
      f(row, walk.At((*kept)[static_cast<size_t>(row)]));
    } else {
      f(row, walk.offset());
      walk.Next();
    }
  }
}

}  // namespace

GridRowsStep::GridRowsStep(std::vector<int64_t> extents, Mask mask,
                           std::vector<GridRowsColumn> columns, Schema schema, int slot,
                           std::string label)
    : extents_(std::move(extents)),
      mask_(std::move(mask)),
      columns_(std::move(columns)),
      schema_(std::move(schema)),
      slot_(static_cast<size_t>(slot)),
      label_(std::move(label)) {}

absl::StatusOr<ColumnRef> GridRowsStep::MakeColumn(const RunState& state,
                                                   const GridRowsColumn& column,
                                                   const std::vector<int64_t>* kept,
                                                   int64_t rows) const {
  if (column.axis >= 0 && kept == nullptr && !column.nullable) {
    const auto axis = static_cast<size_t>(column.axis);
    int64_t inner = 1;
    for (size_t a = axis + 1; a < extents_.size(); ++a) inner *= extents_[a];
    return std::make_shared<const Column>(
        column.type, rows, Column::Coordinates{column.origin, extents_[axis], inner}, state.budget);
  }
  const auto base = static_cast<size_t>(column.address.base);
  const bool as_it_lies =
      column.axis < 0 && !column.nullable && kept == nullptr && IsDense(extents_, column.strides);
  if (as_it_lies && base < state.results.size() && state.results[base] != nullptr)
    return std::make_shared<const Column>(column.type, rows, state.results[base], nullptr);
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> values,
                          Buffer::Allocate(rows * WidthOf(column.type), state.budget));
  std::vector<int64_t> coordinate(extents_.size(), 0);
  if (column.axis >= 0) coordinate[static_cast<size_t>(column.axis)] = 1;
  WithElementType(column.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_arithmetic_v<T>) {
      ADJOIN_DCHECK(false);  // IsArrayType
    } else {
      T* out = values->mutable_as<T>();
      if (column.axis >= 0) {
        ForEachRow(extents_, coordinate, kept, rows,
                   [&](int64_t row, int64_t at) { out[row] = static_cast<T>(column.origin + at); });
      } else {
        const T* in = reinterpret_cast<const T*>(column.address.In(state));
        ForEachRow(extents_, column.strides, kept, rows,
                   [&](int64_t row, int64_t at) { out[row] = in[at]; });
      }
    }
  });
  std::shared_ptr<Buffer> validity;
  if (column.nullable) {
    ADJOIN_ASSIGN_OR_RETURN(validity, Buffer::Allocate((rows + 7) / 8, state.budget));
    uint8_t* bits = validity->mutable_as<uint8_t>();
    std::memset(bits, 0, static_cast<size_t>((rows + 7) / 8));
    const auto* in = reinterpret_cast<const uint8_t*>(column.valid.In(state));
    ForEachRow(extents_, column.valid_strides, kept, rows, [&](int64_t row, int64_t at) {
      if (in[at] != 0) bits[row >> 3] = static_cast<uint8_t>(bits[row >> 3] | (1 << (row & 7)));
    });
  }
  return std::make_shared<Column>(column.type, rows, std::move(values), std::move(validity));
}

absl::Status GridRowsStep::Run(RunState& state) const {
  int64_t cells = 1;
  for (int64_t e : extents_) cells *= e;
  std::vector<int64_t> kept;
  if (mask_.present) {
    const auto* mask = reinterpret_cast<const uint8_t*>(mask_.address.In(state));
    ForEachRow(extents_, mask_.strides, nullptr, cells, [&](int64_t cell, int64_t at) {
      if (mask[at] != 0) kept.push_back(cell);
    });
  }
  const int64_t rows = mask_.present ? static_cast<int64_t>(kept.size()) : cells;
  std::vector<ColumnRef> columns;
  for (const GridRowsColumn& column : columns_) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef made,
                            MakeColumn(state, column, mask_.present ? &kept : nullptr, rows));
    columns.push_back(std::move(made));
  }
  state.relations[slot_] = Table::MakeUnchecked(schema_, std::move(columns), rows);
  return absl::OkStatus();
}

}  // namespace adjoin
