#include "engine/table.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/grid_detection.h"
#include "engine/row_keys.h"
#include "engine/status.h"
#include "engine/table_version.h"
#include "engine/text.h"

namespace adjoin {
namespace {

std::string RowText(const std::vector<ColumnRef>& columns, int64_t row) {
  return absl::StrJoin(columns, ", ", [row](std::string* out, const ColumnRef& column) {
    absl::StrAppend(out,
                    column->is_null(row) ? "null" : ToText(column->value(row), column->type()));
  });
}

absl::Status CheckNotNull(const Schema& schema, const std::vector<ColumnRef>& columns,
                          int64_t num_rows, std::string_view name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool is_dim = std::ranges::find(schema.dims, static_cast<int>(i)) != schema.dims.end();
    if (!columns[i]->has_nulls() || !(schema.fields[i].not_null || is_dim)) continue;
    int64_t row = 0;
    while (row < num_rows && !columns[i]->is_null(row)) ++row;
    return SqlErrorWithDetail(
        sqlstate::kNotNullViolation,
        absl::StrCat("null value in column \"", schema.fields[i].name, "\" of relation \"",
                     ToAbsl(name), "\" violates not-null constraint"),
        absl::StrCat("Failing row contains (", RowText(columns, row), ")."));
  }
  return absl::OkStatus();
}

absl::Status DuplicateKey(const Schema& schema, const std::vector<ColumnRef>& dims, int64_t row,
                          std::string_view name) {
  const std::string names = absl::StrJoin(schema.dims, ", ", [&](std::string* out, int dim) {
    absl::StrAppend(out, schema.fields[static_cast<size_t>(dim)].name);
  });
  return SqlErrorWithDetail(
      sqlstate::kUniqueViolation,
      absl::StrCat("duplicate key value violates unique constraint \"", ToAbsl(name), "_pkey\""),
      absl::StrCat("Key (", names, ")=(", RowText(dims, row), ") already exists."));
}

template <typename T>
void GatherBytes(const void* from, const int64_t* rows, int64_t n, void* to) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = in[rows[i]];
}

// The rows of a column in another order: out[i] = in[rows[i]].
absl::StatusOr<ColumnRef> Permute(const Column& column, const int64_t* rows,
                                  const std::shared_ptr<MemoryBudget>& budget) {
  const int64_t n = column.length();
  ADJOIN_ASSIGN_OR_RETURN(auto values, Buffer::Allocate(n * WidthOf(column.type()), budget));
  switch (WidthOf(column.type())) {
    case 1:
      GatherBytes<uint8_t>(column.data(), rows, n, values->mutable_data());
      break;
    case 2:
      GatherBytes<uint16_t>(column.data(), rows, n, values->mutable_data());
      break;
    case 4:
      GatherBytes<uint32_t>(column.data(), rows, n, values->mutable_data());
      break;
    case 8:
      GatherBytes<uint64_t>(column.data(), rows, n, values->mutable_data());
      break;
    default:
      GatherBytes<Decimal>(column.data(), rows, n, values->mutable_data());
  }
  std::shared_ptr<Buffer> validity;
  if (column.has_nulls()) {
    ADJOIN_ASSIGN_OR_RETURN(validity, Buffer::Allocate((n + 7) / 8, budget));
    uint8_t* bits = validity->mutable_as<uint8_t>();
    std::memset(bits, 0, static_cast<size_t>(validity->size()));
    for (int64_t i = 0; i < n; ++i) {
      if (!column.is_null(rows[i]))
        bits[i >> 3] = static_cast<uint8_t>(bits[i >> 3] | (1 << (i & 7)));
    }
  }
  return std::make_shared<const Column>(column.type(), n, std::move(values), std::move(validity),
                                        column.dictionary());
}

}  // namespace

uint64_t NextTableVersion() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::string TypeText(const Field& field) {
  std::string text(TypeName(field.type));
  if (field.modifier.precision > 0)
    absl::StrAppend(&text, "(", field.modifier.precision, ",", field.modifier.scale, ")");
  return text;
}

int Schema::Find(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::vector<ColumnRef> Table::DimColumns() const {
  std::vector<ColumnRef> dims;
  for (int dim : schema_.dims) dims.push_back(column(dim));
  return dims;
}

absl::StatusOr<std::shared_ptr<const Table>> Table::Make(Schema schema,
                                                         std::vector<ColumnRef> columns,
                                                         int64_t num_rows,
                                                         std::shared_ptr<MemoryBudget> budget,
                                                         std::string_view name) {
  ADJOIN_DCHECK(schema.fields.size() == columns.size());
  ADJOIN_RETURN_IF_ERROR(CheckNotNull(schema, columns, num_rows, name));
  if (schema.dims.empty()) return MakeUnchecked(std::move(schema), std::move(columns), num_rows);

  std::vector<ColumnRef> dims;
  for (int dim : schema.dims) dims.push_back(columns[static_cast<size_t>(dim)]);
  ADJOIN_ASSIGN_OR_RETURN(GridDetection found, DetectGrid(dims, num_rows, budget));
  if (found.duplicate_row >= 0) return DuplicateKey(schema, dims, found.duplicate_row, name);
  if (!found.keys_checked) {
    ADJOIN_ASSIGN_OR_RETURN(const auto duplicate, FindDuplicateRow(dims, num_rows, budget));
    if (duplicate.has_value()) return DuplicateKey(schema, dims, *duplicate, name);
  }
  if (found.row_order != nullptr) {
    for (ColumnRef& column : columns) {
      ADJOIN_ASSIGN_OR_RETURN(column, Permute(*column, found.row_order->as<int64_t>(), budget));
    }
  }
  return WithComputedDims(
      MakeUnchecked(std::move(schema), std::move(columns), num_rows, std::move(found.shape)),
      budget);
}

std::shared_ptr<const Table> Table::WithComputedDims(std::shared_ptr<const Table> table,
                                                     const std::shared_ptr<MemoryBudget>& budget) {
  if (!table->grid_.has_value()) return table;
  const GridShape& grid = *table->grid_;
  std::vector<ColumnRef> columns = table->columns_;
  int64_t inner = table->num_rows_;
  for (size_t d = 0; d < grid.extents.size(); ++d) {
    inner /= std::max<int64_t>(grid.extents[d], 1);
    ColumnRef& column = columns[static_cast<size_t>(table->schema_.dims[d])];
    column = std::make_shared<const Column>(
        column->type(), table->num_rows_,
        Column::Coordinates{grid.origins[d], grid.extents[d], inner}, budget);
  }
  return MakeUnchecked(table->schema_, std::move(columns), table->num_rows_, grid);
}

std::shared_ptr<const Table> Table::MakeUnchecked(Schema schema, std::vector<ColumnRef> columns,
                                                  int64_t num_rows, std::optional<GridShape> grid) {
  ADJOIN_DCHECK(schema.fields.size() == columns.size());
  std::shared_ptr<Table> table(new Table());
  table->schema_ = std::move(schema);
  table->columns_ = std::move(columns);
  table->num_rows_ = num_rows;
  table->grid_ = std::move(grid);
  table->version_ = NextTableVersion();
  return table;
}

bool Table::IsUnique(const std::vector<int>& columns) const {
  const bool has_key = !schema_.dims.empty() && std::ranges::all_of(schema_.dims, [&](int dim) {
    return std::ranges::find(columns, dim) != columns.end();
  });
  if (has_key) return true;
  std::vector<ColumnRef> keys;
  for (int i : columns) keys.push_back(columns_[static_cast<size_t>(i)]);
  const auto duplicate = FindDuplicateRow(keys, num_rows_, std::make_shared<MemoryBudget>());
  // Out of memory is no proof of uniqueness.
  return duplicate.ok() && !duplicate->has_value();
}

}  // namespace adjoin
