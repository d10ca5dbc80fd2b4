#include "ops/batch.h"

namespace adjoin {
namespace {

template <typename T>
const T* GatherValues(const T* from, const int32_t* rows, int64_t n, BatchArena& arena) {
  T* out = arena.Make<T>(n);
  for (int64_t i = 0; i < n; ++i) out[i] = from[rows[i]];
  return out;
}

}  // namespace

Vector Gather(const Vector& from, const int32_t* rows, int64_t n, BatchArena& arena) {
  Vector out{from.type};
  WithElementType(from.type, [&](auto zero) {
    out.data = GatherValues(from.as<decltype(zero)>(), rows, n, arena);
  });
  if (from.valid != nullptr) out.valid = GatherValues(from.valid, rows, n, arena);
  if (from.codes != nullptr) {
    out.codes = GatherValues(from.codes, rows, n, arena);
    out.column = from.column;
  }
  return out;
}

int64_t SelectTrue(const Vector& condition, int64_t n, int32_t* rows) {
  const uint8_t* value = condition.as<uint8_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    rows[count] = static_cast<int32_t>(i);
    count += value[i] & (condition.valid == nullptr ? 1 : condition.valid[i]);
  }
  return count;
}

}  // namespace adjoin
