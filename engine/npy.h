// NumPy's NPY files as grid tables: an integer column per axis, from 0, and a value column.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/table.h"

namespace adjoin {

// Reads versions 1 to 3, little-endian b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8, in C or Fortran order. The
// axes are the dims of `schema` in key order (without a key: all columns but the last), the value
// is the other column; rows are in C order. Integers convert to any number type they fit (22003),
// f4 and f8 to each other (22003 on overflow), the rest to their own kind only (42804). A 0-d array
// has one row. 22P04: the file is no NPY file, or is cut short, or has other axes.
absl::StatusOr<TableRef> ReadNpy(const std::string& path, const Schema& schema,
                                 std::shared_ptr<MemoryBudget> budget);

// Writes version 1, C order, the value's own type. A table without a key is taken to have all
// columns but the last as dims. 22023 with the reason where the rows are no grid from 0, there is
// not one value column, it has NULLs or is TEXT. `path` is replaced as a whole or, on any error,
// left as it was.
absl::Status WriteNpy(const Table& table, const std::string& path,
                      std::shared_ptr<MemoryBudget> budget);

}  // namespace adjoin
