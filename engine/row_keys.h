// Whether rows repeat on some columns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "engine/column.h"

namespace adjoin {

// The first row that equals an earlier one on all `columns` (NULLs, and NaNs, equal each other; 0
// equals -0); no value where all `num_rows` differ. Without columns all rows are equal. O(rows);
// 53200 where its hash table passes the budget.
absl::StatusOr<std::optional<int64_t>> FindDuplicateRow(std::span<const ColumnRef> columns,
                                                        int64_t num_rows,
                                                        std::shared_ptr<MemoryBudget> budget);

}  // namespace adjoin
