// Dense ids for keys of any types: the hash table under joins, group-bys, DISTINCT and
// contractions.
//
// A key is packed into 64-bit words, so that comparing is comparing words: a field of just the bits
// that the values seen so far take, its value an integer's distance from the least one, the code of
// a text, or the bits of a float (NaN is one value, -0 is 0); NULL is one more value. Keys of one
// small word are looked up in an array, others in a hash table. Values that do not fit widen their
// field, and what is stored is packed anew.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/column.h"
#include "engine/large_vector.h"
#include "engine/task_pool.h"
#include "ops/arena.h"
#include "ops/code_tables.h"
#include "ops/vector.h"

namespace adjoin {

// What a lookup of a TEXT key needs.
struct TextScratch {
  // The ids in a TextTable of the strings of one column's dictionary.
  std::shared_ptr<const Dictionary> dictionary;
  std::vector<int32_t> ids;    // by code; -1 where absent, -2 where not looked up so far
  int64_t size = -1;           // of the table when they were
  std::vector<int32_t> batch;  // of a batch's rows; unspecified where NULL
};

// Buffers that a lookup needs. One a thread, and one a table.
struct KeyScratch {
  std::vector<uint64_t> words;  // word-major
  LargeVector<uint64_t> hashes;
  std::vector<uint8_t> absent;     // Find: rows with a value the table has never seen
  std::vector<TextScratch> texts;  // by key
  // Of look-ups by rank (ops/join_index.h).
  LargeVector<int32_t> rows;
  LargeVector<int64_t> found;
  LargeVector<uint32_t> at;
};

class KeyTable {
 public:
  explicit KeyTable(const std::vector<TypeId>& types);

  // ids[r] = id of row r's key, from 0 in first-seen order; NULLs are equal. Not thread-safe.
  void FindOrAdd(std::span<const Vector> keys, int64_t n, int64_t* ids);
  // The same without adding; -1 where absent. Thread-safe with a scratch of one's own, while nobody
  // adds.
  void Find(std::span<const Vector> keys, int64_t n, int64_t* ids, KeyScratch& scratch) const;

  // FindOrAdd of all keys of another table of the same types: the ids here, by id there.
  LargeVector<int64_t> AddAll(const KeyTable& other);

  // Keeps a TEXT key as codes of a column's dictionary, of distinct strings, for as long as all of
  // it comes from columns with that one: nothing is looked up by its letters, and Key has those
  // codes. REQUIRES: size() is 0, and nobody asks Find.
  void BorrowCodes() { borrows_ = true; }

  // Makes the fields wide enough for `n` keys that are to come, and takes an array for what will be
  // asked more often than it has keys. REQUIRES: size() is 0.
  void Expect(std::span<const Vector> keys, int64_t n);

  // Whether the keys of such `n` rows would be looked up in an array. REQUIRES: Expect(keys, n).
  bool ExpectsArray(std::span<const Vector> keys, int64_t n) const;

  // Takes the memory of `n` keys at once.
  void Reserve(int64_t n);

  // Gives back what finding keys takes: nothing is found or added any more.
  void Close() { array_ = {}, slots_ = {}; }

  int64_t size() const { return size_; }
  int64_t bytes() const;  // of memory
  int num_keys() const { return static_cast<int>(fields_.size()); }
  // The dictionary whose codes Key has of key k; null where it has views, or k is no text.
  std::shared_ptr<const Dictionary> BorrowedDictionary(int k) const {
    return texts_[static_cast<size_t>(k)].borrowed;
  }
  // Values of key k of ids [begin, begin + n); text is views that live as long as the table, or
  // borrowed codes alone.
  Vector Key(int k, int64_t begin, int64_t n, BatchArena& arena) const;

 private:
  // Where a key is in the words. *Ranged*: integers and codes, from `low` at 1, 0 for NULL. Others:
  // all bits of a value, with a bit for NULL elsewhere once there was one.
  struct Field {
    TypeId type;
    bool ranged;
    bool nullable = false;  // a batch came with a validity
    int64_t low = 0;
    int bits = 0;
    int word = 0, shift = 0;
    bool null_bit = false;
    int null_word = 0, null_shift = 0;
    uint64_t mask() const { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
  };
  // A key that is stored as codes: its table of strings, or a dictionary in its place and a column
  // without rows that has it; or a table of intervals or NUMERICs.
  struct Text {
    TextTable table;
    IntervalTable intervals;
    DecimalTable decimals;
    std::shared_ptr<const Dictionary> borrowed;
    ColumnRef column;
  };

  // The codes of a batch's key that has codes; Find marks absent ones.
  const int32_t* CodesToAdd(size_t k, const Vector& key, int64_t n);
  const int32_t* CodesToFind(size_t k, const Vector& key, int64_t n, KeyScratch& scratch) const;
  void LeaveBorrowed(size_t k);
  // Packs a batch's keys into words. Returns the first key with a value that its field cannot hold,
  // or -1; where `absent` is not null, all keys are packed and such rows are marked in it.
  int Pack(std::span<const Vector> keys, std::span<const int32_t* const> codes, int64_t n,
           uint8_t* absent, std::vector<uint64_t>& words) const;
  void Widen(size_t k, const Vector& key, const int32_t* codes, int64_t n);
  // Lays the words out for `fields` and packs what is stored anew; code c of key `recoded` becomes
  // map[c].
  void Rebuild(std::vector<Field> fields, int recoded = -1, const int32_t* map = nullptr);
  void PlaceFields(std::vector<Field>& fields);
  void Extend(const Field& field);

  // What a build by parts (ops/partitioned_keys.h) is made of. Expect, also of keys that have
  // codes: those of all rows are returned.
  friend class PartitionedBuild;
  std::vector<const int32_t*> ExpectAll(std::span<const Vector> keys, int64_t n);
  KeyTable EmptyCopy() const;  // of the same fields
  // FindOrAdd of rows [begin, begin + n) that are packed; of all keys of an EmptyCopy.
  void FindOrAddWords(std::span<const LargeVector<uint64_t>> words, int64_t begin, int64_t n,
                      int64_t* ids);
  std::vector<int64_t> AddStored(const KeyTable& other);
  // Makes array_ or slots_ of what is stored: the keys of ids [id_begins[p], id_begins[p + 1]) are
  // those whose hashes begin with the part_bits bits p.
  void IndexParts(std::span<const int64_t> id_begins, int part_bits, TaskPool* pool);
  // Where a key whose hash's upper half is `tag` is looked for first, and after slot `at`.
  struct Walk {
    int part_shift, slot_bits;
    uint64_t mask;  // of the slots of one part
    size_t First(uint64_t tag) const { return tag >> part_shift << slot_bits | (tag & mask); }
    size_t Next(size_t at) const { return (at & ~mask) | ((at + 1) & mask); }
  };
  Walk walk() const;

  bool IsArrayWorthIt(int64_t size) const;
  // Makes array_ or slots_ ready for `size` ids.
  void MakeRoom(int64_t size);
  bool IsFull(int64_t size) const;  // for so many ids
  void GrowSlots(int64_t size);
  void IndexStored(int64_t size);
  void IndexIds(int64_t begin, int64_t end);
  void LoadStored(int64_t begin, int64_t n, KeyScratch& scratch) const;
  void AddWords(int64_t n, int64_t* ids);
  void HashWords(int64_t n, KeyScratch& scratch) const;
  bool Equals(int64_t id, const KeyScratch& scratch, int64_t row, int64_t n) const;
  int64_t Append(int64_t row, int64_t n);
  void AddToArray(int64_t n, int64_t* ids);
  template <bool kOneWord>
  void AddHashed(int64_t n, int64_t* ids);
  // `kParts`: slots_ are of parts. Walking through one range costs triangle counting 7% less.
  template <bool kOneWord, bool kParts>
  void FindHashed(int64_t n, int64_t* ids, KeyScratch& scratch) const;
  void FindWords(int64_t n, int64_t* ids, KeyScratch& scratch) const;
  void PackToFind(std::span<const Vector> keys, int64_t n, KeyScratch& scratch) const;

  std::vector<Field> fields_;
  std::vector<Text> texts_;  // by key
  bool borrows_ = false;
  int num_words_ = 1;
  int bits_ = 0;       // of all fields, where there is one word
  int part_bits_ = 0;  // slots_ are in as many ranges as these leading bits of a hash tell apart
  int64_t rows_ = 0;   // looked up to be added
  int64_t expected_ = 0;
  int64_t size_ = 0;
  std::vector<const int32_t*> codes_;  // of a batch's TEXT keys
  LargeVector<uint64_t> stored_;       // num_words_ an id
  LargeVector<int32_t> array_;         // by word: id + 1
  LargeVector<uint64_t> slots_;        // without array_: hash << 32 | id + 1; 0 is empty
  KeyScratch scratch_;
};

}  // namespace adjoin
