#include "kernels/libm_map.h"

#include <cmath>

namespace adjoin {
namespace {

template <typename T, T (*kFunction)(T)>
ScalarError Map1(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const T* x = static_cast<const T*>(args[0]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = kFunction(x[i]);
  return ScalarError::kNone;
}

template <typename T, T (*kFunction)(T, T)>
ScalarError Map2(const void* const* args, const uint8_t*, void* out, int64_t n) {
  const T* x = static_cast<const T*>(args[0]);
  const T* y = static_cast<const T*>(args[1]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = kFunction(x[i], y[i]);
  return ScalarError::kNone;
}

template <typename T>
void Fill(KernelTable* table, TypeId type) {
  const auto set = [&](ScalarOp op, ScalarKernel kernel) {
    table->scalar[static_cast<int>(op)][static_cast<int>(type)] = kernel;
  };
  set(ScalarOp::kRemainder, Map2<T, std::fmod>);
  set(ScalarOp::kCbrt, Map1<T, std::cbrt>);
  set(ScalarOp::kTan, Map1<T, std::tan>);
  set(ScalarOp::kAsin, Map1<T, std::asin>);
  set(ScalarOp::kAcos, Map1<T, std::acos>);
  set(ScalarOp::kAtan, Map1<T, std::atan>);
  set(ScalarOp::kAtan2, Map2<T, std::atan2>);
  set(ScalarOp::kSinh, Map1<T, std::sinh>);
  set(ScalarOp::kCosh, Map1<T, std::cosh>);
  set(ScalarOp::kAsinh, Map1<T, std::asinh>);
  set(ScalarOp::kAcosh, Map1<T, std::acosh>);
  set(ScalarOp::kAtanh, Map1<T, std::atanh>);
}

}  // namespace

void FillLibmMaps(KernelTable* table) {
  Fill<float>(table, TypeId::kFloat32);
  Fill<double>(table, TypeId::kFloat64);
}

}  // namespace adjoin
