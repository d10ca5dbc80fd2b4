#include "ops/key_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/types.h"
#include "kernels/kernel_table.h"
#include "ops/batch.h"

namespace adjoin {
namespace {

// Words up to this many bits are worth an array whatever the number of keys (64 KiB of ids); more
// bits where the hash table would be as large.
constexpr int kAlwaysArrayBits = 14;
// The same of keys that are expected: up to 8 MiB of ids, 256 bytes a key. TPC-H q05 at SF 0.1
// takes 6.4 ms where it took 8.7.
constexpr int kMostExpectedBits = 21;
constexpr int64_t kExpectedSlotsAKey = 64;

constexpr int32_t kNotAsked = -2;  // of TextScratch::ids

// What is stored as codes for its distinct values.
bool IsCoded(TypeId type) {
  return type == TypeId::kText || type == TypeId::kInterval || type == TypeId::kDecimal;
}

bool IsRanged(TypeId type) { return !IsFloat(type); }

// The bits of a value that is not ranged.
template <typename T>
uint64_t BitsOf(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
    value += T{0};  // -0 becomes 0
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    return std::bit_cast<Bits>(value);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    return 0;
  }
}

template <typename T>
T FromBits(uint64_t bits) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
  if constexpr (std::is_integral_v<T>) return static_cast<T>(bits);
  return T{};
}

// Calls f with the values of a key as elements, or with their codes.
template <typename F>
void WithElements(const Vector& key, const int32_t* codes, F&& f) {
  if (IsCoded(key.type)) return f(codes);
  WithElementType(key.type, [&](auto zero) {
    if constexpr (std::is_arithmetic_v<decltype(zero)>) f(key.as<decltype(zero)>());
  });
}

// A field of integers or codes: distances from `low` at 1, in `bits` bits.
struct Range {
  uint64_t low;
  int bits;
  // Has a bit beyond the field's where the value is outside.
  static uint64_t Over(uint64_t distance) { return distance | (distance + 1); }
  template <typename T>
  uint64_t Distance(T value) const {
    return static_cast<uint64_t>(static_cast<int64_t>(value)) - low;
  }
  bool IsOutside(uint64_t over) const { return over >> bits != 0; }
};

// Adds distances to the words, or makes them the words where `kSet`; true where one is outside.
template <bool kSet, typename T>
bool PackRange(const T* values, const uint8_t* valid, int64_t n, Range range, int shift,
               uint64_t* words) {
  uint64_t over = 0;
  for (int64_t r = 0; r < n; ++r) {
    uint64_t digit = 0;
    if (valid == nullptr || valid[r] != 0) {
      const uint64_t distance = range.Distance(values[r]);
      over |= Range::Over(distance);
      digit = distance + 1;
    }
    kSet ? words[r] = digit << shift : words[r] |= digit << shift;
  }
  return range.IsOutside(over);
}

template <typename T>
void MarkOutside(const T* values, const uint8_t* valid, int64_t n, Range range, uint8_t* outside) {
  for (int64_t r = 0; r < n; ++r) {
    if (valid != nullptr && valid[r] == 0) continue;
    outside[r] |= range.IsOutside(Range::Over(range.Distance(values[r]))) ? 1 : 0;
  }
}

// What is known of the strings of a key's dictionary, by code; null where that is not worth it.
int32_t* KnownIds(const Vector& key, int64_t size, TextScratch& text) {
  // Beyond, a batch would have to write thousands of ids a row.
  constexpr int32_t kMostIds = 1 << 18;
  if (key.codes == nullptr) return nullptr;
  const std::shared_ptr<const Dictionary>& dictionary = key.column->dictionary();
  if (dictionary->size() > kMostIds) return nullptr;
  if (text.dictionary != dictionary || text.size != size) {
    text.ids.assign(static_cast<size_t>(dictionary->size()), kNotAsked);
    text.dictionary = dictionary;
    text.size = size;
  }
  return text.ids.data();
}

// Looks a batch's values up by `find`, which takes a row; strings of a dictionary once while the
// table has `size` keys.
template <typename F>
const int32_t* CodesOf(const Vector& key, int64_t n, int64_t size, TextScratch& text, F&& find) {
  text.batch.resize(static_cast<size_t>(n));
  int32_t* known = KnownIds(key, size, text);
  for (int64_t r = 0; r < n; ++r) {
    if (key.is_null(r)) continue;
    int32_t code = known == nullptr ? kNotAsked : known[key.codes[r]];
    if (code == kNotAsked) {
      code = find(r);
      if (known != nullptr) known[key.codes[r]] = code;
    }
    text.batch[r] = code;
  }
  return text.batch.data();
}

}  // namespace

KeyTable::KeyTable(const std::vector<TypeId>& types) : texts_(types.size()) {
  for (TypeId type : types) {
    Field field{type, IsRanged(type)};
    if (!field.ranged) field.bits = type == TypeId::kFloat32 ? 32 : 64;
    fields_.push_back(field);
  }
  PlaceFields(fields_);
}

void KeyTable::PlaceFields(std::vector<Field>& fields) {
  std::vector<int> used = {0};  // bits by word
  const auto place = [&](int bits, int* word, int* shift) {
    size_t w = 0;
    while (w < used.size() && used[w] + bits > 64) ++w;
    if (w == used.size()) used.push_back(0);
    *word = static_cast<int>(w), *shift = used[w];
    used[w] += bits;
  };
  for (Field& field : fields) place(field.bits, &field.word, &field.shift);
  for (Field& field : fields) {
    if (field.null_bit) place(1, &field.null_word, &field.null_shift);
  }
  for (Field& field : fields) {
    if (field.bits == 0) field.shift = 0;
  }
  num_words_ = static_cast<int>(used.size());
  bits_ = used[0];
}

const int32_t* KeyTable::CodesToAdd(size_t k, const Vector& key, int64_t n) {
  Text& text = texts_[k];
  if (borrows_ && key.codes != nullptr && key.column->dictionary()->is_distinct()) {
    const std::shared_ptr<const Dictionary>& dictionary = key.column->dictionary();
    if (size_ == 0 && text.borrowed != dictionary) {
      text.borrowed = dictionary;
      text.column = std::make_shared<const Column>(TypeId::kText, 0, Buffer::Wrap("", 0, nullptr),
                                                   nullptr, dictionary);
    }
    if (text.borrowed == dictionary) return key.codes;
  }
  if (text.borrowed != nullptr) LeaveBorrowed(k);
  const auto add = [&](int64_t r) {
    if (key.type == TypeId::kInterval) return text.intervals.FindOrAdd(key.as<Interval>()[r]);
    if (key.type == TypeId::kDecimal) return text.decimals.FindOrAdd(key.as<Decimal>()[r]);
    return text.table.FindOrAdd(TextAt(key, r));
  };
  return CodesOf(key, n, /*size=*/0, scratch_.texts[k], add);  // what is found stays
}

const int32_t* KeyTable::CodesToFind(size_t k, const Vector& key, int64_t n,
                                     KeyScratch& scratch) const {
  const auto find = [&](int64_t r) {
    if (key.type == TypeId::kInterval) return texts_[k].intervals.Find(key.as<Interval>()[r]);
    if (key.type == TypeId::kDecimal) return texts_[k].decimals.Find(key.as<Decimal>()[r]);
    return texts_[k].table.Find(TextAt(key, r));
  };
  return CodesOf(key, n, size_, scratch.texts[k], find);
}

void KeyTable::LeaveBorrowed(size_t k) {
  const Field& field = fields_[k];
  Text& text = texts_[k];
  std::vector<int32_t> map(static_cast<size_t>(text.borrowed->size()), -1);
  int32_t most = 0;
  for (int64_t id = 0; id < size_; ++id) {
    const uint64_t digit = (stored_[id * num_words_ + field.word] >> field.shift) & field.mask();
    if (digit == 0) continue;
    const int64_t code = field.low + static_cast<int64_t>(digit) - 1;
    if (map[code] < 0)
      map[code] = text.table.FindOrAdd(text.borrowed->at(static_cast<int32_t>(code)));
    most = std::max(most, map[code] + 1);
  }
  text.borrowed = nullptr;
  std::vector<Field> fields = fields_;
  fields[k].low = 0;
  fields[k].bits = static_cast<int>(std::bit_width(static_cast<uint32_t>(most)));
  Rebuild(std::move(fields), static_cast<int>(k), map.data());
}

int KeyTable::Pack(std::span<const Vector> keys, std::span<const int32_t* const> codes, int64_t n,
                   uint8_t* absent, std::vector<uint64_t>& words) const {
  const bool first_sets = num_words_ == 1 && !fields_.empty() && fields_[0].ranged;
  first_sets ? words.resize(static_cast<size_t>(n))
             : words.assign(static_cast<size_t>(num_words_ * n), 0);
  int narrow = -1;
  for (size_t k = 0; k < fields_.size() && (narrow < 0 || absent != nullptr); ++k) {
    const Field& field = fields_[k];
    const uint8_t* valid = keys[k].valid;
    uint64_t* out = words.data() + field.word * n;
    bool fits = true;
    WithElements(keys[k], codes[k], [&](const auto* values) {
      if (field.ranged) {
        const Range range{static_cast<uint64_t>(field.low), field.bits};
        fits =
            !(first_sets && k == 0 ? PackRange<true>(values, valid, n, range, field.shift, out)
                                   : PackRange<false>(values, valid, n, range, field.shift, out));
        if (!fits && absent != nullptr) MarkOutside(values, valid, n, range, absent);
        return;
      }
      for (int64_t r = 0; r < n; ++r) {
        if (valid == nullptr || valid[r] != 0) {
          out[r] |= BitsOf(values[r]) << field.shift;
        } else if (field.null_bit) {
          words[field.null_word * n + r] |= uint64_t{1} << field.null_shift;
        } else {
          fits = false;
          if (absent != nullptr) absent[r] = 1;
        }
      }
    });
    if (!fits) narrow = static_cast<int>(k);
  }
  return narrow;
}

// Room is left on the side that grew, so that a field is widened a few times at most.
void KeyTable::Widen(size_t k, const Vector& key, const int32_t* codes, int64_t n) {
  std::vector<Field> fields = fields_;
  Field& field = fields[k];
  if (!field.ranged) {
    field.null_bit = true;
    return Rebuild(std::move(fields));
  }
  int64_t low = std::numeric_limits<int64_t>::max();
  int64_t high = std::numeric_limits<int64_t>::min();
  WithElements(key, codes, [&](const auto* values) {
    for (int64_t r = 0; r < n; ++r) {
      if (key.is_null(r)) continue;
      low = std::min(low, static_cast<int64_t>(BitsOf(values[r])));
      high = std::max(high, static_cast<int64_t>(BitsOf(values[r])));
    }
  });
  if (low > high) return;  // NULLs alone
  bool down = false;
  if (field.bits > 0) {
    down = low < field.low;
    low = std::min(low, field.low);
    high =
        std::max(high, static_cast<int64_t>(static_cast<uint64_t>(field.low) + field.mask() - 1));
  }
  const uint64_t last = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (last >= uint64_t{1} << 62) {
    field = {field.type, /*ranged=*/false, field.nullable, 0, 64, 0, 0, /*null_bit=*/true};
    return Rebuild(std::move(fields));
  }
  field.bits = static_cast<int>(std::bit_width(last + 1));
  if (down) {
    const uint64_t room = field.mask() - 1 - last;
    const uint64_t below =
        static_cast<uint64_t>(low) - static_cast<uint64_t>(std::numeric_limits<int64_t>::min());
    low -= static_cast<int64_t>(std::min(room, below));
  } else {
    // The greatest value of the field must be one that an integer has.
    const uint64_t above =
        static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) - static_cast<uint64_t>(low);
    if (field.mask() - 1 > above) low -= static_cast<int64_t>(field.mask() - 1 - above);
  }
  field.low = low;
  Rebuild(std::move(fields));
}

void KeyTable::Rebuild(std::vector<Field> fields, int recoded, const int32_t* map) {
  const int old_words = num_words_;
  PlaceFields(fields);
  if (fields.size() == 1 && old_words == 1 && num_words_ == 1 && recoded < 0 && fields[0].ranged &&
      fields_[0].ranged && fields[0].low == fields_[0].low) {
    return Extend(fields[0]);
  }
  LargeVector<uint64_t> stored;
  stored.reserve(stored_.capacity() / static_cast<size_t>(old_words) *
                 static_cast<size_t>(num_words_));
  stored.resize(static_cast<size_t>(size_ * num_words_), 0);
  for (size_t k = 0; k < fields.size(); ++k) {
    const Field& from = fields_[k];
    const Field& to = fields[k];
    for (int64_t id = 0; id < size_; ++id) {
      const uint64_t* old = stored_.data() + id * old_words;
      uint64_t* out = stored.data() + id * num_words_;
      const uint64_t bits = (old[from.word] >> from.shift) & from.mask();
      const bool is_null =
          from.ranged ? bits == 0
                      : from.null_bit && ((old[from.null_word] >> from.null_shift) & 1) != 0;
      if (is_null) {
        if (!to.ranged) out[to.null_word] |= uint64_t{1} << to.null_shift;
        continue;
      }
      uint64_t value = from.ranged ? static_cast<uint64_t>(from.low) + bits - 1 : bits;
      if (static_cast<int>(k) == recoded) value = static_cast<uint64_t>(map[value]);
      if (to.ranged) value = value - static_cast<uint64_t>(to.low) + 1;
      out[to.word] |= value << to.shift;
    }
  }
  fields_ = std::move(fields);
  stored_.swap(stored);
  IndexStored(size_);
}

// A single field that grew upwards leaves the words as they are. Ascending keys do so once a
// doubling: of TPC-H q18's 115 ms at scale factor 1 finding ids anew took 27.
void KeyTable::Extend(const Field& field) {
  fields_[0] = field;
  if (array_.empty()) return;
  if (IsArrayWorthIt(2 * size_)) {  // it will be: twice as many values are possible only just now
    array_.resize(size_t{1} << bits_, 0);
  } else {
    IndexStored(size_);
  }
}

void KeyTable::HashWords(int64_t n, KeyScratch& scratch) const {
  scratch.hashes.resize(static_cast<size_t>(n));
  for (int w = 0; w < num_words_; ++w) {
    Kernels().hash_u64(scratch.words.data() + w * n, w > 0, scratch.hashes.data(), n);
  }
}

bool KeyTable::Equals(int64_t id, const KeyScratch& scratch, int64_t row, int64_t n) const {
  for (int w = 0; w < num_words_; ++w) {
    if (stored_[id * num_words_ + w] != scratch.words[w * n + row]) return false;
  }
  return true;
}

int64_t KeyTable::Append(int64_t row, int64_t n) {
  for (int w = 0; w < num_words_; ++w) stored_.push_back(scratch_.words[w * n + row]);
  return size_++;
}

int64_t KeyTable::bytes() const {
  auto total = static_cast<int64_t>(8 * (stored_.capacity() + slots_.size()) + 4 * array_.size());
  for (const Text& text : texts_) total += text.table.bytes();
  return total;
}

bool KeyTable::IsArrayWorthIt(int64_t size) const {
  if (num_words_ > 1 || bits_ > 30) return false;
  const int64_t slots = int64_t{1} << bits_;
  return bits_ <= kAlwaysArrayBits || slots <= std::max(8 * size, rows_) ||
         (bits_ <= kMostExpectedBits && slots <= kExpectedSlotsAKey * expected_);
}

void KeyTable::Expect(std::span<const Vector> keys, int64_t n) {
  for (size_t k = 0; k < keys.size() && n > 0; ++k) {
    if (fields_[k].ranged && !IsCoded(fields_[k].type)) Widen(k, keys[k], nullptr, n);
  }
  expected_ = n;
}

bool KeyTable::ExpectsArray(std::span<const Vector> keys, int64_t n) const {
  if (keys.size() == 1 && IsCoded(keys[0].type)) return true;  // codes follow each other
  int bits = 0;
  for (size_t k = 0; k < keys.size(); ++k) {
    bits += fields_[k].bits;
    if (IsCoded(keys[k].type)) {
      const int64_t most = keys[k].codes == nullptr ? n : keys[k].column->dictionary()->size();
      bits += std::bit_width(static_cast<uint64_t>(std::min(most, n)));
    }
  }
  return bits <= kMostExpectedBits;
}

void KeyTable::MakeRoom(int64_t size) {
  if (!array_.empty()) return;
  if (IsArrayWorthIt(size)) {
    IndexStored(size);
  } else if (IsFull(size)) {
    GrowSlots(size);
  }
}

// A third of the slots stays empty.
bool KeyTable::IsFull(int64_t size) const {
  return 3 * size > 2 * static_cast<int64_t>(slots_.size());
}

void KeyTable::Reserve(int64_t n) {
  stored_.reserve(static_cast<size_t>(n * num_words_));
  if (!array_.empty() || !IsFull(n)) return;
  Rehash(slots_, std::bit_ceil(static_cast<size_t>(n + n / 2)));
}

void KeyTable::GrowSlots(int64_t size) {
  // Four times as many: a growing table moves each id a third of a time, not once.
  const size_t wanted = (slots_.empty() ? 2 : 4) * static_cast<size_t>(size);
  Rehash(slots_, std::max<size_t>(64, std::bit_ceil(wanted)));
}

KeyTable::Walk KeyTable::walk() const {
  const size_t part_slots = slots_.size() >> part_bits_;
  return {32 - part_bits_, std::countr_zero(part_slots), part_slots - 1};
}

// Finds all ids anew, after their words have changed.
void KeyTable::IndexStored(int64_t size) {
  const size_t reserved = slots_.size();
  array_ = {}, slots_ = {};
  if (IsArrayWorthIt(size)) {
    array_.assign(size_t{1} << bits_, 0);
  } else {
    GrowSlots(size);
    if (slots_.size() < reserved) Rehash(slots_, reserved);
  }
  IndexIds(0, size_);
}

// The words of ids [begin, begin + n).
void KeyTable::LoadStored(int64_t begin, int64_t n, KeyScratch& scratch) const {
  scratch.words.resize(static_cast<size_t>(n * num_words_));
  for (int64_t i = 0; i < n; ++i) {
    for (int w = 0; w < num_words_; ++w)
      scratch.words[w * n + i] = stored_[(begin + i) * num_words_ + w];
  }
}

// Puts ids [begin, end) into array_ or slots_, which have room and none of their keys.
void KeyTable::IndexIds(int64_t begin, int64_t end) {
  if (!array_.empty()) {
    for (int64_t id = begin; id < end; ++id) array_[stored_[id]] = static_cast<int32_t>(id + 1);
    return;
  }
  const Walk walk = this->walk();
  KeyScratch scratch;
  constexpr int64_t kChunk = 1024;
  for (int64_t first = begin; first < end; first += kChunk) {
    const int64_t n = std::min(kChunk, end - first);
    LoadStored(first, n, scratch);
    HashWords(n, scratch);
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t hash = scratch.hashes[i] >> 32;
      size_t at = walk.First(hash);
      while (slots_[at] != 0) at = walk.Next(at);
      slots_[at] = hash << 32 | static_cast<uint64_t>(first + i + 1);
    }
  }
}

std::vector<const int32_t*> KeyTable::ExpectAll(std::span<const Vector> keys, int64_t n) {
  std::vector<const int32_t*> codes(keys.size());
  scratch_.texts.resize(keys.size());
  Expect(keys, n);
  rows_ = n;
  for (size_t k = 0; k < keys.size(); ++k) {
    fields_[k].nullable |= keys[k].valid != nullptr;
    if (IsCoded(fields_[k].type)) codes[k] = CodesToAdd(k, keys[k], n);
    if (codes[k] != nullptr || (!fields_[k].ranged && keys[k].valid != nullptr))
      Widen(k, keys[k], codes[k], n);
  }
  return codes;
}

KeyTable KeyTable::EmptyCopy() const {
  KeyTable copy({});
  copy.fields_ = fields_;
  copy.num_words_ = num_words_;
  copy.bits_ = bits_;
  return copy;
}

void KeyTable::FindOrAddWords(std::span<const LargeVector<uint64_t>> words, int64_t begin,
                              int64_t n, int64_t* ids) {
  scratch_.words.resize(static_cast<size_t>(num_words_ * n));
  for (int w = 0; w < num_words_; ++w)
    std::copy_n(words[w].begin() + begin, n, scratch_.words.begin() + w * n);
  AddWords(n, ids);
}

std::vector<int64_t> KeyTable::AddStored(const KeyTable& other) {
  std::vector<int64_t> ids(static_cast<size_t>(other.size()));
  constexpr int64_t kChunk = 4096;
  for (int64_t begin = 0; begin < other.size(); begin += kChunk) {
    const int64_t n = std::min(kChunk, other.size() - begin);
    other.LoadStored(begin, n, scratch_);
    AddWords(n, ids.data() + begin);
  }
  return ids;
}

void KeyTable::IndexParts(std::span<const int64_t> id_begins, int part_bits, TaskPool* pool) {
  int64_t most = 0;
  for (size_t p = 0; p + 1 < id_begins.size(); ++p)
    most = std::max(most, id_begins[p + 1] - id_begins[p]);
  const bool is_array = IsArrayWorthIt(size_);
  const size_t part_slots = std::bit_ceil(2 * static_cast<size_t>(std::max<int64_t>(most, 1)));
  if (is_array) {
    array_.assign(size_t{1} << bits_, 0);
  } else {
    part_bits_ = part_bits;
    slots_.resize(part_slots << part_bits);
  }
  ForEachRange(pool, std::ssize(id_begins) - 1, 1, [&](int64_t p, int64_t) {
    if (!is_array)
      std::fill_n(slots_.begin() + p * static_cast<int64_t>(part_slots), part_slots, 0);
    IndexIds(id_begins[p], id_begins[p + 1]);
  });
}

void KeyTable::AddToArray(int64_t n, int64_t* ids) {
  const uint64_t* words = scratch_.words.data();
  for (int64_t r = 0; r < n; ++r) {
    int32_t& id = array_[words[r]];
    if (id == 0) {
      stored_.push_back(words[r]);
      id = static_cast<int32_t>(++size_);
    }
    ids[r] = id - 1;
  }
}

template <bool kOneWord>
void KeyTable::AddHashed(int64_t n, int64_t* ids) {
  HashWords(n, scratch_);
  const size_t mask = slots_.size() - 1;
  const uint64_t* hashes = scratch_.hashes.data();
  const uint64_t* words = scratch_.words.data();
  for (int64_t r = 0; r < n; ++r) {
    if (r + 8 < n) __builtin_prefetch(&slots_[(hashes[r + 8] >> 32) & mask]);
    const uint64_t hash = hashes[r] >> 32;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      const uint64_t slot = slots_[i];
      if (slot == 0) {
        ids[r] = Append(r, n);
        slots_[i] = hash << 32 | static_cast<uint64_t>(size_);
        break;
      }
      if (slot >> 32 != hash) continue;
      const int64_t id = static_cast<int64_t>(slot & 0xFFFFFFFFu) - 1;
      if (kOneWord ? stored_[id] == words[r] : Equals(id, scratch_, r, n)) {
        ids[r] = id;
        break;
      }
    }
  }
}

void KeyTable::FindOrAdd(std::span<const Vector> keys, int64_t n, int64_t* ids) {
  codes_.resize(keys.size());
  scratch_.texts.resize(keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    if (IsCoded(fields_[k].type)) codes_[k] = CodesToAdd(k, keys[k], n);
    fields_[k].nullable |= keys[k].valid != nullptr;
  }
  rows_ += n;
  for (int k; (k = Pack(keys, codes_, n, nullptr, scratch_.words)) >= 0;)
    Widen(static_cast<size_t>(k), keys[k], codes_[k], n);
  AddWords(n, ids);
}

// Of the words in scratch_.
void KeyTable::AddWords(int64_t n, int64_t* ids) {
  MakeRoom(size_ + n);
  if (!array_.empty()) return AddToArray(n, ids);
  num_words_ == 1 ? AddHashed<true>(n, ids) : AddHashed<false>(n, ids);
}

LargeVector<int64_t> KeyTable::AddAll(const KeyTable& other) {
  LargeVector<int64_t> ids(static_cast<size_t>(other.size()));
  std::vector<Vector> keys(fields_.size());
  BatchArena arena;
  constexpr int64_t kChunk = 4096;
  for (int64_t begin = 0; begin < other.size(); begin += kChunk) {
    const int64_t n = std::min(kChunk, other.size() - begin);
    arena.Reset();
    for (size_t k = 0; k < keys.size(); ++k)
      keys[k] = other.Key(static_cast<int>(k), begin, n, arena);
    FindOrAdd(keys, n, ids.data() + begin);
  }
  return ids;
}

template <bool kOneWord, bool kParts>
void KeyTable::FindHashed(int64_t n, int64_t* ids, KeyScratch& scratch) const {
  HashWords(n, scratch);
  const Walk walk = this->walk();
  const auto first = [&](uint64_t tag) { return kParts ? walk.First(tag) : tag & walk.mask; };
  const auto next = [&](size_t at) { return kParts ? walk.Next(at) : (at + 1) & walk.mask; };
  const uint64_t* hashes = scratch.hashes.data();
  const uint64_t* words = scratch.words.data();
  for (int64_t r = 0; r < n; ++r) {
    if (r + 8 < n) __builtin_prefetch(&slots_[first(hashes[r + 8] >> 32)]);
    ids[r] = -1;
    if (scratch.absent[r] != 0) continue;
    const uint64_t hash = hashes[r] >> 32;
    for (size_t i = first(hash); slots_[i] != 0; i = next(i)) {
      if (slots_[i] >> 32 != hash) continue;
      const int64_t id = static_cast<int64_t>(slots_[i] & 0xFFFFFFFFu) - 1;
      if (kOneWord ? stored_[id] == words[r] : Equals(id, scratch, r, n)) {
        ids[r] = id;
        break;
      }
    }
  }
}

void KeyTable::PackToFind(std::span<const Vector> keys, int64_t n, KeyScratch& scratch) const {
  std::vector<const int32_t*> codes(keys.size());
  scratch.texts.resize(keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    if (IsCoded(fields_[k].type)) codes[k] = CodesToFind(k, keys[k], n, scratch);
  }
  scratch.absent.assign(static_cast<size_t>(n), 0);
  Pack(keys, codes, n, scratch.absent.data(), scratch.words);
}

void KeyTable::Find(std::span<const Vector> keys, int64_t n, int64_t* ids,
                    KeyScratch& scratch) const {
  if (size_ == 0) {
    std::fill_n(ids, n, -1);
    return;
  }
  PackToFind(keys, n, scratch);
  FindWords(n, ids, scratch);
}

void KeyTable::FindWords(int64_t n, int64_t* ids, KeyScratch& scratch) const {
  if (array_.empty()) {
    if (part_bits_ == 0) {
      num_words_ == 1 ? FindHashed<true, false>(n, ids, scratch)
                      : FindHashed<false, false>(n, ids, scratch);
    } else {
      num_words_ == 1 ? FindHashed<true, true>(n, ids, scratch)
                      : FindHashed<false, true>(n, ids, scratch);
    }
    return;
  }
  const uint64_t* words = scratch.words.data();
  for (int64_t r = 0; r < n; ++r) ids[r] = scratch.absent[r] != 0 ? -1 : array_[words[r]] - 1;
}

Vector KeyTable::Key(int k, int64_t begin, int64_t n, BatchArena& arena) const {
  const Field& field = fields_[static_cast<size_t>(k)];
  Vector out{field.type};
  const uint64_t* stored = stored_.data() + begin * num_words_;
  const auto bits_at = [&](int64_t i) {
    return (stored[i * num_words_ + field.word] >> field.shift) & field.mask();
  };
  if (field.nullable) {
    uint8_t* valid = arena.Make<uint8_t>(n);
    uint8_t all = 1;
    for (int64_t i = 0; i < n; ++i) {
      valid[i] = field.ranged ? bits_at(i) != 0
                 : field.null_bit
                     ? ((stored[i * num_words_ + field.null_word] >> field.null_shift) & 1) ^ 1
                     : 1;
      all &= valid[i];
    }
    if (all == 0) out.valid = valid;
  }
  const uint64_t first = field.ranged ? static_cast<uint64_t>(field.low) - 1 : 0;
  WithElementType(field.type, [&](auto zero) {
    using T = decltype(zero);
    const auto fill = [&]<typename E>(auto&& value_at) {
      E* values = arena.Make<E>(n);
      for (int64_t i = 0; i < n; ++i)
        values[i] = out.is_null(i) ? E{} : value_at(bits_at(i) + first);
      return values;
    };
    const Text& text = texts_[static_cast<size_t>(k)];
    if constexpr (std::is_same_v<T, Interval>) {
      out.data = fill.template operator()<Interval>(
          [&](uint64_t code) { return text.intervals.at(static_cast<int32_t>(code)); });
      return;
    } else if constexpr (std::is_same_v<T, Decimal>) {
      out.data = fill.template operator()<Decimal>(
          [&](uint64_t code) { return text.decimals.at(static_cast<int32_t>(code)); });
      return;
    } else if constexpr (!std::is_same_v<T, std::string_view>) {
      out.data = fill.template operator()<T>([](uint64_t bits) { return FromBits<T>(bits); });
      return;
    }
    if (text.borrowed != nullptr) {
      out.codes = fill.template operator()<int32_t>(
          [](uint64_t code) { return static_cast<int32_t>(code); });
      out.column = text.column.get();
    } else {
      out.data = fill.template operator()<std::string_view>(
          [&](uint64_t code) { return text.table.at(static_cast<int32_t>(code)); });
    }
  });
  return out;
}

}  // namespace adjoin
