// Rows of one block of a group-by in memory, cut by a hash of their keys into parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/column.h"
#include "engine/large_vector.h"
#include "ops/arena.h"
#include "ops/key_hash.h"
#include "ops/vector.h"

namespace adjoin {

// A part of 1e7 groups is as large as a second-level cache.
inline constexpr int kRowParts = 256;

// Which part each row of a batch is in: equal keys are in the same, whatever block they are of.
void FindRowParts(std::span<const Vector> keys, int64_t n, KeyHasher& hasher, uint8_t* parts);

// A row is a record of its values side by side, so that it is written to one place; a part's
// records lie in chunks, in the order they came. Add is not thread-safe, reading is. REQUIRES: at
// most kMostColumns.
class PartitionedRows {
 public:
  static constexpr int kMostColumns = 128;

  // The first `num_keys` columns are the keys. `hashers` must live until the last Add.
  PartitionedRows(int num_keys, KeyHashers& hashers)
      : num_keys_(num_keys), hashers_(hashers), hasher_(hashers.Take()) {}
  // No row is added any more.
  void Close() { hashers_.Return(std::move(hasher_)); }

  // `numbers`: of the rows in the block, below 2^32.
  void Add(std::span<const Vector> columns, int64_t first_number, int64_t n);
  int64_t bytes() const;  // of memory
  int64_t RowsOf(size_t part) const;

  // Calls f(columns, numbers, n) for the rows of a part, in order, some thousands at a time, in
  // memory of `arena`, which is reset before each.
  using Reader = absl::FunctionRef<void(std::span<const Vector>, int64_t*, int64_t)>;
  void Read(size_t part, BatchArena& arena, Reader f) const;

 private:
  // Where records have a column: text is codes of `dictionary`, or views of copies.
  struct Field {
    TypeId type;
    bool nullable;  // a byte before the value
    std::shared_ptr<const Dictionary> dictionary;
    ColumnRef column;  // without rows, that has it
    int offset = 0;
    int width = 0;
  };
  struct Part {
    std::vector<std::byte*> chunks;
    std::byte* end = nullptr;  // of the records in the last
    int64_t room = 0;          // records that the last has room for
    int64_t rows = 0;
  };
  // Batches of the same fields.
  struct Segment {
    std::vector<Field> fields;
    int width = 0;  // of a record, which begins with the row's number
    std::vector<Part> parts = std::vector<Part>(kRowParts);
  };

  bool Fits(const Segment& segment, std::span<const Vector> columns) const;
  void Begin(std::span<const Vector> columns);
  void PlaceRows(Segment& segment, const uint8_t* parts, int64_t n);
  void Write(const Field& field, const Vector& column, int64_t n);
  std::byte* NewChunk();
  static Vector ReadField(const Field& field, std::span<const std::byte* const> records,
                          BatchArena& arena);

  const int num_keys_;
  KeyHashers& hashers_;
  std::unique_ptr<KeyHasher> hasher_;
  std::vector<Segment> segments_;
  std::vector<LargeVector<std::byte>> slabs_;
  size_t slab_used_ = 0;
  TextArena text_;
  std::vector<uint8_t> part_of_;     // of a batch's rows
  std::vector<std::byte*> records_;  // the same
};

}  // namespace adjoin
