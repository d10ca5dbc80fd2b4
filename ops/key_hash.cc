#include "ops/key_hash.h"

#include <bit>
#include <cmath>
#include <limits>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_table.h"
#include "ops/batch.h"

namespace adjoin {
namespace {

// Of larger dictionaries a batch reads but a few strings.
constexpr int32_t kMostKnown = 1 << 18;

__int128 EqualBits(const Interval& value) { return value.span(); }
__int128 EqualBits(const Decimal& value) { return Normalized(value).bits(); }

// Equal values give equal bits.
template <typename T>
uint64_t KeyBits(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    const double wide = static_cast<double>(value);
    return std::bit_cast<uint64_t>(std::isnan(wide) ? std::numeric_limits<double>::quiet_NaN()
                                                    : wide + 0.0);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    const __int128 bits = EqualBits(value);
    return static_cast<uint64_t>(bits) ^ static_cast<uint64_t>(bits >> 64);
  }
}

uint64_t TextBits(std::string_view text) {
  return absl::Hash<absl::string_view>{}({text.data(), text.size()}) | 1;
}

}  // namespace

void KeyHasher::FindBits(const Vector& key, int64_t n, Strings& strings) {
  if (key.codes != nullptr && key.column->dictionary()->size() <= kMostKnown) {
    const std::shared_ptr<const Dictionary>& dictionary = key.column->dictionary();
    if (strings.dictionary != dictionary) {
      strings.dictionary = dictionary;
      strings.hashes.assign(static_cast<size_t>(dictionary->size()), 0);
    }
    bool unknown = false;
    for (int64_t r = 0; r < n; ++r) {
      bits_[r] = strings.hashes[key.codes[r]];
      unknown |= bits_[r] == 0;
    }
    for (int64_t r = 0; unknown && r < n; ++r) {
      uint64_t& known = strings.hashes[key.codes[r]];
      if (known == 0) known = TextBits(dictionary->at(key.codes[r]));
      bits_[r] = known;
    }
    return;
  }
  WithElementType(key.type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t r = 0; r < n; ++r) {
      if constexpr (std::is_same_v<T, std::string_view>) {
        bits_[r] = TextBits(TextAt(key, r));
      } else {
        bits_[r] = KeyBits(key.as<T>()[r]);
      }
    }
  });
}

void KeyHasher::Hash(std::span<const Vector> keys, int64_t n, uint64_t* hashes) {
  bits_.resize(static_cast<size_t>(n));
  strings_.resize(keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    FindBits(keys[k], n, strings_[k]);
    for (int64_t r = 0; keys[k].valid != nullptr && r < n; ++r) {
      if (keys[k].valid[r] == 0) bits_[r] = 0;
    }
    Kernels().hash_u64(bits_.data(), k > 0, hashes, n);
  }
}

std::unique_ptr<KeyHasher> KeyHashers::Take() {
  absl::MutexLock lock(&mutex_);
  if (idle_.empty()) return std::make_unique<KeyHasher>();
  std::unique_ptr<KeyHasher> hasher = std::move(idle_.back());
  idle_.pop_back();
  return hasher;
}

void KeyHashers::Return(std::unique_ptr<KeyHasher> hasher) {
  absl::MutexLock lock(&mutex_);
  idle_.push_back(std::move(hasher));
}

}  // namespace adjoin
