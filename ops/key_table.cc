#include "ops/key_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/types.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

// Ranges up to this many keys are worth an array whatever their number; larger ones when they are
// filled to 1/8.
constexpr int64_t kAlwaysDense = 1 << 14;

int BitsOf(TypeId type) {
  switch (type) {
    case TypeId::kBool:
      return 8;
    case TypeId::kInt16:
      return 16;
    case TypeId::kInt32:
    case TypeId::kFloat32:
    case TypeId::kDate:
    case TypeId::kText:      // codes
    case TypeId::kInterval:  // codes
      return 32;
    default:
      return 64;
  }
}

uint64_t Normalise(uint8_t v) { return v; }
uint64_t Normalise(int16_t v) { return static_cast<uint16_t>(v); }
uint64_t Normalise(int32_t v) { return static_cast<uint32_t>(v); }
uint64_t Normalise(int64_t v) { return static_cast<uint64_t>(v); }
uint64_t Normalise(float v) {
  if (std::isnan(v)) v = std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<uint32_t>(v + 0.0f);  // -0 becomes 0
}
uint64_t Normalise(double v) {
  if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<uint64_t>(v + 0.0);
}

// The signed number that a single integer key's word stands for.
int64_t SignedWord(uint64_t word, int bits) {
  if (bits == 16) return static_cast<int16_t>(word);
  if (bits == 32) return static_cast<int32_t>(word);
  return static_cast<int64_t>(word);
}

// What is known of the strings of a key's dictionary, by code; null where that is not worth it.
int32_t* KnownIds(const Vector& key, TextIds& texts) {
  // A block of 65,536 rows has a table of its own, and would have to write four ids a row.
  constexpr int32_t kMostIds = 1 << 18;
  const std::shared_ptr<const Dictionary>& dictionary = key.column->dictionary();
  if (dictionary->size() > kMostIds) return nullptr;
  if (texts.dictionary != dictionary) {
    texts.ids.assign(static_cast<size_t>(dictionary->size()), -1);
    texts.dictionary = dictionary;
  }
  return texts.ids.data();
}

template <typename T>
T FromWord(uint64_t word) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<uint32_t>(word));
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(word);
  if constexpr (std::is_integral_v<T>) return static_cast<T>(word);
  return T{};
}

}  // namespace

KeyTable::KeyTable(std::vector<TypeId> types, bool nullable) {
  PlaceFields(types, nullable);
  dense_possible_ =
      fields_.size() == 1 && !IsFloat(fields_[0].type);  // the rest are integers or codes
}

void KeyTable::PlaceFields(const std::vector<TypeId>& types, bool nullable) {
  std::vector<int> used;  // bits by word
  const auto place = [&](int bits, int* word, int* shift) {
    size_t w = 0;
    while (w < used.size() && used[w] + bits > 64) ++w;
    if (w == used.size()) used.push_back(0);
    *word = static_cast<int>(w), *shift = used[w];
    used[w] += bits;
  };
  for (TypeId type : types) {
    Field field{type, 0, 0, BitsOf(type)};
    place(field.bits, &field.word, &field.shift);
    if (type == TypeId::kText) {
      field.table = static_cast<int>(texts_.size());
      texts_.emplace_back();
    }
    if (type == TypeId::kInterval) {
      field.table = static_cast<int>(intervals_.size());
      intervals_.emplace_back();
    }
    fields_.push_back(field);
  }
  null_apart_ = nullable && fields_.size() == 1;
  if (nullable && !null_apart_) {
    for (Field& field : fields_) place(1, &field.null_word, &field.null_shift);
  }
  num_words_ = static_cast<int>(used.size());
}

template <bool kAdd, typename Self>
void KeyTable::Encode(Self& self, std::span<const Vector> keys, int64_t n, KeyScratch& scratch) {
  scratch.words.assign(static_cast<size_t>(self.num_words_ * n), 0);
  scratch.nulls.clear();
  if constexpr (!kAdd) scratch.absent.assign(static_cast<size_t>(n), 0);
  // The codes of values in a table of the distinct ones.
  const auto encode = [&](const Vector& key, const auto* values, auto& table, int32_t* known,
                          uint64_t* words, int shift) {
    for (int64_t r = 0; r < n; ++r) {
      if (key.is_null(r)) continue;
      int32_t code = known == nullptr ? -1 : known[key.codes[r]];
      if (code < 0) {
        if constexpr (kAdd) {
          code = table.FindOrAdd(values[r]);
        } else {
          code = table.Find(values[r]);
          scratch.absent[r] |= code < 0 ? 1 : 0;
        }
        if (known != nullptr) known[key.codes[r]] = code;
      }
      words[r] |= uint64_t{static_cast<uint32_t>(code)} << shift;
    }
  };
  for (size_t k = 0; k < self.fields_.size(); ++k) {
    const Field& field = self.fields_[k];
    const Vector& key = keys[k];
    uint64_t* words = scratch.words.data() + field.word * n;
    int32_t* known = nullptr;
    if (key.codes != nullptr) {
      scratch.texts.resize(self.texts_.size());
      known = KnownIds(key, scratch.texts[field.table]);
    }
    WithElementType(field.type, [&](auto zero) {
      using T = decltype(zero);
      const T* values = key.as<T>();
      if constexpr (std::is_same_v<T, std::string_view>) {
        encode(key, values, self.texts_[field.table], known, words, field.shift);
      } else if constexpr (std::is_same_v<T, Interval>) {
        encode(key, values, self.intervals_[field.table], known, words, field.shift);
      } else {
        for (int64_t r = 0; r < n; ++r) {
          if (!key.is_null(r)) words[r] |= Normalise(values[r]) << field.shift;
        }
      }
    });
    if (key.valid == nullptr) continue;
    if (self.null_apart_) {
      scratch.nulls.resize(static_cast<size_t>(n));
      for (int64_t r = 0; r < n; ++r) scratch.nulls[r] = key.valid[r] ^ 1;
    } else if (field.null_word >= 0) {
      uint64_t* null_words = scratch.words.data() + field.null_word * n;
      for (int64_t r = 0; r < n; ++r) {
        null_words[r] |= static_cast<uint64_t>(key.valid[r] ^ 1) << field.null_shift;
      }
    }
  }
}

void KeyTable::HashWords(int64_t n, KeyScratch& scratch) const {
  scratch.hashes.resize(static_cast<size_t>(n));
  for (int w = 0; w < num_words_; ++w) {
    Kernels().hash_u64(scratch.words.data() + w * n, w > 0, scratch.hashes.data(), n);
  }
  if (num_words_ == 0) std::fill(scratch.hashes.begin(), scratch.hashes.end(), 0);
}

bool KeyTable::Equals(int64_t id, const KeyScratch& scratch, int64_t row, int64_t n) const {
  for (int w = 0; w < num_words_; ++w) {
    if (stored_[id * num_words_ + w] != scratch.words[w * n + row]) return false;
  }
  return true;
}

int64_t KeyTable::Append(const KeyScratch& scratch, int64_t row, int64_t n) {
  for (int w = 0; w < num_words_; ++w) stored_.push_back(scratch.words[w * n + row]);
  return size_++;
}

void KeyTable::Grow(int64_t least) {
  size_t capacity = std::max<size_t>(64, slots_.size());
  while (capacity < static_cast<size_t>(least) * 2) capacity *= 2;
  if (capacity == slots_.size()) return;
  std::vector<uint64_t> old(capacity, 0);
  old.swap(slots_);
  const size_t mask = capacity - 1;
  for (uint64_t slot : old) {
    if (slot == 0) continue;
    size_t i = (slot >> 32) & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

// Makes the array cover the batch's keys; false where it would be too large for what it holds.
bool KeyTable::CoverDense(const uint64_t* words, const uint64_t* nulls, int64_t n) {
  const int bits = fields_[0].bits;
  int64_t low = std::numeric_limits<int64_t>::max();
  int64_t high = std::numeric_limits<int64_t>::min();
  for (int64_t r = 0; r < n; ++r) {
    if (nulls != nullptr && nulls[r] != 0) continue;
    const int64_t key = SignedWord(words[r], bits);
    low = std::min(low, key), high = std::max(high, key);
  }
  if (low > high) return true;
  const auto size = static_cast<int64_t>(dense_.size());
  if (size > 0) low = std::min(low, dense_first_), high = std::max(high, dense_first_ + (size - 1));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (range >= static_cast<uint64_t>(std::max(kAlwaysDense, 8 * (size_ + n)))) return false;
  const auto needed = static_cast<int64_t>(range) + 1;
  if (needed == size) return true;
  // Room to grow on the side that grew, so that ascending or descending keys do not copy the array
  // each batch.
  int64_t slack = std::min(2 * size, std::max(kAlwaysDense, 8 * (size_ + n))) - needed;
  if (size > 0 && low < dense_first_) {
    const uint64_t below =
        static_cast<uint64_t>(low) - static_cast<uint64_t>(std::numeric_limits<int64_t>::min());
    if (static_cast<uint64_t>(std::max<int64_t>(0, slack)) > below) slack = 0;
    low -= std::max<int64_t>(0, slack);
  } else {
    if (high > 0) slack = std::min(slack, std::numeric_limits<int64_t>::max() - high);
  }
  std::vector<int32_t> wider(static_cast<size_t>(needed + std::max<int64_t>(0, slack)), 0);
  if (size > 0) std::copy(dense_.begin(), dense_.end(), wider.begin() + (dense_first_ - low));
  dense_.swap(wider);
  dense_first_ = low;
  return true;
}

void KeyTable::LeaveDense() {
  dense_possible_ = false;
  dense_ = {};
  Grow(size_ + 1);
  const size_t mask = slots_.size() - 1;
  std::vector<uint64_t> hashes(static_cast<size_t>(size_));
  if (size_ > 0) Kernels().hash_u64(stored_.data(), false, hashes.data(), size_);
  for (int64_t id = 0; id < size_; ++id) {
    if (id == null_id_) continue;
    const uint64_t hash = hashes[id] >> 32;
    size_t i = hash & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = hash << 32 | static_cast<uint64_t>(id + 1);
  }
}

void KeyTable::AddDense(int64_t n, int64_t* ids) {
  const int bits = fields_[0].bits;
  const uint64_t* nulls = scratch_.nulls.empty() ? nullptr : scratch_.nulls.data();
  for (int64_t r = 0; r < n; ++r) {
    if (nulls != nullptr && nulls[r] != 0) {
      if (null_id_ < 0) null_id_ = Append(scratch_, r, n);
      ids[r] = null_id_;
      continue;
    }
    int32_t& id = dense_[SignedWord(scratch_.words[r], bits) - dense_first_];
    if (id == 0) id = static_cast<int32_t>(Append(scratch_, r, n)) + 1;
    ids[r] = id - 1;
  }
}

void KeyTable::AddHashed(int64_t n, int64_t* ids) {
  HashWords(n, scratch_);
  Grow(size_ + n);
  const size_t mask = slots_.size() - 1;
  const uint64_t* hashes = scratch_.hashes.data();
  const uint64_t* nulls = scratch_.nulls.empty() ? nullptr : scratch_.nulls.data();
  for (int64_t r = 0; r < n; ++r) {
    if (r + 8 < n) __builtin_prefetch(&slots_[(hashes[r + 8] >> 32) & mask]);
    if (nulls != nullptr && nulls[r] != 0) {
      if (null_id_ < 0) null_id_ = Append(scratch_, r, n);
      ids[r] = null_id_;
      continue;
    }
    const uint64_t hash = hashes[r] >> 32;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      const uint64_t slot = slots_[i];
      if (slot == 0) {
        ids[r] = Append(scratch_, r, n);
        slots_[i] = hash << 32 | static_cast<uint64_t>(size_);
        break;
      }
      const int64_t id = static_cast<int64_t>(slot & 0xFFFFFFFFu) - 1;
      if (slot >> 32 == hash && Equals(id, scratch_, r, n)) {
        ids[r] = id;
        break;
      }
    }
  }
}

void KeyTable::FindOrAdd(std::span<const Vector> keys, int64_t n, int64_t* ids) {
  Encode<true>(*this, keys, n, scratch_);
  if (dense_possible_) {
    const uint64_t* nulls = scratch_.nulls.empty() ? nullptr : scratch_.nulls.data();
    if (CoverDense(scratch_.words.data(), nulls, n)) return AddDense(n, ids);
    LeaveDense();
  }
  AddHashed(n, ids);
}

void KeyTable::Find(std::span<const Vector> keys, int64_t n, int64_t* ids,
                    KeyScratch& scratch) const {
  Encode<false>(*this, keys, n, scratch);
  const uint64_t* nulls = scratch.nulls.empty() ? nullptr : scratch.nulls.data();
  const auto is_special = [&](int64_t r) {
    if (nulls != nullptr && nulls[r] != 0) {
      ids[r] = null_id_;
      return true;
    }
    ids[r] = -1;
    return scratch.absent[r] != 0;
  };
  if (dense_possible_) {
    const int bits = fields_[0].bits;
    for (int64_t r = 0; r < n; ++r) {
      if (is_special(r)) continue;
      const uint64_t at = static_cast<uint64_t>(SignedWord(scratch.words[r], bits)) -
                          static_cast<uint64_t>(dense_first_);
      if (at < dense_.size()) ids[r] = dense_[at] - 1;
    }
    return;
  }
  if (slots_.empty()) {
    std::fill_n(ids, n, -1);
    return;
  }
  HashWords(n, scratch);
  const size_t mask = slots_.size() - 1;
  const uint64_t* hashes = scratch.hashes.data();
  for (int64_t r = 0; r < n; ++r) {
    if (r + 8 < n) __builtin_prefetch(&slots_[(hashes[r + 8] >> 32) & mask]);
    if (is_special(r)) continue;
    const uint64_t hash = hashes[r] >> 32;
    for (size_t i = hash & mask; slots_[i] != 0; i = (i + 1) & mask) {
      const int64_t id = static_cast<int64_t>(slots_[i] & 0xFFFFFFFFu) - 1;
      if (slots_[i] >> 32 == hash && Equals(id, scratch, r, n)) {
        ids[r] = id;
        break;
      }
    }
  }
}

Vector KeyTable::Key(int k, int64_t begin, int64_t n, BatchArena& arena) const {
  const Field& field = fields_[static_cast<size_t>(k)];
  Vector out{field.type};
  const uint64_t* stored = stored_.data() + begin * num_words_;
  if (field.null_word >= 0 || null_id_ >= 0) {
    uint8_t* valid = arena.Make<uint8_t>(n);
    for (int64_t i = 0; i < n; ++i) {
      valid[i] = field.null_word < 0
                     ? begin + i != null_id_
                     : ((stored[i * num_words_ + field.null_word] >> field.null_shift) & 1) ^ 1;
    }
    out.valid = valid;
  }
  const uint64_t bits_mask = field.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << field.bits) - 1;
  WithElementType(field.type, [&](auto zero) {
    using T = decltype(zero);
    T* values = arena.Make<T>(n);
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t word = (stored[i * num_words_ + field.word] >> field.shift) & bits_mask;
      if constexpr (std::is_same_v<T, std::string_view>) {
        values[i] = out.is_null(i) ? T{} : texts_[field.table].at(static_cast<int32_t>(word));
      } else if constexpr (std::is_same_v<T, Interval>) {
        values[i] = out.is_null(i) ? T{} : intervals_[field.table].at(static_cast<int32_t>(word));
      } else {
        values[i] = FromWord<T>(word);
      }
    }
    out.data = values;
  });
  return out;
}

}  // namespace adjoin
