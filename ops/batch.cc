#include "ops/batch.h"

#include <cstddef>

#include "engine/column.h"

namespace adjoin {
namespace {

template <typename T>
const T* GatherValues(const T* from, const int32_t* rows, int64_t n, BatchArena& arena) {
  T* out = arena.Make<T>(n);
  for (int64_t i = 0; i < n; ++i) out[i] = from[rows[i]];
  return out;
}

// The vector whose values, validity and codes are f of the given one's.
template <typename F>
Vector MapParts(const Vector& from, F&& f) {
  Vector out{from.type};
  if (from.data != nullptr)
    WithElementType(from.type, [&](auto zero) { out.data = f(from.as<decltype(zero)>()); });
  if (from.valid != nullptr) out.valid = f(from.valid);
  if (from.codes != nullptr) out.codes = f(from.codes), out.column = from.column;
  return out;
}

}  // namespace

Vector Slice(const Vector& v, int64_t begin) {
  Vector out = v;
  if (v.data != nullptr) out.data = v.as<std::byte>() + begin * VectorWidth(v.type);
  if (v.valid != nullptr) out.valid = v.valid + begin;
  if (v.codes != nullptr) out.codes = v.codes + begin;
  return out;
}

Vector WithViews(const Vector& v, int64_t n, BatchArena& arena) {
  if (v.data != nullptr || v.codes == nullptr) return v;
  const Dictionary& dictionary = *v.column->dictionary();
  std::string_view* texts = arena.Make<std::string_view>(n);
  for (int64_t i = 0; i < n; ++i)
    texts[i] = v.is_null(i) ? std::string_view() : dictionary.at(v.codes[i]);
  Vector out = v;
  out.data = texts;
  return out;
}

std::string_view TextAt(const Vector& v, int64_t row) {
  return v.data != nullptr ? v.as<std::string_view>()[row]
                           : v.column->dictionary()->at(v.codes[row]);
}

Vector Gather(const Vector& from, const int32_t* rows, int64_t n, BatchArena& arena) {
  return MapParts(from, [&](const auto* x) { return GatherValues(x, rows, n, arena); });
}

Vector Take(const Vector& from, const int32_t* rows, int64_t n, BatchArena& arena) {
  return MapParts(from, [&]<typename T>(const T* x) -> const T* {
    T* out = arena.Make<T>(n);
    TakeElements(x, rows, n, out);
    return out;
  });
}

int64_t SelectTrue(const Vector& condition, int64_t n, int32_t* rows) {
  return Kernels().select(condition.as<uint8_t>(), condition.valid, n, rows);
}

}  // namespace adjoin
