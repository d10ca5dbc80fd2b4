// A few rows on their way through a pipeline.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel_table.h"
#include "ops/arena.h"
#include "ops/vector.h"

namespace adjoin {

// Borrows its vectors for the length of one call. At most PipelineOptions::batch_rows rows.
struct Batch {
  int64_t rows = 0;
  std::span<const Vector> columns;
  // The source's position of row 0 where the rows are consecutive rows of the source; -1 elsewhere.
  int64_t first_row = -1;
};

// The values of a vector from row `begin` on.
Vector Slice(const Vector& v, int64_t begin);

// The same TEXT with its strings as elements, which codes may stand for; other types as they are.
Vector WithViews(const Vector& v, int64_t n, BatchArena& arena);
// The string of a TEXT vector's row that is not NULL.
std::string_view TextAt(const Vector& v, int64_t row);

// The `n` values of `from` at `rows`, in memory of `arena`.
Vector Gather(const Vector& from, const int32_t* rows, int64_t n, BatchArena& arena);
// The same of rows that never fall, which are read by runs.
Vector Take(const Vector& from, const int32_t* rows, int64_t n, BatchArena& arena);

// out[i] = from[rows[i]] of rows that never fall.
template <typename T>
void TakeElements(const T* from, const int32_t* rows, int64_t n, T* out) {
  if constexpr (sizeof(T) == 4) {
    Kernels().take_4(from, rows, n, out);
  } else if constexpr (sizeof(T) == 8) {
    Kernels().take_8(from, rows, n, out);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = from[rows[i]];
  }
}

// Indices of rows where a BOOLEAN vector is TRUE (not NULL), ascending; returns how many.
int64_t SelectTrue(const Vector& condition, int64_t n, int32_t* rows);

}  // namespace adjoin
