// Many keys into one KeyTable at once: rows are cut by a hash of their keys into parts, whose
// tables stay in a near cache while they grow and are built side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "engine/buffer.h"
#include "ops/key_table.h"
#include "ops/rows_by_id.h"

namespace adjoin {

// Rows from which parts pay on so many threads.
int64_t FewestPartitionedRows(int threads);

// Adds the keys of `n` rows but those that `valid_rows` (null: none) has a 0 for. Their ids in
// `table` are those of a part after those of the part before, in no order that anybody may rest on;
// nobody adds to the table afterwards. REQUIRES: table.size() is 0. Errors: 53200 where `budget`
// has no room for the rows' keys and the parts' tables, 8 bytes a row for what is returned apart;
// the table is not to be used then.
absl::StatusOr<NumberedRows> AddByParts(std::span<const Vector> keys, const uint8_t* valid_rows,
                                        int64_t n, TaskPool* pool,
                                        const std::shared_ptr<MemoryBudget>& budget,
                                        KeyTable& table);

}  // namespace adjoin
