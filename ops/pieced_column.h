// A column that several threads put together of pieces that know their places.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/buffer.h"
#include "engine/column.h"
#include "ops/column_access.h"
#include "ops/vector.h"

namespace adjoin {

class PiecedColumn {
 public:
  // Of `n` values in so many pieces. `dictionary`: that all text is codes of; null: text may be of
  // any, and is put together by Finish.
  static absl::StatusOr<std::unique_ptr<PiecedColumn>> Make(
      TypeId type, std::shared_ptr<const Dictionary> dictionary, int64_t n, int64_t pieces,
      const std::shared_ptr<MemoryBudget>& budget);
  // Piece `piece` is the `n` values from `at` on. Thread-safe for different pieces.
  void Put(int64_t piece, int64_t at, const Vector& values, int64_t n);
  // After all pieces; the last call.
  absl::StatusOr<ColumnRef> Finish(const std::shared_ptr<MemoryBudget>& budget);

 private:
  PiecedColumn(TypeId type, std::shared_ptr<const Dictionary> dictionary, int64_t n)
      : type_(type), dictionary_(std::move(dictionary)), n_(n) {}
  const TypeId type_;
  const std::shared_ptr<const Dictionary> dictionary_;
  const int64_t n_;
  std::shared_ptr<Buffer> values_;   // null: chunks_ have them
  std::vector<ColumnChunk> chunks_;  // by piece
  std::once_flag has_nulls_;
  std::vector<uint8_t> valid_;  // empty: no NULLs so far
};

}  // namespace adjoin
