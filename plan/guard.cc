#include "plan/guard.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/grid_detection.h"
#include "engine/types.h"
#include "ops/vector.h"

namespace adjoin {
namespace {

using Kind = Guard::Kind;

const Table* Find(const TablesById& tables, uint64_t id) {
  const auto it = tables.find(id);
  return it == tables.end() ? nullptr : it->second.get();
}

// Calls f with the column's values, those of TEXT as codes. REQUIRES: integers or TEXT.
template <typename F>
auto WithKeys(const Column& column, F f) {
  switch (column.type()) {
    case TypeId::kInt16:
      return f(column.values<int16_t>());
    case TypeId::kInt32:
    case TypeId::kText:
      return f(column.values<int32_t>());
    default:
      return f(column.values<int64_t>());
  }
}

bool IsKey(const Column& column) {
  return (IsInteger(column.type()) || column.type() == TypeId::kText) && !column.has_nulls();
}

// Calls f with each column that the guard reads; false where a table is missing or f is false.
template <typename F>
bool AllRead(const Guard& guard, const TablesById& tables, F f) {
  if (guard.kind == Kind::kPositions) {
    const Table* keys = Find(tables, guard.keys.table_id);
    const Table* labels = Find(tables, guard.labels.table_id);
    return keys != nullptr && labels != nullptr && f(keys->column(guard.keys.column)) &&
           f(labels->column(guard.labels.column));
  }
  const Table* table = Find(tables, guard.table_id);
  if (table == nullptr) return false;
  if (guard.kind == Kind::kPairs)
    return f(table->column(guard.pairs.first)) && f(table->column(guard.pairs.second));
  if (guard.kind != Kind::kInRange && guard.kind != Kind::kCovers) {
    for (int d : table->schema().dims) {
      if (!f(table->column(d))) return false;
    }
  }
  return guard.kind == Kind::kPresent || guard.kind == Kind::kLabelled ||
         f(table->column(guard.column));
}

bool InRange(const Column& column, int64_t low, int64_t high) {
  if (column.has_nulls() || !IsInteger(column.type())) return false;
  return WithKeys(column, [&](const auto* values) {
    bool ok = true;
    for (int64_t i = 0; i < column.length(); ++i) ok &= values[i] >= low && values[i] < high;
    return ok;
  });
}

// REQUIRES: InRange.
bool Covers(const Column& column, int64_t low, int64_t high) {
  if (column.length() < high - low) return false;
  return WithKeys(column, [&](const auto* values) {
    std::vector<bool> there(static_cast<size_t>(high - low), false);
    for (int64_t i = 0; i < column.length(); ++i)
      there[static_cast<size_t>(values[i] - low)] = true;
    return std::find(there.begin(), there.end(), false) == there.end();
  });
}

bool AreIntegers(std::span<const ColumnRef> dims) {
  return std::ranges::all_of(dims, [](const ColumnRef& dim) { return IsInteger(dim->type()); });
}

bool Contains(const GridShape& box, const GridShape& other) {
  for (size_t d = 0; d < box.extents.size(); ++d) {
    if (other.origins[d] < box.origins[d] || other.extents[d] > box.extents[d]) return false;
    const uint64_t before =
        static_cast<uint64_t>(other.origins[d]) - static_cast<uint64_t>(box.origins[d]);
    if (before > static_cast<uint64_t>(box.extents[d] - other.extents[d])) return false;
  }
  return true;
}

// cells[r] = the cell of row r's key in the box; false where a row is not after the one before it.
// REQUIRES: the keys lie in the box.
bool OrderedCells(std::span<const ColumnRef> dims, const GridShape& box, int64_t num_rows,
                  std::vector<int64_t>& cells) {
  cells.resize(static_cast<size_t>(num_rows));
  FillCells(dims, box, num_rows, cells.data());
  return std::adjacent_find(cells.begin(), cells.end(), std::greater_equal<>()) == cells.end();
}

absl::StatusOr<ColumnRef> Computed(TypeId type, int64_t length,
                                   const std::shared_ptr<MemoryBudget>& budget,
                                   std::shared_ptr<Buffer>& values) {
  auto allocated = Buffer::Allocate(length * WidthOf(type), budget);
  if (!allocated.ok()) return allocated.status();
  values = *std::move(allocated);
  std::memset(values->mutable_data(), 0, static_cast<size_t>(values->size()));
  return std::make_shared<Column>(type, length, values, nullptr);
}

ColumnRef ComputeCells(const Guard& guard, const Table& table,
                       const std::shared_ptr<MemoryBudget>& budget) {
  const std::vector<ColumnRef> dims = table.DimColumns();
  const int64_t rows = table.num_rows();
  if (!AreIntegers(dims)) return nullptr;
  const auto around = rows == 0 ? std::nullopt : BoxOf(dims, rows);
  std::vector<int64_t> cells;
  if (rows > 0 &&
      (!around || !Contains(guard.shape, *around) || !OrderedCells(dims, guard.shape, rows, cells)))
    return nullptr;
  const bool present = guard.kind == Kind::kPresent;
  const Column* from = present ? nullptr : table.column(guard.column).get();
  if (from != nullptr && from->has_nulls()) return nullptr;
  const TypeId type = present ? TypeId::kBool : from->type();
  std::shared_ptr<Buffer> values;
  auto column = Computed(type, CellsOf(guard.shape), budget, values);
  if (!column.ok()) return nullptr;
  const auto scatter = [&](auto zero) {
    using T = decltype(zero);
    T* to = values->mutable_as<T>();
    for (size_t i = 0; i < cells.size(); ++i)
      to[cells[i]] = present ? T{1} : static_cast<const T*>(from->data())[i];
  };
  WithWidth(WidthOf(type), scatter);
  return *std::move(column);
}

// Fills positions[i] with where `labels` has value i of `keys`, both by `at`; false where it has it
// nowhere.
template <typename T, typename F>
bool FillPositions(const ColumnValues& keys, const ColumnValues& labels, const Column& key_column,
                   const Column& label_column, F at, int64_t* positions) {
  absl::flat_hash_map<T, int64_t> by_label;
  by_label.reserve(static_cast<size_t>(labels.count));
  for (int64_t i = 0; i < labels.count; ++i) by_label.emplace(at(label_column, i * labels.step), i);
  for (int64_t i = 0; i < keys.count; ++i) {
    const auto found = by_label.find(at(key_column, i * keys.step));
    if (found == by_label.end()) return false;
    positions[i] = found->second;
  }
  return true;
}

ColumnRef ComputePositions(const Guard& guard, const TablesById& tables,
                           const std::shared_ptr<MemoryBudget>& budget) {
  const ColumnValues &keys = guard.keys, &labels = guard.labels;
  const Column& key_column = *Find(tables, keys.table_id)->column(keys.column);
  const Column& label_column = *Find(tables, labels.table_id)->column(labels.column);
  const auto holds = [](const ColumnValues& values, const Column& column) {
    return IsKey(column) && (values.count - 1) * values.step < column.length();
  };
  const bool text = key_column.type() == TypeId::kText;
  if (!holds(keys, key_column) || !holds(labels, label_column) ||
      text != (label_column.type() == TypeId::kText)) {
    return nullptr;
  }
  std::shared_ptr<Buffer> values;
  auto column = Computed(TypeId::kInt64, keys.count, budget, values);
  if (!column.ok()) return nullptr;
  int64_t* positions = values->mutable_as<int64_t>();
  const auto integer_at = [](const Column& c, int64_t row) {
    return WithKeys(c, [row](const auto* v) { return static_cast<int64_t>(v[row]); });
  };
  const auto text_at = [](const Column& c, int64_t row) { return c.text(row); };
  const bool found =
      text ? FillPositions<std::string_view>(keys, labels, key_column, label_column, text_at,
                                             positions)
           : FillPositions<int64_t>(keys, labels, key_column, label_column, integer_at, positions);
  return found ? *std::move(column) : nullptr;
}

// Looks at the columns.
bool Check(const Guard& guard, const TablesById& tables, ColumnRef& computed,
           const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache) {
  if (guard.kind == Kind::kPositions) {
    computed = ComputePositions(guard, tables, budget);
    return computed != nullptr;
  }
  const Table& table = *Find(tables, guard.table_id);
  switch (guard.kind) {
    case Kind::kInRange:
      return InRange(*table.column(guard.column), guard.low, guard.high);
    case Kind::kCovers: {
      const Column& column = *table.column(guard.column);
      return InRange(column, guard.low, guard.high) && Covers(column, guard.low, guard.high);
    }
    case Kind::kLabelled: {
      const auto shape = LabelledShape(table.DimColumns(), table.num_rows());
      return shape.has_value() && *shape == guard.shape;
    }
    case Kind::kPairs: {
      const Guard::Pairs& p = guard.pairs;
      const auto list = PairList::Of(table.column(p.first), table.column(p.second), guard.low,
                                     guard.high, budget, cache);
      if (list == nullptr || !list->is_symmetric() || list->length() != p.length ||
          list->keeps_order() != p.keeps_order) {
        return false;
      }
      computed = list->part(p.part);
      return true;
    }
    default:
      computed = ComputeCells(guard, table, budget);
      return computed != nullptr;
  }
}

}  // namespace

bool Holds(const Guard& guard, const TablesById& tables, GuardState& state,
           const std::shared_ptr<MemoryBudget>& budget, ColumnCache* cache) {
  if (guard.kind < Kind::kInRange) {
    const Table* table = Find(tables, guard.table_id);
    if (table == nullptr) return false;
    if (guard.kind == Kind::kGrid) return table->grid() && *table->grid() == guard.shape;
    if (guard.kind == Kind::kNoNulls) return !table->column(guard.column)->has_nulls();
    return table->num_rows() == (guard.kind == Kind::kOneRow ? 1 : guard.shape.extents[0]);
  }
  size_t at = 0;
  if (AllRead(guard, tables, [&](const ColumnRef& column) {
        return at < state.seen.size() && state.seen[at++] == column;
      })) {
    return true;
  }
  GuardState now;
  const bool readable = AllRead(guard, tables, [&](const ColumnRef& column) {
    now.seen.push_back(column);
    return true;
  });
  if (!readable || !Check(guard, tables, now.computed, budget, cache)) return false;
  state = std::move(now);
  return true;
}

std::optional<GridShape> LabelledShape(std::span<const ColumnRef> dims, int64_t num_rows) {
  GridShape shape{std::vector<int64_t>(dims.size(), 0), std::vector<int64_t>(dims.size(), 1)};
  int64_t step = 1;  // rows from one value of the dim to the next
  for (size_t d = dims.size(); d-- > 0;) {
    const Column& dim = *dims[d];
    if (!IsKey(dim) || num_rows == 0) return std::nullopt;
    const bool text = dim.type() == TypeId::kText;
    const bool fits = WithKeys(dim, [&](const auto* values) {
      int64_t& extent = shape.extents[d];
      while (extent * step < num_rows && values[extent * step] != values[0]) ++extent;
      if (num_rows % (extent * step) != 0) return false;
      for (int64_t i = 0; !text && i < extent; ++i) {
        if (values[i * step] != values[0] + i) return false;
      }
      for (int64_t i = 0; i < num_rows; ++i) {
        if (values[i] != values[i / step % extent * step]) return false;
      }
      if (!text) shape.origins[d] = values[0];
      return true;
    });
    if (!fits) return std::nullopt;
    step *= shape.extents[d];
  }
  return step == num_rows && !dims.empty() ? std::optional(std::move(shape)) : std::nullopt;
}

std::optional<GridShape> OrderedBox(std::span<const ColumnRef> dims, int64_t num_rows,
                                    int64_t most_cells) {
  if (!AreIntegers(dims) || dims.empty() || num_rows == 0) return std::nullopt;
  auto box = BoxOf(dims, num_rows);
  std::vector<int64_t> cells;
  const bool ordered =
      box && CellsOf(*box) <= most_cells && OrderedCells(dims, *box, num_rows, cells);
  return ordered ? std::move(box) : std::nullopt;
}

}  // namespace adjoin
