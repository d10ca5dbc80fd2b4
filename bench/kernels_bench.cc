// Kernels of every variant that this processor runs. Each checks its answer, then times. Column
// `roof` is the share of what the machine can do at most (bench/roof.h): the time that the fused
// multiply-adds, the reads or the writes alone would take, the longest of them, over the time
// taken. The arithmetic inside a map is not counted, so the share of exp and its like is of
// bandwidth.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/random_values.h"
#include "bench/roof.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

using bench::RandomValues;

// What one call of a kernel has to do.
struct Work {
  double flops = 0;  // fused multiply-adds count two; of elements that are `element_bytes` wide
  int64_t element_bytes = 8;
  int64_t read = 0, written = 0;  // bytes
};

// Times `body` and sets the columns: a rate, and the share of the roof.
template <typename Body>
void Measure(benchmark::State& state, const Work& work, const Body& body) {
  static const double peaks[] = {bench::FmaPeak(4, 1), bench::FmaPeak(8, 1)};
  const int64_t bytes = work.read + work.written;
  double roof = work.flops / peaks[work.element_bytes == 8];  // in nanoseconds
  if (work.read > 0)
    roof = std::max(roof, static_cast<double>(work.read) / bench::ReadBandwidth(bytes));
  if (work.written > 0)
    roof = std::max(roof, static_cast<double>(work.written) / bench::WriteBandwidth(bytes));

  // A Google Benchmark rate would be printed as one a second, which a share is not.
  const std::clock_t start = std::clock();
  for (auto _ : state) {
    body();
    benchmark::ClobberMemory();
  }
  const double nanoseconds = static_cast<double>(std::clock() - start) * (1e9 / CLOCKS_PER_SEC) /
                             static_cast<double>(state.iterations());
  if (work.flops > 0) {
    state.counters["GFLOP/s"] = work.flops / nanoseconds;
  } else {
    state.counters["GB/s"] = static_cast<double>(bytes) / nanoseconds;
  }
  state.counters["roof"] = roof / nanoseconds;
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
  constexpr int64_t kBytes = sizeof(T);
  const Work work = {2.0 * static_cast<double>(m * n * k), kBytes, (m * k + k * n) * kBytes,
                     m * n * kBytes};
  Measure(state, work, [&] { gemm(args); });
}

template <typename T>
void BM_Map(benchmark::State& state, const KernelTable* table, ScalarOp op, TypeId type,
            int64_t args, double (*reference)(double, double)) {
  const int64_t n = state.range(0);
  const std::vector<T> x = RandomValues<T>(n, 1, 0.1, 4), y = RandomValues<T>(n, 2, 0.1, 4);
  std::vector<T> out(static_cast<size_t>(n));
  const void* columns[] = {x.data(), y.data()};
  const ScalarKernel kernel = table->at(op, type);
  kernel(columns, nullptr, out.data(), n);
  for (int64_t i = 0; i < n; ++i) {
    const double expected = reference(x[i], y[i]);
    if (!(std::fabs(out[i] - expected) <= 1e-5 * std::fabs(expected) + 1e-6)) {
      state.SkipWithError("wrong value");
    }
  }
  constexpr int64_t kBytes = sizeof(T);
  Measure(state, {.read = args * n * kBytes, .written = n * kBytes},
          [&] { kernel(columns, nullptr, out.data(), n); });
}

// To the other floating type.
template <typename T>
void BM_Cast(benchmark::State& state, const KernelTable* table, TypeId type) {
  using Other = std::conditional_t<sizeof(T) == 8, float, double>;
  const int64_t n = state.range(0);
  const std::vector<T> x(static_cast<size_t>(n), T(0.5));
  std::vector<Other> out(static_cast<size_t>(n));
  const TypeId other = type == TypeId::kFloat64 ? TypeId::kFloat32 : TypeId::kFloat64;
  const ScalarKernel kernel = table->cast[static_cast<int>(type)][static_cast<int>(other)];
  const void* columns[] = {x.data()};
  kernel(columns, nullptr, out.data(), n);
  if (out.front() != Other(0.5) || out.back() != Other(0.5)) state.SkipWithError("wrong value");
  Measure(state,
          {.read = n * static_cast<int64_t>(sizeof(T)),
           .written = n * static_cast<int64_t>(sizeof(Other))},
          [&] { kernel(columns, nullptr, out.data(), n); });
}

// The kernels over one or two arrays: what each computes from x = 0.5, y = -0.25 and positions that
// are turned over, and how many arrays it reads and writes.
template <typename T>
struct Pass {
  const char* name;
  int64_t reads, writes;  // arrays of n elements
  int64_t flops;          // an element
  // Of x, y or accumulators, and positions; a number to check.
  std::function<T(const ReduceKernels<T>&, const T* x, T* y, const int64_t* index, int64_t n)> run;
  T expected;  // for n = 1024
};

template <typename T>
std::vector<Pass<T>> Passes() {
  constexpr int64_t kIndexReads = 8 / static_cast<int64_t>(sizeof(T));
  using K = ReduceKernels<T>;
  return {
      {"sum", 1, 0, 0,
       [](const K& k, const T* x, T*, const int64_t*, int64_t n) { return k.sum(x, n); }, 512},
      {"dot", 2, 0, 2,
       [](const K& k, const T* x, T* y, const int64_t*, int64_t n) { return k.dot(x, y, n); },
       -128},
      {"max", 1, 0, 0,
       [](const K& k, const T* x, T*, const int64_t*, int64_t n) { return k.max(x, n); }, T(0.5)},
      {"min", 1, 0, 0,
       [](const K& k, const T* x, T*, const int64_t*, int64_t n) { return k.min(x, n); }, T(0.5)},
      {"add_to", 2, 1, 0,
       [](const K& k, const T* x, T* y, const int64_t*, int64_t n) {
         k.add_to(x, y, n);
         return y[n - 1];
       },
       T(0.25)},
      {"max_to", 2, 1, 0,
       [](const K& k, const T* x, T* y, const int64_t*, int64_t n) {
         k.max_to(x, y, n);
         return y[n - 1];
       },
       T(0.5)},
      {"min_to", 2, 1, 0,
       [](const K& k, const T* x, T* y, const int64_t*, int64_t n) {
         k.min_to(x, y, n);
         return y[n - 1];
       },
       T(-0.25)},
      {"fill", 0, 1, 0,
       [](const K& k, const T*, T* y, const int64_t*, int64_t n) {
         k.fill(T(3), y, n);
         return y[n - 1];
       },
       T(3)},
      {"load_strided", 2, 1, 0,
       [](const K& k, const T* x, T* y, const int64_t*, int64_t n) {
         k.load_strided(x, 2, y, n);
         return y[0];
       },
       T(0.5)},
      {"scatter_add", 2 + kIndexReads, 1, 0,
       [](const K& k, const T* x, T* y, const int64_t* index, int64_t n) {
         k.scatter_add(index, x, y, n);
         return y[index[0]];
       },
       T(0.25)},
      {"gather", 1 + kIndexReads, 1, 0,
       [](const K& k, const T* x, T* y, const int64_t* index, int64_t n) {
         k.gather(x, index, y, n);
         return y[n - 1];
       },
       T(0.5)},
  };
}

template <typename T>
void BM_Pass(benchmark::State& state, const KernelTable* table, const Pass<T>& pass) {
  const int64_t n = state.range(0);
  const std::vector<T> x(static_cast<size_t>(2 * n), T(0.5));  // for a stride of 2
  std::vector<T> y(static_cast<size_t>(n), T(-0.25));
  std::vector<int64_t> index(static_cast<size_t>(n));
  std::iota(index.rbegin(), index.rend(), 0);
  const ReduceKernels<T>& kernels = table->reduce<T>();
  if (pass.run(kernels, x.data(), y.data(), index.data(), 1024) != pass.expected)
    state.SkipWithError("wrong result");
  constexpr int64_t kBytes = sizeof(T);
  Measure(
      state,
      {static_cast<double>(pass.flops * n), kBytes, pass.reads * n * kBytes,
       pass.writes * n * kBytes},
      [&] { benchmark::DoNotOptimize(pass.run(kernels, x.data(), y.data(), index.data(), n)); });
}

void BM_SumF32AsF64(benchmark::State& state, const KernelTable* table) {
  const int64_t n = state.range(0);
  const std::vector<float> x(static_cast<size_t>(n), 0.5f);
  if (table->sum_f32_as_f64(x.data(), n) != 0.5 * static_cast<double>(n))
    state.SkipWithError("wrong sum");
  Measure(state, {.read = n * 4},
          [&] { benchmark::DoNotOptimize(table->sum_f32_as_f64(x.data(), n)); });
}

void BM_Hash(benchmark::State& state, const KernelTable* table) {
  const int64_t n = state.range(0);
  const std::vector<uint64_t> x(static_cast<size_t>(n), 7);
  std::vector<uint64_t> out(static_cast<size_t>(n));
  table->hash_u64(x.data(), false, out.data(), n);
  if (out.front() != out.back()) state.SkipWithError("wrong hash");
  Measure(state, {.read = 2 * n * 8, .written = n * 8},
          [&] { table->hash_u64(x.data(), true, out.data(), n); });
}

// Words of a key, or numbers of them; the first element is checked.
struct Draw {
  const char* name;
  ScalarOp op;
  TypeId type;
  int64_t args;  // read, of 8 bytes the words, of the type's width the others
  double first;  // of key 0, or of its word 0
};
const Draw kDraws[] = {
    {"random_split", ScalarOp::kRandomSplit, TypeId::kInt64, 2, 0x6B20015999BA4EFEp0},
    {"random_bits", ScalarOp::kRandomBits, TypeId::kInt64, 2, 0x6B200159 ^ 0x99BA4EFE},
    {"random_uniform_f32", ScalarOp::kRandomUniform, TypeId::kFloat32, 3, 0x1.99ba4ep-1},
    {"random_uniform_f64", ScalarOp::kRandomUniform, TypeId::kFloat64, 3, 0x1.6b20015999ba4p-1},
    {"random_normal_f32", ScalarOp::kRandomNormal, TypeId::kFloat32, 2, 0x1.04c01cp-3},
    {"random_normal_f64", ScalarOp::kRandomNormal, TypeId::kFloat64, 2, -0x1.a5909049a141dp-4},
};

template <typename T>
void BM_Draw(benchmark::State& state, const KernelTable* table, const Draw& draw) {
  const int64_t n = state.range(0);
  std::vector<int64_t> index(static_cast<size_t>(n)), key(index.size());
  std::iota(index.begin(), index.end(), 0);
  std::vector<int64_t> word = index;
  const void* counts[] = {key.data(), index.data()};
  table->at(ScalarOp::kRandomSplit, TypeId::kInt64)(counts, nullptr, word.data(), n);
  const std::vector<T> low(index.size(), T(0.5)), high(index.size(), T(1));
  std::vector<T> out(index.size());
  const bool of_key = std::is_same_v<T, int64_t>, uniform = draw.args == 3;
  const void* args[3] = {of_key ? static_cast<const void*>(key.data()) : low.data(),
                         uniform  ? static_cast<const void*>(high.data())
                         : of_key ? index.data()
                                  : word.data(),
                         word.data()};
  const ScalarKernel kernel = table->at(draw.op, draw.type);
  kernel(args, nullptr, out.data(), n);
  if (static_cast<double>(out[0]) != draw.first) state.SkipWithError("wrong value");
  constexpr int64_t kBytes = sizeof(T);
  Measure(state, {.read = n * (8 + (draw.args - 1) * kBytes), .written = n * kBytes},
          [&] { kernel(args, nullptr, out.data(), n); });
}

struct Function {
  const char* name;
  ScalarOp op;
  int64_t args;
  double (*reference)(double, double);
};
const Function kFunctions[] = {
    {"add", ScalarOp::kAdd, 2, [](double x, double y) { return x + y; }},
    {"divide", ScalarOp::kDivide, 2, [](double x, double y) { return x / y; }},
    {"sqrt", ScalarOp::kSqrt, 1, [](double x, double) { return std::sqrt(x); }},
    {"exp", ScalarOp::kExp, 1, [](double x, double) { return std::exp(x); }},
    {"ln", ScalarOp::kLn, 1, [](double x, double) { return std::log(x); }},
    {"log2", ScalarOp::kLog2, 1, [](double x, double) { return std::log2(x); }},
    {"log10", ScalarOp::kLog10, 1, [](double x, double) { return std::log10(x); }},
    {"power", ScalarOp::kPower, 2, [](double x, double y) { return std::pow(x, y); }},
    {"tanh", ScalarOp::kTanh, 1, [](double x, double) { return std::tanh(x); }},
    {"sin", ScalarOp::kSin, 1, [](double x, double) { return std::sin(x); }},
    {"cos", ScalarOp::kCos, 1, [](double x, double) { return std::cos(x); }},
    {"erf", ScalarOp::kErf, 1, [](double x, double) { return std::erf(x); }},
    {"erfc", ScalarOp::kErfc, 1, [](double x, double) { return std::erfc(x); }},
};

// m, n, k and layouts: those of a GPT step at the base size, then small and thin ones.
std::vector<std::vector<int64_t>> ProductShapes() {
  std::vector<std::vector<int64_t>> shapes;
  std::ifstream file(ADJOIN_SOURCE_DIR "/bench/products.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, layouts;
    int64_t count = 0, m = 0, n = 0, k = 0;
    if (words >> name >> count >> m >> n >> k >> layouts)
      shapes.push_back({m, n, k, layouts == "tn" ? 1 : layouts == "nt" ? 2 : 0});
  }
  const int64_t others[][3] = {{512, 512, 512}, {16, 16, 16}, {16, 16, 8},   {16, 64, 16},
                               {8, 8, 8},       {4, 64, 64},  {1, 512, 512}, {512, 1, 512}};
  for (const auto& shape : others) {
    for (int64_t form : {0, 1, 2}) shapes.push_back({shape[0], shape[1], shape[2], form});
  }
  return shapes;
}

template <typename T>
void RegisterFor(const KernelTable* table, TypeId type, const std::string& suffix) {
  auto* gemm = benchmark::RegisterBenchmark(("gemm" + suffix).c_str(), BM_Gemm<T>, table);
  for (const std::vector<int64_t>& shape : ProductShapes()) gemm->Args(shape);
  for (const Function& function : kFunctions) {
    benchmark::RegisterBenchmark((function.name + suffix).c_str(), BM_Map<T>, table, function.op,
                                 type, function.args, function.reference)
        ->Arg(1024);
  }
  benchmark::RegisterBenchmark(("cast" + suffix).c_str(), BM_Cast<T>, table, type)->Arg(1024);
  for (const Pass<T>& pass : Passes<T>()) {
    benchmark::RegisterBenchmark((pass.name + suffix).c_str(), BM_Pass<T>, table, pass)
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
    for (const Draw& draw : kDraws) {
      const auto run = draw.type == TypeId::kInt64     ? BM_Draw<int64_t>
                       : draw.type == TypeId::kFloat32 ? BM_Draw<float>
                                                       : BM_Draw<double>;
      benchmark::RegisterBenchmark((draw.name + ("/" + isa)).c_str(), run, table, draw)->Arg(1024);
    }
    benchmark::RegisterBenchmark(("hash/" + isa).c_str(), BM_Hash, table)->Arg(1024);
    benchmark::RegisterBenchmark(("sum_f32_as_f64/" + isa).c_str(), BM_SumF32AsF64, table)
        ->Arg(1024);
  }
  return true;
}();

}  // namespace
}  // namespace adjoin
