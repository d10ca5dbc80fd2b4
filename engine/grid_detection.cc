#include "engine/grid_detection.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/status.h"

namespace adjoin {
namespace {

// A box of at most this many cells a row is checked for duplicates by a byte a cell instead of a
// hash table, which takes 24 to 40 bytes a row.
constexpr int64_t kCellsPerRow = 16;

// Calls f with the column's values as T*, for the integer type T.
template <typename F>
auto WithIntegers(const Column& column, F f) {
  switch (column.type()) {
    case TypeId::kInt16:
      return f(column.values<int16_t>());
    case TypeId::kInt32:
      return f(column.values<int32_t>());
    default:
      return f(column.values<int64_t>());
  }
}

int64_t At(const Column& column, int64_t row) {
  return WithIntegers(column,
                      [row](const auto* values) { return static_cast<int64_t>(values[row]); });
}

// Sets extent = last - first + 1; false where it is not positive or too large to hold.
bool SetExtent(int64_t first, int64_t last, int64_t& extent) {
  return !__builtin_sub_overflow(last, first, &extent) &&
         !__builtin_add_overflow(extent, 1, &extent) && extent > 0;
}

// Whether the values are `extent` runs of `stride` equal numbers origin, origin + 1, ..., over and
// over.
template <typename T>
bool IsAxis(const T* values, int64_t n, int64_t origin, int64_t extent, int64_t stride) {
  for (int64_t row = 0; row < n;) {
    for (int64_t x = 0; x < extent; ++x, row += stride) {
      const T expected = static_cast<T>(origin + x);
      int different = 0;
      for (int64_t i = row; i < row + stride; ++i) different |= values[i] != expected;
      if (different != 0) return false;
    }
  }
  return true;
}

// The innermost axis has runs of one: compare against a counter, a run at a time.
template <typename T>
bool IsInnermostAxis(const T* values, int64_t n, int64_t origin, int64_t extent) {
  for (int64_t row = 0; row < n; row += extent) {
    int different = 0;
    for (int64_t x = 0; x < extent; ++x) different |= values[row + x] != static_cast<T>(origin + x);
    if (different != 0) return false;
  }
  return true;
}

// The grid from the first row's key to the last row's, where the rows are that grid in its order.
std::optional<GridShape> InOrder(std::span<const ColumnRef> dims, int64_t n) {
  GridShape shape;
  for (const ColumnRef& dim : dims) {
    if (const Column::Coordinates* axis = dim->coordinates()) {
      shape.origins.push_back(axis->origin);
      shape.extents.push_back(axis->extent);
      continue;
    }
    int64_t extent = 0;
    if (!SetExtent(At(*dim, 0), At(*dim, n - 1), extent)) return std::nullopt;
    shape.origins.push_back(At(*dim, 0));
    shape.extents.push_back(extent);
  }
  if (CellsOf(shape) != n) return std::nullopt;
  int64_t stride = n;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t origin = shape.origins[d];
    const int64_t extent = shape.extents[d];
    stride /= extent;
    if (const Column::Coordinates* axis = dims[d]->coordinates()) {
      if (axis->inner != stride) return std::nullopt;
      continue;
    }
    const bool fits = WithIntegers(*dims[d], [&](const auto* values) {
      return stride == 1 ? IsInnermostAxis(values, n, origin, extent)
                         : IsAxis(values, n, origin, extent, stride);
    });
    if (!fits) return std::nullopt;
  }
  return shape;
}

}  // namespace

int64_t CellsOf(const GridShape& box) {
  int64_t cells = 1;
  for (int64_t extent : box.extents) {
    if (__builtin_mul_overflow(cells, extent, &cells)) return INT64_MAX;
  }
  return cells;
}

std::optional<GridShape> BoxOf(std::span<const ColumnRef> dims, int64_t num_rows) {
  GridShape box;
  for (const ColumnRef& dim : dims) {
    const auto [low, high] = WithIntegers(*dim, [num_rows](const auto* values) {
      auto least = values[0];
      auto most = values[0];
      for (int64_t i = 1; i < num_rows; ++i) {
        least = std::min(least, values[i]);
        most = std::max(most, values[i]);
      }
      return std::pair<int64_t, int64_t>(least, most);
    });
    int64_t extent = 0;
    if (!SetExtent(low, high, extent)) return std::nullopt;
    box.origins.push_back(low);
    box.extents.push_back(extent);
  }
  return box;
}

void FillCells(std::span<const ColumnRef> dims, const GridShape& box, int64_t num_rows,
               int64_t* cells) {
  std::fill_n(cells, num_rows, int64_t{0});
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t origin = box.origins[d];
    const int64_t extent = box.extents[d];
    WithIntegers(*dims[d], [&](const auto* values) {
      for (int64_t i = 0; i < num_rows; ++i) cells[i] = cells[i] * extent + (values[i] - origin);
    });
  }
}

absl::StatusOr<GridDetection> DetectGrid(std::span<const ColumnRef> dims, int64_t num_rows,
                                         const std::shared_ptr<MemoryBudget>& budget) {
  GridDetection result;
  const bool integers =
      std::ranges::all_of(dims, [](const ColumnRef& dim) { return IsInteger(dim->type()); });
  if (!integers || num_rows == 0) return result;
  if (result.shape = InOrder(dims, num_rows); result.shape.has_value()) {
    result.keys_checked = true;
    return result;
  }
  const std::optional<GridShape> box = BoxOf(dims, num_rows);
  if (!box.has_value() || CellsOf(*box) / kCellsPerRow > num_rows) return result;

  ADJOIN_ASSIGN_OR_RETURN(const auto cell_buffer, Buffer::Allocate(num_rows * 8, budget));
  ADJOIN_ASSIGN_OR_RETURN(const auto taken_buffer, Buffer::Allocate(CellsOf(*box), budget));
  int64_t* cells = cell_buffer->mutable_as<int64_t>();
  uint8_t* taken = taken_buffer->mutable_as<uint8_t>();
  FillCells(dims, *box, num_rows, cells);
  std::memset(taken, 0, static_cast<size_t>(taken_buffer->size()));
  result.keys_checked = true;
  for (int64_t row = 0; row < num_rows; ++row) {
    if (taken[cells[row]] != 0) {
      result.duplicate_row = row;
      return result;
    }
    taken[cells[row]] = 1;
  }
  if (CellsOf(*box) != num_rows) return result;

  ADJOIN_ASSIGN_OR_RETURN(auto order, Buffer::Allocate(num_rows * 8, budget));
  for (int64_t row = 0; row < num_rows; ++row) order->mutable_as<int64_t>()[cells[row]] = row;
  result.shape = box;
  result.row_order = std::move(order);
  return result;
}

}  // namespace adjoin
