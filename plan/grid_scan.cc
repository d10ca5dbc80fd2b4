// Tables as grids: a Grid table's dims are its axes. Others have axes with keys instead of
// coordinates, or are the present cells of a box.
#include <algorithm>
#include <utility>

#include "plan/grid.h"

namespace adjoin {
namespace {

std::vector<int> AllAxes(const std::vector<int64_t>& extents) {
  std::vector<int> axes;
  for (size_t a = 0; a < extents.size(); ++a) axes.push_back(static_cast<int>(a));
  return axes;
}

ArrayNode TableInput(uint64_t id, int column, TypeId type, const std::vector<int64_t>& shape) {
  ArrayNode n;
  n.op = ArrayOp::kInput;
  n.type = type;
  n.shape = shape;
  n.table_id = id;
  n.column = column;
  return n;
}

void SetCoordinate(GridColumn& column, int axis, int64_t origin) {
  column = {GridColumn::Kind::kCoordinate, column.type, axis, origin, {}, {}, {}, {}};
}

}  // namespace

int GridLowering::AddGuard(Guard guard) {
  const auto at = std::find(guards_.begin(), guards_.end(), guard);
  if (at != guards_.end()) return static_cast<int>(at - guards_.begin());
  GuardState state;
  if (!Holds(guard, tables_, state, budget_, cache_)) return -1;
  guards_.push_back(std::move(guard));
  guard_states_.push_back(std::move(state));
  return static_cast<int>(guards_.size()) - 1;
}

AxisArray GridLowering::ComputedInput(int guard, TypeId type, std::vector<int64_t> shape,
                                      std::vector<int> axes) {
  ArrayNode n;
  n.op = ArrayOp::kInput;
  n.type = type;
  n.shape = std::move(shape);
  n.guard = guard;
  return {graph_.Add(std::move(n)), std::move(axes)};
}

// Every column but the dims as an array of the table's own values.
GridRelation GridLowering::ScanColumns(uint64_t id, const Table& table,
                                       std::vector<int64_t> extents) {
  GridRelation out{std::move(extents), {}, {}};
  const std::vector<int>& dims = table.schema().dims;
  for (int i = 0; i < table.num_columns(); ++i) {
    GridColumn c;
    c.type = table.column(i)->type();
    if (IsArrayType(c.type) && std::find(dims.begin(), dims.end(), i) == dims.end()) {
      c.kind = GridColumn::Kind::kArray;
      c.value = {graph_.Add(TableInput(id, i, c.type, out.extents)), AllAxes(out.extents)};
      if (table.column(i)->has_nulls()) {
        ArrayNode n = TableInput(id, i, TypeId::kBool, out.extents);
        n.valid = true;
        c.valid = {graph_.Add(std::move(n)), AllAxes(out.extents)};
      } else {
        AddGuard({.kind = Guard::Kind::kNoNulls, .table_id = id, .column = i});
      }
    }
    out.columns.push_back(std::move(c));
  }
  return out;
}

// A table of one row and no dims is a grid of no axes.
GridLowering::Maybe GridLowering::LowerScan(const Node&, const Scan& s) {
  const auto it = tables_.find(s.table_id);
  if (it == tables_.end() || it->second->num_rows() == 0) return std::nullopt;
  const Table& table = *it->second;
  if (table.grid()) {
    const GridShape& shape = *table.grid();
    AddGuard({.kind = Guard::Kind::kGrid, .table_id = s.table_id, .shape = shape});
    GridRelation out = ScanColumns(s.table_id, table, shape.extents);
    for (size_t d = 0; d < shape.extents.size(); ++d) {
      SetCoordinate(out.columns[static_cast<size_t>(table.schema().dims[d])], static_cast<int>(d),
                    shape.origins[d]);
    }
    if (shape.extents.size() == 1) KeyByColumns(s.table_id, table, out);
    return out;
  }
  if (table.schema().dims.empty() && table.num_rows() == 1) {
    AddGuard({.kind = Guard::Kind::kOneRow, .table_id = s.table_id});
    return ScanColumns(s.table_id, table, {});
  }
  if (!sources_.keyed_tables) return std::nullopt;
  has_keyed_tables_ = true;
  return ScanKeyed(s.table_id, table);
}

// A list of pairs: groups by one of its columns are sums by position, where it has been looked up.
void GridLowering::KeyByColumns(uint64_t id, const Table& table, GridRelation& r) {
  for (int i = 0; i < table.num_columns(); ++i) {
    GridColumn& c = r.columns[static_cast<size_t>(i)];
    if (c.kind != GridColumn::Kind::kArray || !c.valid.none() || !IsInteger(c.type)) continue;
    c.key = {0, {id, i, table.num_rows(), 1}, {}};
  }
}

GridLowering::Maybe GridLowering::ScanKeyed(uint64_t id, const Table& table) {
  const std::vector<int>& dims = table.schema().dims;
  if (const auto shape = LabelledShape(table.DimColumns(), table.num_rows())) {
    AddGuard({.kind = Guard::Kind::kLabelled, .table_id = id, .shape = *shape});
    GridRelation out = ScanColumns(id, table, shape->extents);
    int64_t step = table.num_rows();
    for (size_t d = 0; d < dims.size(); ++d) {
      GridColumn& column = out.columns[static_cast<size_t>(dims[d])];
      const int64_t extent = shape->extents[d];
      step /= extent;
      if (column.type == TypeId::kText) {
        column.key = {static_cast<int>(d), {id, dims[d], extent, step}, {dims[d]}};
      } else {
        SetCoordinate(column, static_cast<int>(d), shape->origins[d]);
      }
    }
    return out;
  }
  if (auto out = ScanBox(id, table)) return out;
  return ScanRows(id, table);
}

// The box around the keys, with the cells that have a row.
std::optional<GridRelation> GridLowering::ScanBox(uint64_t id, const Table& table) {
  // The MLP's images have 2 cells a row: a step takes 0.27 ms instead of 9.2 on Rows (gate_probe
  // time step.mlp).
  constexpr int64_t kMostCellsPerRow = 4;
  const auto box =
      OrderedBox(table.DimColumns(), table.num_rows(), kMostCellsPerRow * table.num_rows());
  if (!box) return std::nullopt;
  const std::vector<int> axes = AllAxes(box->extents);
  const auto computed = [&](Guard::Kind kind, int column, TypeId type) -> AxisArray {
    const int guard = AddGuard({.kind = kind, .table_id = id, .column = column, .shape = *box});
    return guard < 0 ? AxisArray{} : ComputedInput(guard, type, box->extents, axes);
  };
  GridRelation out{box->extents, computed(Guard::Kind::kPresent, -1, TypeId::kBool), {}};
  if (out.mask.none()) return std::nullopt;
  for (int i = 0; i < table.num_columns(); ++i) {
    GridColumn c;
    c.type = table.column(i)->type();
    const std::vector<int>& named = table.schema().dims;
    const auto dim = std::find(named.begin(), named.end(), i);
    if (dim != named.end()) {
      const auto d = static_cast<size_t>(dim - named.begin());
      SetCoordinate(c, static_cast<int>(d), box->origins[d]);
    } else if (IsArrayType(c.type)) {
      c.kind = GridColumn::Kind::kArray;
      c.value = computed(Guard::Kind::kDense, i, c.type);
      if (c.value.none()) return std::nullopt;
    }
    out.columns.push_back(std::move(c));
  }
  return out;
}

// One axis, the rows in their order, keyed by every column.
GridRelation GridLowering::ScanRows(uint64_t id, const Table& table) {
  const int64_t rows = table.num_rows();
  AddGuard({.kind = Guard::Kind::kRows, .table_id = id, .shape = {{0}, {rows}}});
  GridRelation out = ScanColumns(id, table, {rows});
  const std::vector<int>& dims = table.schema().dims;
  for (int i = 0; i < table.num_columns(); ++i) {
    GridColumn& c = out.columns[static_cast<size_t>(i)];
    const bool is_dim = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (is_dim && IsArrayType(c.type)) {
      c.kind = GridColumn::Kind::kArray;
      c.value = {graph_.Add(TableInput(id, i, c.type, {rows})), {0}};
    }
    if (!IsInteger(c.type) && c.type != TypeId::kText) continue;
    if (AddGuard({.kind = Guard::Kind::kNoNulls, .table_id = id, .column = i}) < 0) continue;
    c.key = {0, {id, i, rows, 1}, is_dim ? dims : std::vector<int>{}};
  }
  return out;
}

}  // namespace adjoin
