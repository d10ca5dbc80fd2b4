// From columns to vectors and back: how tables enter and leave batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/budget_charge.h"
#include "engine/column.h"
#include "engine/large_vector.h"
#include "engine/table.h"
#include "ops/batch.h"
#include "ops/expression.h"
#include "ops/pipeline.h"

namespace adjoin {

// Rows [begin, begin + n) of a column. Numbers are borrowed from it; text is codes alone.
Vector ReadColumn(const Column& column, int64_t begin, int64_t n, BatchArena& arena);

// The given rows of a column; where `outer`, row -1 is NULL. Text is codes alone.
Vector GatherColumn(const Column& column, const int64_t* rows, int64_t n, bool outer,
                    BatchArena& arena);

// Values of an expression over all rows of a table: one vector from row 0, with the memory it
// needs. Text that was computed is copied here; other text is views of the table's dictionaries, so
// the table must stay.
class FlatColumn {
 public:
  const Vector& vector() const { return vector_; }

 private:
  friend class FlatEvaluation;
  Vector vector_;
  std::unique_ptr<BudgetCharge> charge_;
  LargeVector<std::byte> data_;
  LargeVector<uint8_t> valid_;
  std::vector<TextArena> text_;  // one a block
  std::vector<std::unique_ptr<BudgetCharge>> text_charges_;
};

// Evaluates the expressions' outputs over a table, or `n` of its rows, by blocks on the run's pool.
absl::StatusOr<std::vector<FlatColumn>> EvaluateOverTable(const CompiledExpr& exprs,
                                                          const Table& table, const RunState& run,
                                                          const PipelineOptions& options);
absl::StatusOr<std::vector<FlatColumn>> EvaluateOverRows(const CompiledExpr& exprs,
                                                         const Table& table, int64_t first,
                                                         int64_t n, const RunState& run,
                                                         const PipelineOptions& options);
std::vector<Vector> VectorsOf(const std::vector<FlatColumn>& columns);
// The same from row `begin` on.
std::vector<Vector> SlicesOf(const std::vector<FlatColumn>& columns, int64_t begin);

// Collects values of one type in order, in chunks that others have filled, and makes a column of
// them.
class ColumnChunk {
 public:
  explicit ColumnChunk(TypeId type) : type_(type) {}
  void Append(const Vector& values, int64_t n);
  int64_t length() const { return length_; }
  int64_t bytes() const {  // of memory
    return static_cast<int64_t>(data_.size() + valid_.size()) +
           (dictionary_ == nullptr ? 0 : dictionary_->bytes());
  }
  TypeId type() const { return type_; }
  // The values, text as codes of dictionary(); one byte a row, null for no NULLs.
  const std::byte* data() const { return data_.data(); }
  const uint8_t* valid() const { return valid_.empty() ? nullptr : valid_.data(); }
  // Null where there is no text. Borrowed: it is some column's.
  const Dictionary* dictionary() const {
    return borrowed_ != nullptr ? borrowed_.get() : dictionary_.get();
  }
  const std::shared_ptr<const Dictionary>& borrowed_dictionary() const { return borrowed_; }

 private:
  friend class ColumnAssembler;
  void Grow(int64_t bytes);
  int32_t Intern(std::string_view text);
  void AppendText(const Vector& values, int64_t n);
  void LeaveBorrowed();
  struct Recent {
    const char* text = nullptr;
    int32_t code = -1;
  };
  TypeId type_;
  int64_t length_ = 0;
  std::vector<std::byte> data_;  // text: codes of dictionary_
  std::vector<uint8_t> valid_;   // empty: no NULLs so far
  std::unique_ptr<Dictionary> dictionary_;
  std::shared_ptr<const Dictionary> borrowed_;  // in its place while all text is from one column
  std::vector<Recent> recent_;                  // codes by address of the text, to be checked
};

class ColumnAssembler {
 public:
  explicit ColumnAssembler(TypeId type) : type_(type) {}
  void Add(ColumnChunk chunk);
  int64_t length() const { return length_; }
  int64_t bytes() const { return bytes_; }
  std::span<const ColumnChunk> chunks() const { return chunks_; }
  std::vector<ColumnChunk> TakeChunks();
  // The column; the chunks are freed, but stay after an error. `limit` >= 0: only that many rows
  // after `skip`.
  absl::StatusOr<ColumnRef> Finish(const std::shared_ptr<MemoryBudget>& budget, int64_t skip = 0,
                                   int64_t limit = -1);

 private:
  absl::StatusOr<std::shared_ptr<Buffer>> Validity(const std::shared_ptr<MemoryBudget>& budget,
                                                   int64_t skip, int64_t rows) const;
  std::shared_ptr<const Dictionary> BorrowedByAll(int64_t rows) const;
  absl::StatusOr<std::shared_ptr<const Dictionary>> MergeText(
      const std::shared_ptr<MemoryBudget>& budget);
  TypeId type_;
  int64_t length_ = 0;
  int64_t bytes_ = 0;
  std::vector<ColumnChunk> chunks_;
};

// A bit a row of the bytes, 0 or 1; null where all are 1.
absl::StatusOr<std::shared_ptr<const Buffer>> MakeValidity(
    const uint8_t* valid, int64_t n, const std::shared_ptr<MemoryBudget>& budget);

// A column of `n` elements. `valid`: a byte a row; null: no NULLs.
absl::StatusOr<ColumnRef> MakeColumn(TypeId type, std::shared_ptr<Buffer> values,
                                     const uint8_t* valid, int64_t n,
                                     const std::shared_ptr<MemoryBudget>& budget,
                                     std::shared_ptr<const Dictionary> dictionary = nullptr);

// A column of `n` values of a vector.
absl::StatusOr<ColumnRef> MakeColumn(const Vector& values, int64_t n,
                                     const std::shared_ptr<MemoryBudget>& budget);

// A column of rows of another that are taken piece by piece; pieces may be taken at once.
class RowTaker {
 public:
  // Whether a column of `n` rows of `column` keeps its dictionary, or it has none.
  static bool CanTake(const Column& column, int64_t n);
  // `outer`: rows may be -1, which stands for NULL. REQUIRES: CanTake.
  static absl::StatusOr<RowTaker> Make(const Column& column, int64_t n, bool outer,
                                       const std::shared_ptr<MemoryBudget>& budget);
  // Elements [at, at + rows.size()) are the given rows.
  void Take(std::span<const int64_t> rows, int64_t at);
  // The same of rows first + rows[i], which never fall. REQUIRES: not `outer`.
  void TakeAscending(int64_t first, std::span<const int32_t> rows, int64_t at);
  // The last call. `present`: MakeValidity of where rows were not -1, shared by the columns that
  // are taken by the same rows.
  absl::StatusOr<ColumnRef> Finish(const std::shared_ptr<const Buffer>& present,
                                   const std::shared_ptr<MemoryBudget>& budget);

 private:
  TypeId stored_type() const {
    return column_->type() == TypeId::kText ? TypeId::kInt32 : column_->type();
  }
  const Column* column_ = nullptr;
  int64_t rows_ = 0;
  bool outer_ = false;
  std::shared_ptr<Buffer> values_;
  std::vector<uint8_t> valid_;  // empty: the column has no NULLs
};

// The given rows (-1: NULL) of a column as a new column, with the same dictionary but for a few
// rows of many strings.
absl::StatusOr<ColumnRef> TakeRows(const Column& column, std::span<const int64_t> rows,
                                   const std::shared_ptr<MemoryBudget>& budget);

}  // namespace adjoin
