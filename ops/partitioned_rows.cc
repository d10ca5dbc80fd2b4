#include "ops/partitioned_rows.h"

#include <algorithm>
#include <cstring>

#include "engine/large_memory.h"
#include "ops/batch.h"

namespace adjoin {
namespace {

// A slab has a chunk for each part.
constexpr int64_t kChunkBytes = int64_t{kLargeBytes} / kRowParts;
constexpr int64_t kReadRows = 4096;

// Calls f with the C++ type that a field's values are stored as.
template <typename F>
void WithStored(TypeId type, bool coded, F&& f) {
  if (coded) return f(int32_t{});
  WithElementType(type, f);
}

}  // namespace

void FindRowParts(std::span<const Vector> keys, int64_t n, KeyHasher& hasher, uint8_t* parts) {
  static_assert(kRowParts == 256);
  std::vector<uint64_t> hashes(static_cast<size_t>(n));
  hasher.Hash(keys, n, hashes.data());
  for (int64_t r = 0; r < n; ++r) parts[r] = static_cast<uint8_t>(hashes[r] >> 56);
}

bool PartitionedRows::Fits(const Segment& segment, std::span<const Vector> columns) const {
  for (size_t c = 0; c < columns.size(); ++c) {
    const Field& field = segment.fields[c];
    if (columns[c].valid != nullptr && !field.nullable) return false;
    if (columns[c].type != TypeId::kText || field.dictionary == nullptr) continue;
    if (columns[c].codes == nullptr || columns[c].column->dictionary() != field.dictionary)
      return false;
  }
  return true;
}

// What was nullable stays so, so that segments are no more than columns and dictionaries.
void PartitionedRows::Begin(std::span<const Vector> columns) {
  Segment segment;
  segment.width = sizeof(uint32_t);
  for (size_t c = 0; c < columns.size(); ++c) {
    const Vector& column = columns[c];
    Field field{column.type, column.valid != nullptr, nullptr, nullptr};
    if (!segments_.empty()) field.nullable |= segments_.back().fields[c].nullable;
    if (column.codes != nullptr && column.column->dictionary()->is_distinct()) {
      field.dictionary = column.column->dictionary();
      field.column = std::make_shared<const Column>(TypeId::kText, 0, Buffer::Wrap("", 0, nullptr),
                                                    nullptr, field.dictionary);
    }
    field.width =
        static_cast<int>(field.dictionary != nullptr ? sizeof(int32_t) : VectorWidth(column.type));
    field.offset = segment.width + (field.nullable ? 1 : 0);
    segment.width = field.offset + field.width;
    segment.fields.push_back(std::move(field));
  }
  segments_.push_back(std::move(segment));
}

std::byte* PartitionedRows::NewChunk() {
  if (slabs_.empty() || slab_used_ == slabs_.back().size()) {
    slabs_.emplace_back(kLargeBytes);
    slab_used_ = 0;
  }
  std::byte* chunk = slabs_.back().data() + slab_used_;
  slab_used_ += kChunkBytes;
  return chunk;
}

void PartitionedRows::PlaceRows(Segment& segment, const uint8_t* parts, int64_t n) {
  records_.resize(static_cast<size_t>(n));
  for (int64_t r = 0; r < n; ++r) {
    Part& part = segment.parts[parts[r]];
    if (part.room == 0) {
      part.end = NewChunk();
      part.chunks.push_back(part.end);
      part.room = kChunkBytes / segment.width;
    }
    records_[r] = part.end;
    part.end += segment.width;
    --part.room;
    ++part.rows;
  }
}

void PartitionedRows::Write(const Field& field, const Vector& column, int64_t n) {
  if (field.nullable) {
    for (int64_t r = 0; r < n; ++r)
      records_[r][field.offset - 1] = std::byte{column.is_null(r) ? uint8_t{0} : uint8_t{1}};
  }
  const auto write = [&](const auto* values) {
    for (int64_t r = 0; r < n; ++r)
      std::memcpy(records_[r] + field.offset, values + r, sizeof(*values));
  };
  if (field.dictionary != nullptr) return write(column.codes);
  if (column.type == TypeId::kText) {
    for (int64_t r = 0; r < n; ++r) {
      const std::string_view copy =
          column.is_null(r) ? std::string_view() : text_.Copy(TextAt(column, r));
      std::memcpy(records_[r] + field.offset, &copy, sizeof(copy));
    }
    return;
  }
  WithElementType(column.type, [&](auto zero) { write(column.as<decltype(zero)>()); });
}

void PartitionedRows::Add(std::span<const Vector> columns, int64_t first_number, int64_t n) {
  if (segments_.empty() || !Fits(segments_.back(), columns)) Begin(columns);
  Segment& segment = segments_.back();
  part_of_.resize(static_cast<size_t>(n));
  FindRowParts(columns.first(static_cast<size_t>(num_keys_)), n, *hasher_, part_of_.data());
  PlaceRows(segment, part_of_.data(), n);
  for (int64_t r = 0; r < n; ++r) {
    const auto number = static_cast<uint32_t>(first_number + r);
    std::memcpy(records_[r], &number, sizeof(number));
  }
  for (size_t c = 0; c < columns.size(); ++c) Write(segment.fields[c], columns[c], n);
}

int64_t PartitionedRows::RowsOf(size_t part) const {
  int64_t rows = 0;
  for (const Segment& segment : segments_) rows += segment.parts[part].rows;
  return rows;
}

int64_t PartitionedRows::bytes() const {
  return std::ssize(slabs_) * static_cast<int64_t>(kLargeBytes) + text_.bytes();
}

Vector PartitionedRows::ReadField(const Field& field, std::span<const std::byte* const> records,
                                  BatchArena& arena) {
  const auto n = static_cast<int64_t>(records.size());
  Vector out{field.type};
  if (field.nullable) {
    uint8_t* valid = arena.Make<uint8_t>(n);
    uint8_t all = 1;
    for (int64_t r = 0; r < n; ++r)
      all &= valid[r] = std::to_integer<uint8_t>(records[r][field.offset - 1]);
    if (all == 0) out.valid = valid;
  }
  const bool coded = field.dictionary != nullptr;
  WithStored(field.type, coded, [&](auto zero) {
    using T = decltype(zero);
    T* values = arena.Make<T>(n);
    for (int64_t r = 0; r < n; ++r) std::memcpy(values + r, records[r] + field.offset, sizeof(T));
    if constexpr (std::is_same_v<T, int32_t>) {
      if (coded) out.codes = values, out.column = field.column.get();
    }
    if (!coded) out.data = values;
  });
  return out;
}

void PartitionedRows::Read(size_t part, BatchArena& arena, Reader f) const {
  for (const Segment& segment : segments_) {
    const Part& from = segment.parts[part];
    const int64_t a_chunk = kChunkBytes / segment.width;
    size_t chunk = 0;
    int64_t in_chunk = 0;
    for (int64_t begin = 0; begin < from.rows; begin += kReadRows) {
      const int64_t n = std::min(kReadRows, from.rows - begin);
      arena.Reset();
      const auto** records = arena.Make<const std::byte*>(n);
      int64_t* numbers = arena.Make<int64_t>(n);
      for (int64_t r = 0; r < n; ++r) {
        if (in_chunk == a_chunk) ++chunk, in_chunk = 0;
        records[r] = from.chunks[chunk] + in_chunk++ * segment.width;
        uint32_t number;
        std::memcpy(&number, records[r], sizeof(number));
        numbers[r] = number;
      }
      std::vector<Vector> columns;
      for (const Field& field : segment.fields)
        columns.push_back(ReadField(field, {records, static_cast<size_t>(n)}, arena));
      f(columns, numbers, n);
    }
  }
}

}  // namespace adjoin
