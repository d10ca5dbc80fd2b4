// Tables: a schema, columns, and the layout that the rows were found to have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/column.h"

namespace adjoin {

struct Field {
  std::string name;
  TypeId type;
  bool not_null = false;
  NumericModifier modifier = {};  // of NUMERIC(p, s)
  friend bool operator==(const Field&, const Field&) = default;
};

// As \d prints it: "numeric(12,2)", "bigint".
std::string TypeText(const Field& field);

// Columns in order, and which of them are the dims (PRIMARY KEY), in key order; no dims: rows have
// no key.
struct Schema {
  std::vector<Field> fields;
  std::vector<int> dims;
  int Find(std::string_view name) const;  // -1 where absent
  friend bool operator==(const Schema&, const Schema&) = default;
};

// The Grid layout: dim d runs from origins[d] over extents[d] consecutive integers, row-major in
// the order of Schema::dims, and every coordinate has exactly one row: row r is at unravel(r).
struct GridShape {
  std::vector<int64_t> origins;
  std::vector<int64_t> extents;
  friend bool operator==(const GridShape&, const GridShape&) = default;
};

// An immutable relation. Thread-safe. `columns` holds every column, dims too.
class Table {
 public:
  // Checks keys (23505 for a duplicate, 23502 for a NULL in a dim or NOT NULL column) and detects
  // the Grid layout: rows that form a grid in another order are sorted into it.
  static absl::StatusOr<std::shared_ptr<const Table>> Make(Schema schema,
                                                           std::vector<ColumnRef> columns,
                                                           int64_t num_rows,
                                                           std::shared_ptr<MemoryBudget> budget,
                                                           std::string_view name = "");
  // For intermediate results and value-only changes: trusts the caller about keys, order and
  // layout.
  static std::shared_ptr<const Table> MakeUnchecked(Schema schema, std::vector<ColumnRef> columns,
                                                    int64_t num_rows,
                                                    std::optional<GridShape> grid = std::nullopt);

  // The table; a Grid one with dims that are computed from its shape when they are first read, then
  // charged to `budget`.
  static std::shared_ptr<const Table> WithComputedDims(std::shared_ptr<const Table> table,
                                                       const std::shared_ptr<MemoryBudget>& budget);

  const Schema& schema() const { return schema_; }
  int64_t num_rows() const { return num_rows_; }
  int num_columns() const { return static_cast<int>(columns_.size()); }
  const ColumnRef& column(int i) const { return columns_[static_cast<size_t>(i)]; }
  std::vector<ColumnRef> DimColumns() const;  // in key order
  const std::vector<ColumnRef>& columns() const { return columns_; }
  const std::optional<GridShape>& grid() const { return grid_; }
  Value value(int64_t row, int column) const {
    return columns_[static_cast<size_t>(column)]->value(row);
  }

  // A number that no other table of this process has; equal versions mean equal contents.
  uint64_t version() const { return version_; }

  // Whether the named columns identify the rows (NULLs compare equal). Computed once per call;
  // O(rows).
  bool IsUnique(const std::vector<int>& columns) const;

 private:
  friend class TableReplacer;  // swaps a value column in place when nobody else looks
  Table() = default;
  Schema schema_;
  std::vector<ColumnRef> columns_;
  int64_t num_rows_ = 0;
  std::optional<GridShape> grid_;
  uint64_t version_ = 0;
};
using TableRef = std::shared_ptr<const Table>;

}  // namespace adjoin
