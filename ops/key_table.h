// Dense ids for keys of any types: the hash table under joins, group-bys, DISTINCT and
// contractions.
//
// A key is normalised to a few 64-bit words (NaN is one value, -0 is 0, text is the code of an
// interned string), so that comparing is comparing words. One integer key in a small range is
// looked up in an array instead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/column.h"
#include "ops/arena.h"
#include "ops/code_tables.h"
#include "ops/vector.h"

namespace adjoin {

// The ids in a TextTable of the strings of one column's dictionary.
struct TextIds {
  std::shared_ptr<const Dictionary> dictionary;
  std::vector<int32_t> ids;  // by code; -1 where not found so far
};

// Buffers that a lookup needs. One a thread, and one a table.
struct KeyScratch {
  std::vector<uint64_t> words;  // word-major
  std::vector<uint64_t> hashes;
  std::vector<uint8_t> absent;  // Find: rows with text or intervals that the table has never seen
  std::vector<uint64_t> nulls;  // bit k of row r: key k is NULL
  std::vector<TextIds> texts;   // by TEXT key
};

class KeyTable {
 public:
  // `nullable` false: the caller never hands in NULLs.
  explicit KeyTable(std::vector<TypeId> types, bool nullable = true);

  // ids[r] = id of row r's key, from 0 in first-seen order; NULLs are equal. Not thread-safe.
  void FindOrAdd(std::span<const Vector> keys, int64_t n, int64_t* ids);
  // The same without adding; -1 where absent. Thread-safe with a scratch of one's own, while nobody
  // adds.
  void Find(std::span<const Vector> keys, int64_t n, int64_t* ids, KeyScratch& scratch) const;

  int64_t size() const { return size_; }
  int num_keys() const { return static_cast<int>(fields_.size()); }
  // Values of key k of ids [begin, begin + n); text is views that live as long as the table.
  Vector Key(int k, int64_t begin, int64_t n, BatchArena& arena) const;

 private:
  struct Field {
    TypeId type;
    int word, shift, bits;
    int null_word = -1, null_shift = 0;  // where the NULL flag is; -1: not kept
    int table = -1;                      // in texts_ or intervals_, by the type
  };
  void PlaceFields(const std::vector<TypeId>& types, bool nullable);
  // `self` is this table, to be changed only where kAdd.
  template <bool kAdd, typename Self>
  static void Encode(Self& self, std::span<const Vector> keys, int64_t n, KeyScratch& scratch);
  bool CoverDense(const uint64_t* words, const uint64_t* nulls, int64_t n);
  void LeaveDense();
  void HashWords(int64_t n, KeyScratch& scratch) const;
  bool Equals(int64_t id, const KeyScratch& scratch, int64_t row, int64_t n) const;
  void AddHashed(int64_t n, int64_t* ids);
  void AddDense(int64_t n, int64_t* ids);
  int64_t Append(const KeyScratch& scratch, int64_t row, int64_t n);
  void Grow(int64_t least);

  std::vector<Field> fields_;
  int num_words_ = 0;
  bool null_apart_ = false;  // one 64-bit key: its NULL has an id of its own
  int64_t null_id_ = -1;
  int64_t size_ = 0;
  std::vector<uint64_t> stored_;  // num_words_ an id
  std::vector<uint64_t> slots_;   // hash << 32 | id + 1; 0 is empty
  std::vector<TextTable> texts_;
  std::vector<IntervalTable> intervals_;
  bool dense_possible_ = false;
  int64_t dense_first_ = 0;     // the key of dense_[0]
  std::vector<int32_t> dense_;  // id + 1
  KeyScratch scratch_;
};

}  // namespace adjoin
