// Numbers for distinct values, from 0 in first-seen order, where a key's own bits do not say
// whether two are equal.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/date_time.h"
#include "engine/decimal.h"
#include "engine/large_vector.h"
#include "ops/arena.h"

namespace adjoin {

// Moves the slots (hash << 32 | id + 1; 0 is empty) of a table with linear probing to `size` ones,
// a power of two.
void Rehash(LargeVector<uint64_t>& slots, size_t size);

// Ids of strings, in first-seen order. Not thread-safe while adding; Find may run at once with
// Find.
class TextTable {
 public:
  // `borrows`: strings outlive the table and are not copied.
  explicit TextTable(bool borrows = false) : borrows_(borrows) {}
  int32_t FindOrAdd(std::string_view text);
  int32_t Find(std::string_view text) const;  // -1 where absent
  std::string_view at(int32_t code) const { return entries_[static_cast<size_t>(code)]; }
  int64_t bytes() const {  // of memory
    return static_cast<int64_t>(entries_.capacity() * sizeof(std::string_view) +
                                slots_.capacity() * sizeof(uint64_t)) +
           arena_.bytes();
  }

 private:
  struct Recent {
    const char* text = nullptr;
    int32_t code = -1;
  };
  size_t Slot(std::string_view text, uint32_t hash) const;
  void Grow();
  bool borrows_;
  std::vector<std::string_view> entries_;
  LargeVector<uint64_t> slots_;  // hash << 32 | code + 1; 0 is empty
  std::vector<Recent> recent_;   // codes by address, to be checked: views of one dictionary repeat
  TextArena arena_;
};

// Codes for distinct intervals, whose comparison takes more than 64 bits. Of equal ones (1 mon and
// 30 days) the first stays.
class IntervalTable {
 public:
  int32_t FindOrAdd(Interval value);
  int32_t Find(Interval value) const;  // -1 where absent
  Interval at(int32_t code) const { return entries_[static_cast<size_t>(code)]; }

 private:
  std::vector<Interval> entries_;
  absl::flat_hash_map<std::pair<uint64_t, int64_t>, int32_t> codes_;  // by span
};

// Codes for distinct NUMERICs. Of equal ones (1.1 and 1.10) the first stays.
class DecimalTable {
 public:
  int32_t FindOrAdd(Decimal value);
  int32_t Find(Decimal value) const;  // -1 where absent
  Decimal at(int32_t code) const { return entries_[static_cast<size_t>(code)]; }

 private:
  using Bits = std::pair<uint64_t, int64_t>;
  std::vector<Decimal> entries_;
  // By each form that was added, so that a column of one scale is not normalized row by row, and
  // by the one that all equal values share.
  absl::flat_hash_map<Bits, int32_t> codes_;
};

}  // namespace adjoin
