#include "engine/row_keys.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/status.h"

namespace adjoin {
namespace {

constexpr uint64_t kNullKey = 0x9e3779b97f4a7c15;

// One word a value; equal values have equal words. A NULL's word may be another value's too, and so
// may an INTERVAL's or a NUMERIC's: SameRow looks again.
template <typename T>
uint64_t WordOf(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    const double wide = std::isnan(value) ? NAN : (value == 0 ? 0.0 : static_cast<double>(value));
    return std::bit_cast<uint64_t>(wide);
  } else if constexpr (std::is_same_v<T, Interval>) {
    const __int128 span = value.span();
    return static_cast<uint64_t>(span) ^ static_cast<uint64_t>(span >> 64);
  } else if constexpr (std::is_same_v<T, Decimal>) {
    const Decimal one = Normalized(value);
    return one.low ^ static_cast<uint64_t>(one.high);
  } else {
    return static_cast<uint64_t>(value);
  }
}

uint64_t WordAt(const Column& column, int64_t row) {
  switch (column.type()) {
    case TypeId::kBool:
      return WordOf(column.values<uint8_t>()[row]);
    case TypeId::kInt16:
      return WordOf(column.values<int16_t>()[row]);
    case TypeId::kInt32:
    case TypeId::kDate:
    case TypeId::kText:
      return WordOf(column.values<int32_t>()[row]);
    case TypeId::kInterval:
      return WordOf(column.values<Interval>()[row]);
    case TypeId::kDecimal:
      return WordOf(column.values<Decimal>()[row]);
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return WordOf(column.values<int64_t>()[row]);
    case TypeId::kFloat32:
      return WordOf(column.values<float>()[row]);
    case TypeId::kFloat64:
      return WordOf(column.values<double>()[row]);
  }
  return 0;
}

bool SameRow(std::span<const ColumnRef> columns, int64_t a, int64_t b) {
  for (const ColumnRef& column : columns) {
    if (column->is_null(a) != column->is_null(b)) return false;
    if (column->is_null(a)) continue;
    if (WordAt(*column, a) != WordAt(*column, b)) return false;
    if (column->type() == TypeId::kInterval &&
        column->values<Interval>()[a] != column->values<Interval>()[b])
      return false;
    if (column->type() == TypeId::kDecimal &&
        column->values<Decimal>()[a] != column->values<Decimal>()[b])
      return false;
  }
  return true;
}

// The finaliser of MurmurHash3.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

template <typename T>
void AddToHashes(const Column& column, int64_t n, uint64_t* hashes) {
  const T* values = column.values<T>();
  for (int64_t i = 0; i < n; ++i) {
    hashes[i] = Mix(hashes[i] + (column.is_null(i) ? kNullKey : WordOf(values[i])));
  }
}

void AddColumn(const Column& column, int64_t n, uint64_t* hashes) {
  switch (column.type()) {
    case TypeId::kBool:
      return AddToHashes<uint8_t>(column, n, hashes);
    case TypeId::kInt16:
      return AddToHashes<int16_t>(column, n, hashes);
    case TypeId::kInt32:
    case TypeId::kDate:
    case TypeId::kText:
      return AddToHashes<int32_t>(column, n, hashes);
    case TypeId::kInterval:
      return AddToHashes<Interval>(column, n, hashes);
    case TypeId::kDecimal:
      return AddToHashes<Decimal>(column, n, hashes);
    case TypeId::kInt64:
    case TypeId::kTimestamp:
      return AddToHashes<int64_t>(column, n, hashes);
    case TypeId::kFloat32:
      return AddToHashes<float>(column, n, hashes);
    case TypeId::kFloat64:
      return AddToHashes<double>(column, n, hashes);
  }
}

// Whether each row is above the one before it, in the order of their words: true for rows sorted by
// an integer key.
bool IsAscending(std::span<const ColumnRef> columns, int64_t n) {
  for (const ColumnRef& column : columns) {
    if (column->has_nulls() || !IsInteger(column->type())) return false;
  }
  for (int64_t row = 1; row < n; ++row) {
    int order = 0;
    for (const ColumnRef& column : columns) {
      const auto before = static_cast<int64_t>(WordAt(*column, row - 1));
      const auto here = static_cast<int64_t>(WordAt(*column, row));
      order = before < here ? 1 : (here < before ? -1 : 0);
      if (order != 0) break;
    }
    if (order <= 0) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> FindDuplicateRow(std::span<const ColumnRef> columns,
                                                        int64_t num_rows,
                                                        std::shared_ptr<MemoryBudget> budget) {
  if (num_rows < 2 || IsAscending(columns, num_rows)) return std::nullopt;
  if (columns.empty()) return 1;
  ADJOIN_ASSIGN_OR_RETURN(const auto hash_buffer, Buffer::Allocate(num_rows * 8, budget));
  uint64_t* hashes = hash_buffer->mutable_as<uint64_t>();
  std::fill_n(hashes, num_rows, uint64_t{0});
  for (const ColumnRef& column : columns) AddColumn(*column, num_rows, hashes);

  // Open addressing over row numbers, at most half full; -1 is a free slot.
  const auto slots = std::bit_ceil(static_cast<uint64_t>(num_rows) * 2);
  ADJOIN_ASSIGN_OR_RETURN(const auto slot_buffer,
                          Buffer::Allocate(static_cast<int64_t>(slots) * 8, budget));
  int64_t* rows = slot_buffer->mutable_as<int64_t>();
  std::fill_n(rows, slots, int64_t{-1});
  for (int64_t row = 0; row < num_rows; ++row) {
    uint64_t slot = hashes[row] & (slots - 1);
    while (rows[slot] >= 0) {
      if (hashes[rows[slot]] == hashes[row] && SameRow(columns, rows[slot], row)) return row;
      slot = (slot + 1) & (slots - 1);
    }
    rows[slot] = row;
  }
  return std::nullopt;
}

}  // namespace adjoin
