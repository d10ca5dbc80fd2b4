// Brings the rows that a program computed into the tables it writes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/catalog.h"
#include "plan/program.h"

namespace adjoin {

// Applies `writes`, all made on the tables as `writer` has them, and returns how many rows each one
// touched. A row that several writes of the statement name is changed by the first only, as in
// PostgreSQL. Keys and NOT NULL are checked on the outcome: 23505, 23502. On error some tables of
// `writer` may have changed already: discard it.
absl::StatusOr<std::vector<int64_t>> ApplyWrites(std::span<const TableWrite> writes,
                                                 CatalogWriter& writer,
                                                 const std::shared_ptr<MemoryBudget>& budget);

// `rows` (columns in table order) after the rows of `table`, with its schema and checks; `name` is
// for errors.
absl::StatusOr<TableRef> AppendRows(const TableRef& table, const std::vector<ColumnRef>& rows,
                                    int64_t num_rows, const std::shared_ptr<MemoryBudget>& budget,
                                    const std::string& name);

}  // namespace adjoin
