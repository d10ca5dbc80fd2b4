#include "ops/pieced_column.h"

#include <cstring>
#include <utility>

#include "engine/status.h"

namespace adjoin {

absl::StatusOr<std::unique_ptr<PiecedColumn>> PiecedColumn::Make(
    TypeId type, std::shared_ptr<const Dictionary> dictionary, int64_t n, int64_t pieces,
    const std::shared_ptr<MemoryBudget>& budget) {
  std::unique_ptr<PiecedColumn> column(new PiecedColumn(type, std::move(dictionary), n));
  const bool coded = column->dictionary_ != nullptr;
  if (type == TypeId::kText && !coded) {
    column->chunks_.reserve(static_cast<size_t>(pieces));
    for (int64_t p = 0; p < pieces; ++p) column->chunks_.emplace_back(type);
    return column;
  }
  const int64_t width = coded ? int64_t{sizeof(int32_t)} : VectorWidth(type);
  ADJOIN_ASSIGN_OR_RETURN(column->values_, Buffer::Allocate(n * width, budget));
  return column;
}

void PiecedColumn::Put(int64_t piece, int64_t at, const Vector& values, int64_t n) {
  if (values_ == nullptr) return chunks_[static_cast<size_t>(piece)].Append(values, n);
  const bool coded = dictionary_ != nullptr;
  const int64_t width = coded ? int64_t{sizeof(int32_t)} : VectorWidth(type_);
  const void* from = coded ? static_cast<const void*>(values.codes) : values.data;
  std::memcpy(values_->mutable_as<std::byte>() + at * width, from, static_cast<size_t>(n * width));
  if (values.valid == nullptr) return;
  std::call_once(has_nulls_, [&] { valid_.assign(static_cast<size_t>(n_), 1); });
  std::memcpy(valid_.data() + at, values.valid, static_cast<size_t>(n));
}

absl::StatusOr<ColumnRef> PiecedColumn::Finish(const std::shared_ptr<MemoryBudget>& budget) {
  if (values_ == nullptr) {
    ColumnAssembler assembler(type_);
    for (ColumnChunk& chunk : chunks_) assembler.Add(std::move(chunk));
    return assembler.Finish(budget);
  }
  return MakeColumn(type_, std::move(values_), valid_.empty() ? nullptr : valid_.data(), n_, budget,
                    dictionary_);
}

}  // namespace adjoin
