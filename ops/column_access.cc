#include "ops/column_access.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/status.h"

namespace adjoin {
namespace {

// A dictionary of more strings is not kept for a column: who reads or exports it may look at all.
constexpr int64_t kMostEntriesARow = 4;

const uint8_t* ReadValidity(const Column& column, int64_t begin, int64_t n, BatchArena& arena) {
  if (!column.has_nulls()) return nullptr;
  const uint8_t* bits = column.validity_buffer()->as<uint8_t>();
  uint8_t* valid = arena.Make<uint8_t>(n);
  for (int64_t i = 0; i < n; ++i) valid[i] = (bits[(begin + i) >> 3] >> ((begin + i) & 7)) & 1;
  return valid;
}

// `outer`: rows may be -1; which are is not for a branch predictor.
template <typename T>
const T* TakeValues(const Column& column, const int64_t* rows, int64_t n, bool outer, T* out) {
  if (column.length() == 0) return std::fill_n(out, n, T{}), out;
  const T* from = column.values<T>();
  if (!outer) {
    for (int64_t i = 0; i < n; ++i) out[i] = from[rows[i]];
    return out;
  }
  for (int64_t i = 0; i < n; ++i) {
    const T value = from[std::max<int64_t>(rows[i], 0)];
    out[i] = rows[i] < 0 ? T{} : value;
  }
  return out;
}

}  // namespace

Vector ReadColumn(const Column& column, int64_t begin, int64_t n, BatchArena& arena) {
  Vector out{column.type(), nullptr, ReadValidity(column, begin, n, arena)};
  if (!column.is_stored() && n > 0) {  // dims of a grid: nothing that they take outlives the batch
    std::byte* values = arena.Make<std::byte>(n * VectorWidth(column.type()));
    column.Fill(begin, n, values);
    out.data = values;
    return out;
  }
  if (column.type() != TypeId::kText) {
    out.data = static_cast<const std::byte*>(column.data()) + begin * VectorWidth(column.type());
    return out;
  }
  out.codes = column.values<int32_t>() + begin, out.column = &column;
  return out;
}

Vector GatherColumn(const Column& column, const int64_t* rows, int64_t n, bool outer,
                    BatchArena& arena) {
  Vector out{column.type()};
  if (column.has_nulls() || outer) {
    uint8_t* valid = arena.Make<uint8_t>(n);
    for (int64_t i = 0; i < n; ++i) valid[i] = rows[i] >= 0 && !column.is_null(rows[i]) ? 1 : 0;
    out.valid = valid;
  }
  if (column.type() == TypeId::kText) {
    out.codes = TakeValues(column, rows, n, outer, arena.Make<int32_t>(n));
    out.column = &column;
    return out;
  }
  WithElementType(column.type(), [&](auto zero) {
    using T = decltype(zero);
    out.data = TakeValues(column, rows, n, outer, arena.Make<T>(n));
  });
  return out;
}

class FlatEvaluation {
 public:
  FlatEvaluation(const CompiledExpr& exprs, const Table& table, int64_t first, int64_t n,
                 const RunState& run, const PipelineOptions& options)
      : exprs_(exprs),
        table_(table),
        first_(first),
        rows_(n),
        run_(run),
        options_(options),
        columns_(exprs.num_outputs()) {}

  absl::StatusOr<std::vector<FlatColumn>> Run() {
    const int64_t rows = rows_;
    const int64_t blocks = (rows + options_.morsel_rows - 1) / options_.morsel_rows;
    for (int i = 0; i < exprs_.num_outputs(); ++i) {
      FlatColumn& column = columns_[i];
      column.vector_.type = exprs_.output_type(i);
      const int64_t width =
          (MayBeNull(i) ? 1 : 0) + (IsBorrowed(i) ? 0 : VectorWidth(column.vector_.type));
      column.charge_ = std::make_unique<BudgetCharge>(run_.budget);
      ADJOIN_RETURN_IF_ERROR(column.charge_->Add(rows * width));
      if (IsBorrowed(i)) {
        const Column& from = *table_.column(exprs_.output_input(i));
        column.vector_.data = from.values<std::byte>() + first_ * WidthOf(from.type());
      } else {
        column.data_.resize(static_cast<size_t>(rows * VectorWidth(column.vector_.type)),
                            std::byte{});
        column.vector_.data = column.data_.data();
        if (exprs_.output_input(i) >= 0) {  // text: its codes are there already
          column.vector_.column = table_.column(exprs_.output_input(i)).get();
          column.vector_.codes = column.vector_.column->values<int32_t>() + first_;
        }
      }
      if (MayBeNull(i)) column.valid_.assign(static_cast<size_t>(rows), 1);
      if (!IsMadeText(i)) continue;
      column.text_.resize(static_cast<size_t>(blocks));
      for (int64_t b = 0; b < blocks; ++b)
        column.text_charges_.push_back(std::make_unique<BudgetCharge>(run_.budget));
    }
    ADJOIN_RETURN_IF_ERROR(
        ForEachBlock(run_.pool, blocks, [&](int64_t block) { return RunBlock(block); }));
    for (FlatColumn& column : columns_) {
      if (column.valid_.empty()) continue;
      if (std::memchr(column.valid_.data(), 0, column.valid_.size()) != nullptr) {
        column.vector_.valid = column.valid_.data();
      } else {
        column.valid_ = {};
        column.charge_->Release(rows);
      }
    }
    return std::move(columns_);
  }

 private:
  bool IsBorrowed(int i) const {
    return exprs_.output_input(i) >= 0 && exprs_.output_type(i) != TypeId::kText;
  }

  bool IsMadeText(int i) const {
    return exprs_.output_input(i) < 0 && exprs_.output_type(i) == TypeId::kText;
  }
  bool MayBeNull(int i) const {
    const int input = exprs_.output_input(i);
    return input < 0 || table_.column(input)->has_nulls();
  }

  absl::Status RunBlock(int64_t block) {
    if (run_.control != nullptr) ADJOIN_RETURN_IF_ERROR(run_.control->Check());
    ExprScratch scratch;
    exprs_.Prepare(scratch, options_.batch_rows, run_.parameters);
    BatchArena arena;
    std::vector<Vector> inputs(static_cast<size_t>(table_.num_columns()));
    const int64_t end = std::min(rows_, (block + 1) * options_.morsel_rows);
    for (int64_t begin = block * options_.morsel_rows; begin < end; begin += options_.batch_rows) {
      const int64_t n = std::min(options_.batch_rows, end - begin);
      arena.Reset();
      for (int c : exprs_.input_columns())
        inputs[c] = ReadColumn(*table_.column(c), first_ + begin, n, arena);
      ADJOIN_RETURN_IF_ERROR(exprs_.Run(scratch, inputs, n));
      for (int i = 0; i < exprs_.num_outputs(); ++i)
        ADJOIN_RETURN_IF_ERROR(
            Store(i, WithViews(exprs_.output(scratch, i), n, arena), begin, n, block));
    }
    return absl::OkStatus();
  }

  absl::Status Store(int i, const Vector& from, int64_t begin, int64_t n, int64_t block) {
    FlatColumn& column = columns_[i];
    if (from.valid != nullptr)
      std::memcpy(column.valid_.data() + begin, from.valid, static_cast<size_t>(n));
    if (IsBorrowed(i)) return absl::OkStatus();
    const int64_t width = VectorWidth(from.type);
    std::memcpy(column.data_.data() + begin * width, from.data, static_cast<size_t>(n * width));
    if (!IsMadeText(i)) return absl::OkStatus();
    auto* text = reinterpret_cast<std::string_view*>(column.data_.data()) + begin;
    for (int64_t r = 0; r < n; ++r) {
      text[r] = from.is_null(r) ? std::string_view() : column.text_[block].Copy(text[r]);
    }
    return column.text_charges_[block]->GrowTo(column.text_[block].bytes());
  }

  const CompiledExpr& exprs_;
  const Table& table_;
  const int64_t first_, rows_;
  const RunState& run_;
  const PipelineOptions& options_;
  std::vector<FlatColumn> columns_;
};

absl::StatusOr<std::vector<FlatColumn>> EvaluateOverTable(const CompiledExpr& exprs,
                                                          const Table& table, const RunState& run,
                                                          const PipelineOptions& options) {
  return FlatEvaluation(exprs, table, 0, table.num_rows(), run, options).Run();
}

absl::StatusOr<std::vector<FlatColumn>> EvaluateOverRows(const CompiledExpr& exprs,
                                                         const Table& table, int64_t first,
                                                         int64_t n, const RunState& run,
                                                         const PipelineOptions& options) {
  return FlatEvaluation(exprs, table, first, n, run, options).Run();
}

std::vector<Vector> VectorsOf(const std::vector<FlatColumn>& columns) {
  std::vector<Vector> result;
  for (const FlatColumn& column : columns) result.push_back(column.vector());
  return result;
}

std::vector<Vector> SlicesOf(const std::vector<FlatColumn>& columns, int64_t begin) {
  std::vector<Vector> slices = VectorsOf(columns);
  for (Vector& slice : slices) slice = Slice(slice, begin);
  return slices;
}

// Room for four times as much: a chunk of a block grows from one batch to 64.
void ColumnChunk::Grow(int64_t bytes) {
  const size_t needed = data_.size() + static_cast<size_t>(bytes);
  if (needed > data_.capacity()) data_.reserve(std::max(needed, 4 * data_.size()));
}

void ColumnChunk::Append(const Vector& values, int64_t n) {
  if (values.valid != nullptr) {
    valid_.resize(static_cast<size_t>(length_), 1);
    valid_.insert(valid_.end(), values.valid, values.valid + n);
  } else if (!valid_.empty()) {
    valid_.resize(static_cast<size_t>(length_ + n), 1);
  }
  if (type_ == TypeId::kText) {
    AppendText(values, n);
  } else {
    const auto* bytes = values.as<std::byte>();
    Grow(n * VectorWidth(type_));
    data_.insert(data_.end(), bytes, bytes + n * VectorWidth(type_));
  }
  length_ += n;
}

int32_t ColumnChunk::Intern(std::string_view text) {
  // Views of one dictionary's entries come again and again from the same address.
  Recent& recent = recent_[(reinterpret_cast<uintptr_t>(text.data()) * 0x9E3779B97F4A7C15u) >> 54];
  if (recent.code >= 0 && recent.text == text.data() && dictionary_->at(recent.code) == text)
    return recent.code;
  recent = {text.data(), dictionary_->Intern(text)};
  return recent.code;
}

// Gives the codes so far to a dictionary of this chunk's own, of the strings that occur.
void ColumnChunk::LeaveBorrowed() {
  dictionary_ = std::make_unique<Dictionary>();
  recent_.resize(1024);
  if (borrowed_ == nullptr) return;
  std::vector<int32_t> map(static_cast<size_t>(borrowed_->size()), -1);
  auto* codes = reinterpret_cast<int32_t*>(data_.data());
  for (int64_t i = 0; i < length_; ++i) {
    if (!valid_.empty() && valid_[i] == 0) {
      codes[i] = 0;
      continue;
    }
    int32_t& code = map[codes[i]];
    if (code < 0) code = dictionary_->Intern(borrowed_->at(codes[i]));
    codes[i] = code;
  }
  borrowed_ = nullptr;
}

void ColumnChunk::AppendText(const Vector& values, int64_t n) {
  if (values.codes != nullptr && dictionary_ == nullptr) {
    if (length_ == 0) borrowed_ = values.column->dictionary();
    if (borrowed_ == values.column->dictionary()) {
      const auto* bytes = reinterpret_cast<const std::byte*>(values.codes);
      Grow(n * static_cast<int64_t>(sizeof(int32_t)));
      data_.insert(data_.end(), bytes, bytes + n * static_cast<int64_t>(sizeof(int32_t)));
      return;
    }
  }
  if (dictionary_ == nullptr) LeaveBorrowed();
  const size_t old = data_.size();
  data_.resize(old + static_cast<size_t>(n) * sizeof(int32_t));
  auto* codes = reinterpret_cast<int32_t*>(data_.data() + old);
  for (int64_t i = 0; i < n; ++i) {
    codes[i] = values.is_null(i) ? 0 : Intern(TextAt(values, i));
  }
}

void ColumnAssembler::Add(ColumnChunk chunk) {
  if (chunk.length() == 0) return;
  length_ += chunk.length();
  bytes_ += chunk.bytes();
  chunks_.push_back(std::move(chunk));
}

std::vector<ColumnChunk> ColumnAssembler::TakeChunks() {
  length_ = bytes_ = 0;
  return std::exchange(chunks_, {});
}

// The dictionary that all chunks have borrowed, where `rows` rows are worth keeping it; else null.
std::shared_ptr<const Dictionary> ColumnAssembler::BorrowedByAll(int64_t rows) const {
  if (chunks_.empty()) return nullptr;
  const std::shared_ptr<const Dictionary>& first = chunks_[0].borrowed_;
  for (const ColumnChunk& chunk : chunks_) {
    if (chunk.borrowed_ != first) return nullptr;
  }
  if (first == nullptr || first->size() == 0 || first->size() > kMostEntriesARow * rows)
    return nullptr;
  return first;
}

// Gives all chunks codes of one dictionary: the only chunk's own, or a new one.
absl::StatusOr<std::shared_ptr<const Dictionary>> ColumnAssembler::MergeText(
    const std::shared_ptr<MemoryBudget>& budget) {
  if (chunks_.size() == 1 && chunks_[0].dictionary_ != nullptr &&
      chunks_[0].dictionary_->size() > 0) {
    ADJOIN_RETURN_IF_ERROR(chunks_[0].dictionary_->ChargeTo(budget));
    return std::shared_ptr<const Dictionary>(std::move(chunks_[0].dictionary_));
  }
  auto merged = std::make_shared<Dictionary>();
  std::vector<std::vector<int32_t>> maps;
  for (ColumnChunk& chunk : chunks_) {
    if (chunk.dictionary_ == nullptr) chunk.LeaveBorrowed();
    std::vector<int32_t>& map = maps.emplace_back(1, 0);  // a chunk of NULLs alone has no entries
    map.resize(static_cast<size_t>(std::max(1, chunk.dictionary_->size())));
    for (int32_t c = 0; c < chunk.dictionary_->size(); ++c)
      map[c] = merged->Intern(chunk.dictionary_->at(c));
    ADJOIN_RETURN_IF_ERROR(merged->ChargeTo(budget));
  }
  for (size_t i = 0; i < maps.size(); ++i) {
    auto* codes = reinterpret_cast<int32_t*>(chunks_[i].data_.data());
    for (int64_t r = 0; r < chunks_[i].length_; ++r) codes[r] = maps[i][codes[r]];
  }
  if (merged->size() == 0) merged->Intern("");  // code 0 is under every NULL
  return std::shared_ptr<const Dictionary>(std::move(merged));
}

absl::StatusOr<std::shared_ptr<Buffer>> ColumnAssembler::Validity(
    const std::shared_ptr<MemoryBudget>& budget, int64_t skip, int64_t rows) const {
  const bool nulls = std::any_of(chunks_.begin(), chunks_.end(), [](const ColumnChunk& c) {
    return !c.valid_.empty() && std::memchr(c.valid_.data(), 0, c.valid_.size()) != nullptr;
  });
  if (!nulls) return std::shared_ptr<Buffer>();
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, Buffer::Allocate((rows + 7) / 8, budget));
  auto* bits = buffer->mutable_as<uint8_t>();
  std::memset(bits, 0, static_cast<size_t>((rows + 7) / 8));
  int64_t row = -skip;
  for (const ColumnChunk& chunk : chunks_) {
    for (int64_t i = 0; i < chunk.length_; ++i, ++row) {
      if (row < 0 || row >= rows) continue;
      if (chunk.valid_.empty() || chunk.valid_[i] != 0)
        bits[row >> 3] |= static_cast<uint8_t>(1 << (row & 7));
    }
  }
  return buffer;
}

absl::StatusOr<ColumnRef> ColumnAssembler::Finish(const std::shared_ptr<MemoryBudget>& budget,
                                                  int64_t skip, int64_t limit) {
  skip = std::min(skip, length_);
  const int64_t rows = limit < 0 ? length_ - skip : std::min(limit, length_ - skip);
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> validity, Validity(budget, skip, rows));
  const int64_t width = WidthOf(type_);
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> values, Buffer::Allocate(rows * width, budget));
  std::shared_ptr<const Dictionary> dictionary;
  if (type_ == TypeId::kText) {
    dictionary = BorrowedByAll(rows);
    if (dictionary == nullptr) {
      ADJOIN_ASSIGN_OR_RETURN(dictionary, MergeText(budget));
    }
  }
  auto* out = values->mutable_as<std::byte>();
  int64_t row = -skip;
  for (ColumnChunk& chunk : chunks_) {
    const int64_t first = std::max<int64_t>(0, -row);
    const int64_t last = std::min(chunk.length_, rows - row);
    if (first < last) {
      std::memcpy(out + (row + first) * width, chunk.data_.data() + first * width,
                  static_cast<size_t>((last - first) * width));
    }
    row += chunk.length_;
    chunk = ColumnChunk(type_);
  }
  chunks_.clear();
  length_ = bytes_ = 0;
  return std::make_shared<const Column>(type_, rows, std::move(values), std::move(validity),
                                        std::move(dictionary));
}

absl::StatusOr<std::shared_ptr<const Buffer>> MakeValidity(
    const uint8_t* valid, int64_t n, const std::shared_ptr<MemoryBudget>& budget) {
  if (n == 0 || std::memchr(valid, 0, static_cast<size_t>(n)) == nullptr)
    return std::shared_ptr<const Buffer>();
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, Buffer::Allocate((n + 7) / 8, budget));
  auto* bits = buffer->mutable_as<uint8_t>();
  const int64_t whole = n / 8;
  for (int64_t i = 0; i < whole; ++i) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, valid + 8 * i, 8);
    bits[i] = static_cast<uint8_t>((bytes * 0x0102040810204080) >> 56);  // byte k's bit to bit k
  }
  if (n % 8 != 0) bits[whole] = 0;
  for (int64_t i = 8 * whole; i < n; ++i) bits[whole] |= static_cast<uint8_t>(valid[i] << (i & 7));
  return buffer;
}

absl::StatusOr<ColumnRef> MakeColumn(TypeId type, std::shared_ptr<Buffer> values,
                                     const uint8_t* valid, int64_t n,
                                     const std::shared_ptr<MemoryBudget>& budget,
                                     std::shared_ptr<const Dictionary> dictionary) {
  std::shared_ptr<const Buffer> validity;
  if (valid != nullptr) {
    ADJOIN_ASSIGN_OR_RETURN(validity, MakeValidity(valid, n, budget));
  }
  return std::make_shared<const Column>(type, n, std::move(values), std::move(validity),
                                        std::move(dictionary));
}

absl::StatusOr<ColumnRef> MakeColumn(const Vector& values, int64_t n,
                                     const std::shared_ptr<MemoryBudget>& budget) {
  if (values.type != TypeId::kText) {
    const int64_t bytes = n * VectorWidth(values.type);
    ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> data, Buffer::Allocate(bytes, budget));
    if (n > 0) std::memcpy(data->mutable_data(), values.data, static_cast<size_t>(bytes));
    return MakeColumn(values.type, std::move(data), values.valid, n, budget);
  }
  ColumnChunk chunk(values.type);
  chunk.Append(values, n);
  ColumnAssembler assembler(values.type);
  assembler.Add(std::move(chunk));
  return assembler.Finish(budget);
}

bool RowTaker::CanTake(const Column& column, int64_t n) {
  return column.dictionary() == nullptr || column.dictionary()->size() <= kMostEntriesARow * n;
}

absl::StatusOr<RowTaker> RowTaker::Make(const Column& column, int64_t n, bool outer,
                                        const std::shared_ptr<MemoryBudget>& budget) {
  RowTaker taker;
  taker.column_ = &column;
  taker.rows_ = n;
  taker.outer_ = outer;
  ADJOIN_ASSIGN_OR_RETURN(taker.values_, Buffer::Allocate(n * WidthOf(column.type()), budget));
  if (column.has_nulls()) taker.valid_.resize(static_cast<size_t>(n));
  return taker;
}

void RowTaker::Take(std::span<const int64_t> rows, int64_t at) {
  const auto n = static_cast<int64_t>(rows.size());
  WithElementType(stored_type(), [&](auto zero) {
    using T = decltype(zero);
    TakeValues(*column_, rows.data(), n, outer_, values_->mutable_as<T>() + at);
  });
  for (int64_t i = 0; i < n && !valid_.empty(); ++i)
    valid_[at + i] = rows[i] >= 0 && !column_->is_null(rows[i]) ? 1 : 0;
}

void RowTaker::TakeAscending(int64_t first, std::span<const int32_t> rows, int64_t at) {
  const auto n = static_cast<int64_t>(rows.size());
  WithElementType(stored_type(), [&](auto zero) {
    using T = decltype(zero);
    TakeElements(column_->values<T>() + first, rows.data(), n, values_->mutable_as<T>() + at);
  });
  for (int64_t i = 0; i < n && !valid_.empty(); ++i)
    valid_[at + i] = column_->is_null(first + rows[i]) ? 0 : 1;
}

absl::StatusOr<ColumnRef> RowTaker::Finish(const std::shared_ptr<const Buffer>& present,
                                           const std::shared_ptr<MemoryBudget>& budget) {
  std::shared_ptr<const Dictionary> dictionary = column_->dictionary();
  if (dictionary != nullptr && dictionary->size() == 0) {  // code 0 is under every NULL
    auto filled = std::make_shared<Dictionary>();
    filled->Intern("");
    dictionary = std::move(filled);
  }
  std::shared_ptr<const Buffer> validity = present;
  if (!valid_.empty()) {
    ADJOIN_ASSIGN_OR_RETURN(validity, MakeValidity(valid_.data(), rows_, budget));
  }
  return std::make_shared<const Column>(column_->type(), rows_, std::move(values_),
                                        std::move(validity), std::move(dictionary));
}

absl::StatusOr<ColumnRef> TakeRows(const Column& column, std::span<const int64_t> rows,
                                   const std::shared_ptr<MemoryBudget>& budget) {
  const auto n = static_cast<int64_t>(rows.size());
  if (!RowTaker::CanTake(column, n)) {
    BatchArena arena;
    return MakeColumn(GatherColumn(column, rows.data(), n, /*outer=*/true, arena), n, budget);
  }
  const bool outer = std::any_of(rows.begin(), rows.end(), [](int64_t row) { return row < 0; });
  ADJOIN_ASSIGN_OR_RETURN(RowTaker taker, RowTaker::Make(column, n, outer, budget));
  taker.Take(rows, 0);
  std::shared_ptr<const Buffer> present;
  if (outer && !column.has_nulls()) {
    std::vector<uint8_t> is_there(rows.size());
    std::transform(rows.begin(), rows.end(), is_there.begin(),
                   [](int64_t row) -> uint8_t { return row >= 0 ? 1 : 0; });
    ADJOIN_ASSIGN_OR_RETURN(present, MakeValidity(is_there.data(), n, budget));
  }
  return taker.Finish(present, budget);
}

}  // namespace adjoin
