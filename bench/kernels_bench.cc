// Kernels of every variant that this processor runs. Each checks its answer, then times; rates have
// a roof to compare with: FMA peak for products (2 flops x lanes x FMA units x clock), a cache
// level's bandwidth for the rest.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

template <typename T>
std::vector<T> RandomValues(int64_t n, uint64_t seed, double low = -1, double high = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

// Args: m, n, k and the operands' layouts: 0 both row-major, 1 A transposed, 2 B transposed.
template <typename T>
void BM_Gemm(benchmark::State& state, const KernelTable* table) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2), form = state.range(3);
  const std::vector<T> a = RandomValues<T>(m * k, 1), b = RandomValues<T>(k * n, 2);
  std::vector<T> c(static_cast<size_t>(m * n));
  std::vector<double> scratch(static_cast<size_t>(GemmScratchBytes(m, n, k, sizeof(T)) / 8 + 16));
  void* aligned = scratch.data();
  size_t space = scratch.size() * 8;
  std::align(64, 64, aligned, space);
  const bool ta = form == 1, tb = form == 2;
  const GemmArgs<T> args = {m,          n,        k,          a.data(),   ta ? 1 : k,
                            ta ? m : 1, b.data(), tb ? 1 : n, tb ? k : 1, c.data(),
                            n,          1,        T(1),       false,      aligned};
  const auto gemm = table->reduce<T>().gemm;
  gemm(args);
  for (int64_t i = 0; i < m; i += m / 3 + 1) {
    for (int64_t j = 0; j < n; j += n / 3 + 1) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += static_cast<double>(a[i * args.a_row + p * args.a_col]) *
               b[p * args.b_row + j * args.b_col];
      }
      if (!(std::fabs(sum - c[i * n + j]) < 1e-3)) state.SkipWithError("wrong product");
    }
  }
  for (auto _ : state) {
    gemm(args);
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * static_cast<double>(m * n * k) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

template <typename T>
void BM_Map(benchmark::State& state, const KernelTable* table, ScalarOp op, TypeId type,
            double (*reference)(double, double)) {
  const int64_t n = state.range(0);
  const std::vector<T> x = RandomValues<T>(n, 1, 0.1, 4), y = RandomValues<T>(n, 2, 0.1, 4);
  std::vector<T> out(static_cast<size_t>(n));
  const void* args[] = {x.data(), y.data()};
  const ScalarKernel kernel = table->at(op, type);
  kernel(args, nullptr, out.data(), n);
  for (int64_t i = 0; i < n; ++i) {
    const double expected = reference(x[i], y[i]);
    if (!(std::fabs(out[i] - expected) <= 1e-5 * std::fabs(expected) + 1e-6)) {
      state.SkipWithError("wrong value");
    }
  }
  for (auto _ : state) {
    kernel(args, nullptr, out.data(), n);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}

template <typename T>
void BM_Sum(benchmark::State& state, const KernelTable* table, bool dot) {
  const int64_t n = state.range(0);
  const std::vector<T> x(static_cast<size_t>(n), T(0.5)), y(static_cast<size_t>(n), T(-0.25));
  const ReduceKernels<T>& kernels = table->reduce<T>();
  const auto run = [&] {
    return dot ? kernels.dot(x.data(), y.data(), n) : kernels.sum(x.data(), n);
  };
  if (run() != static_cast<T>(dot ? -0.125 * n : 0.5 * n)) state.SkipWithError("wrong sum");
  for (auto _ : state) benchmark::DoNotOptimize(run());
  state.SetBytesProcessed(state.iterations() * n * (dot ? 2 : 1) * static_cast<int64_t>(sizeof(T)));
}

void BM_Hash(benchmark::State& state, const KernelTable* table) {
  const int64_t n = state.range(0);
  const std::vector<uint64_t> x(static_cast<size_t>(n), 7);
  std::vector<uint64_t> out(static_cast<size_t>(n));
  table->hash_u64(x.data(), false, out.data(), n);
  if (out.front() != out.back()) state.SkipWithError("wrong hash");
  for (auto _ : state) {
    table->hash_u64(x.data(), true, out.data(), n);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}

struct Function {
  const char* name;
  ScalarOp op;
  double (*reference)(double, double);
};
const Function kFunctions[] = {
    {"add", ScalarOp::kAdd, [](double x, double y) { return x + y; }},
    {"divide", ScalarOp::kDivide, [](double x, double y) { return x / y; }},
    {"sqrt", ScalarOp::kSqrt, [](double x, double) { return std::sqrt(x); }},
    {"exp", ScalarOp::kExp, [](double x, double) { return std::exp(x); }},
    {"ln", ScalarOp::kLn, [](double x, double) { return std::log(x); }},
    {"log2", ScalarOp::kLog2, [](double x, double) { return std::log2(x); }},
    {"log10", ScalarOp::kLog10, [](double x, double) { return std::log10(x); }},
    {"power", ScalarOp::kPower, [](double x, double y) { return std::pow(x, y); }},
    {"tanh", ScalarOp::kTanh, [](double x, double) { return std::tanh(x); }},
    {"sin", ScalarOp::kSin, [](double x, double) { return std::sin(x); }},
    {"cos", ScalarOp::kCos, [](double x, double) { return std::cos(x); }},
    {"erf", ScalarOp::kErf, [](double x, double) { return std::erf(x); }},
    {"erfc", ScalarOp::kErfc, [](double x, double) { return std::erfc(x); }},
};

template <typename T>
void RegisterFor(const KernelTable* table, TypeId type, const std::string& suffix) {
  const int64_t shapes[][3] = {{768, 512, 128}, {512, 512, 512}, {256, 64, 64}, {64, 64, 256},
                               {128, 128, 32},  {16, 16, 16},    {16, 16, 8},   {16, 64, 16},
                               {8, 8, 8},       {4, 64, 64},     {1, 512, 512}, {512, 1, 512}};
  auto* gemm = benchmark::RegisterBenchmark(("gemm" + suffix).c_str(), BM_Gemm<T>, table);
  for (const auto& shape : shapes) {
    for (int form : {0, 1, 2}) gemm->Args({shape[0], shape[1], shape[2], form});
  }
  for (const Function& function : kFunctions) {
    benchmark::RegisterBenchmark((function.name + suffix).c_str(), BM_Map<T>, table, function.op,
                                 type, function.reference)
        ->Arg(1024);
  }
  for (bool dot : {false, true}) {
    benchmark::RegisterBenchmark(((dot ? "dot" : "sum") + suffix).c_str(), BM_Sum<T>, table, dot)
        ->Arg(64)
        ->Arg(1024)
        ->Arg(16384)
        ->Arg(1 << 22);
  }
}

const bool kRegistered = [] {
  for (const KernelTable* table : SupportedKernels()) {
    const std::string isa = table->isa;
    RegisterFor<float>(table, TypeId::kFloat32, "_f32/" + isa);
    RegisterFor<double>(table, TypeId::kFloat64, "_f64/" + isa);
    benchmark::RegisterBenchmark(("hash/" + isa).c_str(), BM_Hash, table)->Arg(1024);
  }
  return true;
}();

}  // namespace
}  // namespace adjoin
