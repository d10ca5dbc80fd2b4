#include "engine/column.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/table_version.h"
#include "engine/text.h"

namespace adjoin {
namespace {

constexpr int64_t kMinCapacity = 64;

int64_t BitmapBytes(int64_t rows) { return (rows + 7) / 8; }

int64_t CountNulls(const uint8_t* bits, int64_t rows) {
  int64_t valid = 0;
  int64_t byte = 0;
  for (; byte + 8 <= rows / 8; byte += 8) {
    uint64_t word;
    std::memcpy(&word, bits + byte, sizeof(word));
    valid += std::popcount(word);
  }
  for (; byte < rows / 8; ++byte) valid += std::popcount(bits[byte]);
  if (rows % 8 != 0)
    valid += std::popcount(static_cast<unsigned>(bits[byte] & ((1 << (rows % 8)) - 1)));
  return rows - valid;
}

void SetBit(uint8_t* bits, int64_t i, bool on) {
  const auto mask = static_cast<uint8_t>(1 << (i & 7));
  bits[i >> 3] = static_cast<uint8_t>(on ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

template <typename T>
absl::Status StoreInteger(int64_t value, TypeId type, void* out) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
    return SqlError(sqlstate::kNumericOutOfRange,
                    absl::StrCat(ToAbsl(TypeName(type)), " out of range"));
  }
  *static_cast<T*>(out) = static_cast<T>(value);
  return absl::OkStatus();
}

double NumberOf(const Value& value) {
  return value.is_int() ? static_cast<double>(value.as_int()) : value.as_float();
}

// REQUIRES: not NULL, not TEXT.
absl::Status StoreElement(const Value& value, TypeId type, void* out) {
  switch (type) {
    case TypeId::kBool:
      *static_cast<uint8_t*>(out) = value.as_bool() ? 1 : 0;
      break;
    case TypeId::kInt16:
      return StoreInteger<int16_t>(value.as_int(), type, out);
    case TypeId::kInt32:
    case TypeId::kDate:
      return StoreInteger<int32_t>(value.as_int(), type, out);
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      *static_cast<int64_t*>(out) = value.as_int();
      break;
    case TypeId::kFloat32:
      *static_cast<float*>(out) = static_cast<float>(NumberOf(value));
      break;
    case TypeId::kFloat64:
      *static_cast<double*>(out) = NumberOf(value);
      break;
    case TypeId::kInterval:
      *static_cast<Interval*>(out) = value.as_interval();
      break;
    case TypeId::kDecimal:
      *static_cast<Decimal*>(out) = value.as_decimal();
      break;
    case TypeId::kText:
      break;
  }
  return absl::OkStatus();
}

template <typename T>
void FillCoordinates(const Column::Coordinates& c, int64_t first, int64_t n, T* out) {
  int64_t index = first / c.inner % c.extent;
  if (c.inner == 1) {
    for (T* const end = out + n; out < end; index = 0) {
      const int64_t run = std::min<int64_t>(c.extent - index, end - out);
      for (int64_t i = 0; i < run; ++i) *out++ = static_cast<T>(c.origin + index + i);
    }
    return;
  }
  int64_t left = c.inner - first % c.inner;
  for (T* const end = out + n; out < end; left = c.inner) {
    const int64_t run = std::min<int64_t>(left, end - out);
    out = std::fill_n(out, run, static_cast<T>(c.origin + index));
    index = index + 1 == c.extent ? 0 : index + 1;
  }
}

// A copy of the first `used` bytes in a buffer of `bytes`.
absl::StatusOr<std::shared_ptr<Buffer>> Resize(const std::shared_ptr<Buffer>& old, int64_t used,
                                               int64_t bytes,
                                               const std::shared_ptr<MemoryBudget>& budget) {
  ADJOIN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, Buffer::Allocate(bytes, budget));
  if (used > 0) std::memcpy(buffer->mutable_data(), old->data(), static_cast<size_t>(used));
  return buffer;
}

}  // namespace

const ColumnStatistics& Column::statistics() const {
  std::call_once(statistics_once_, [this] {
    statistics_ = std::make_unique<const ColumnStatistics>(ComputeStatistics(*this));
  });
  return *statistics_;
}

uint64_t Column::version() const {
  uint64_t known = version_.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const uint64_t own = NextTableVersion();
  return version_.compare_exchange_strong(known, own, std::memory_order_relaxed) ? own : known;
}

Dictionary::Dictionary(std::shared_ptr<const Buffer> letters, std::shared_ptr<const Buffer> offsets,
                       int32_t size)
    : size_(size), letters_(std::move(letters)), offsets_(std::move(offsets)) {}

int32_t Dictionary::Intern(std::string_view text) {
  // A string's object and pointer, its view, its place in the hash table.
  constexpr int64_t kBytesAnEntry = 96;
  if (const auto found = codes_.find(text); found != codes_.end()) return found->second;
  bytes_ += kBytesAnEntry + static_cast<int64_t>(text.size());
  storage_.push_back(std::make_unique<std::string>(text));
  const int32_t code = size_++;
  entries_.push_back(*storage_.back());
  codes_.emplace(entries_.back(), code);
  return code;
}

absl::Status Dictionary::ChargeTo(const std::shared_ptr<MemoryBudget>& budget) {
  if (charge_ == nullptr) charge_ = std::make_unique<BudgetCharge>(budget);
  return charge_->GrowTo(bytes_);
}

Column::Column(TypeId type, int64_t length, std::shared_ptr<const Buffer> values,
               std::shared_ptr<const Buffer> validity, std::shared_ptr<const Dictionary> dictionary)
    : type_(type),
      length_(length),
      null_count_(validity == nullptr ? 0 : CountNulls(validity->as<uint8_t>(), length)),
      data_(values->data()),
      values_(std::move(values)),
      validity_(std::move(validity)),
      dictionary_(std::move(dictionary)) {
  ADJOIN_DCHECK(values_ != nullptr && values_->size() >= length * WidthOf(type));
  ADJOIN_DCHECK(type != TypeId::kText || dictionary_ != nullptr);
}

Column::Column(TypeId type, int64_t length, Coordinates coordinates,
               std::shared_ptr<MemoryBudget> budget)
    : type_(type),
      length_(length),
      null_count_(0),
      data_(nullptr),
      computed_(std::make_unique<Computed>()) {
  ADJOIN_DCHECK(type == TypeId::kInt16 || type == TypeId::kInt32 || type == TypeId::kInt64);
  computed_->coordinates = coordinates;
  computed_->budget = std::move(budget);
}

const void* Column::Compute() const {
  if (computed_ == nullptr) return nullptr;  // an empty column of somebody else's memory
  std::call_once(computed_->once, [this] {
    auto buffer = Buffer::AllocateAnyway(length_ * WidthOf(type_), computed_->budget);
    Fill(0, length_, buffer->mutable_data());
    values_ = std::move(buffer);
    data_.store(values_->data(), std::memory_order_release);
  });
  return data_.load(std::memory_order_acquire);
}

void Column::Fill(int64_t first, int64_t n, void* out) const {
  const Coordinates& c = computed_->coordinates;
  switch (type_) {
    case TypeId::kInt16:
      return FillCoordinates(c, first, n, static_cast<int16_t*>(out));
    case TypeId::kInt32:
      return FillCoordinates(c, first, n, static_cast<int32_t*>(out));
    default:
      return FillCoordinates(c, first, n, static_cast<int64_t*>(out));
  }
}

Value Column::value(int64_t row) const {
  ADJOIN_DCHECK(row >= 0 && row < length_);
  if (is_null(row)) return Value();
  switch (type_) {
    case TypeId::kBool:
      return Value::Bool(values<uint8_t>()[row] != 0);
    case TypeId::kInt16:
      return Value::Int(values<int16_t>()[row]);
    case TypeId::kInt32:
    case TypeId::kDate:
      return Value::Int(values<int32_t>()[row]);
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return Value::Int(values<int64_t>()[row]);
    case TypeId::kFloat32:
      return Value::Float(values<float>()[row]);
    case TypeId::kFloat64:
      return Value::Float(values<double>()[row]);
    case TypeId::kText:
      return Value::Text(std::string(text(row)));
    case TypeId::kInterval:
      return Value::Of(values<Interval>()[row]);
    case TypeId::kDecimal:
      return Value::Of(values<Decimal>()[row]);
  }
  return Value();
}

ColumnBuilder::ColumnBuilder(TypeId type, std::shared_ptr<MemoryBudget> budget)
    : type_(type), budget_(std::move(budget)) {
  if (type_ == TypeId::kText) dictionary_ = std::make_shared<Dictionary>();
}

absl::Status ColumnBuilder::Grow(int64_t rows) {
  if (rows <= capacity_) return absl::OkStatus();
  const int64_t width = WidthOf(type_);
  ADJOIN_ASSIGN_OR_RETURN(values_, Resize(values_, length_ * width, rows * width, budget_));
  if (validity_ != nullptr) {
    ADJOIN_ASSIGN_OR_RETURN(validity_,
                            Resize(validity_, BitmapBytes(length_), BitmapBytes(rows), budget_));
  }
  capacity_ = rows;
  return dictionary_ == nullptr ? absl::OkStatus() : dictionary_->ChargeTo(budget_);
}

absl::Status ColumnBuilder::Reserve(int64_t rows) {
  if (rows <= capacity_) return absl::OkStatus();
  // Doubling keeps appends linear; a first reservation is taken at its word.
  return Grow(capacity_ == 0 ? std::max(rows, kMinCapacity) : std::max(rows, 2 * capacity_));
}

absl::Status ColumnBuilder::AppendNull() {
  ADJOIN_RETURN_IF_ERROR(Reserve(length_ + 1));
  if (validity_ == nullptr) {
    ADJOIN_ASSIGN_OR_RETURN(validity_, Buffer::Allocate(BitmapBytes(capacity_), budget_));
    std::memset(validity_->mutable_data(), 0xff, static_cast<size_t>(BitmapBytes(length_)));
  }
  const int64_t width = WidthOf(type_);
  std::memset(values_->mutable_as<char>() + length_ * width, 0, static_cast<size_t>(width));
  // A code that is always in the dictionary, so that readers may look it up before they look at the
  // validity.
  if (type_ == TypeId::kText) values_->mutable_as<int32_t>()[length_] = dictionary_->Intern("");
  SetBit(validity_->mutable_as<uint8_t>(), length_, false);
  ++length_;
  ++null_count_;
  return absl::OkStatus();
}

absl::Status ColumnBuilder::Append(const Value& value) {
  if (value.is_null()) return AppendNull();
  ADJOIN_RETURN_IF_ERROR(Reserve(length_ + 1));
  if (type_ == TypeId::kText) {
    values_->mutable_as<int32_t>()[length_] = dictionary_->Intern(value.as_text());
  } else {
    ADJOIN_RETURN_IF_ERROR(
        StoreElement(value, type_, values_->mutable_as<char>() + length_ * WidthOf(type_)));
  }
  if (validity_ != nullptr) SetBit(validity_->mutable_as<uint8_t>(), length_, true);
  ++length_;
  return absl::OkStatus();
}

absl::Status ColumnBuilder::AppendMany(const void* values, const uint8_t* valid, int64_t n) {
  if (n == 0) return absl::OkStatus();
  ADJOIN_RETURN_IF_ERROR(Reserve(length_ + n));
  const bool nulls = valid != nullptr && std::memchr(valid, 0, static_cast<size_t>(n)) != nullptr;
  if (nulls && validity_ == nullptr) {
    ADJOIN_ASSIGN_OR_RETURN(validity_, Buffer::Allocate(BitmapBytes(capacity_), budget_));
    std::memset(validity_->mutable_data(), 0xff, static_cast<size_t>(BitmapBytes(length_)));
  }
  if (type_ == TypeId::kText) {
    const auto* texts = static_cast<const std::string_view*>(values);
    int32_t* codes = values_->mutable_as<int32_t>() + length_;
    for (int64_t i = 0; i < n; ++i) {
      codes[i] =
          dictionary_->Intern(valid == nullptr || valid[i] != 0 ? texts[i] : std::string_view());
    }
    ADJOIN_RETURN_IF_ERROR(dictionary_->ChargeTo(budget_));
  } else {
    const int64_t width = WidthOf(type_);
    std::memcpy(values_->mutable_as<char>() + length_ * width, values,
                static_cast<size_t>(n * width));
  }
  if (validity_ != nullptr) {
    uint8_t* bits = validity_->mutable_as<uint8_t>();
    for (int64_t i = 0; i < n; ++i) {
      const bool is_valid = !nulls || valid[i] != 0;
      SetBit(bits, length_ + i, is_valid);
      null_count_ += is_valid ? 0 : 1;
    }
  }
  length_ += n;
  return absl::OkStatus();
}

absl::StatusOr<ColumnRef> ColumnBuilder::Finish() {
  if (values_ == nullptr) ADJOIN_RETURN_IF_ERROR(Grow(kMinCapacity));
  if (dictionary_ != nullptr) ADJOIN_RETURN_IF_ERROR(dictionary_->ChargeTo(budget_));
  if (null_count_ == 0) validity_ = nullptr;
  auto column = std::make_shared<const Column>(type_, length_, std::move(values_),
                                               std::move(validity_), std::move(dictionary_));
  *this = ColumnBuilder(type_, budget_);
  return column;
}

}  // namespace adjoin
