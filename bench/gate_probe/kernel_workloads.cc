// Kernels over arrays that stay in a near cache, each checked against plain arithmetic.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "bench/gate_probe/workload.h"
#include "bench/random_values.h"
#include "kernels/kernel_table.h"

namespace adjoin::gate {
namespace {

using bench::RandomValues;

constexpr int64_t kRows = 4096;

template <typename T>
constexpr TypeId kTypeOf = sizeof(T) == 4 ? TypeId::kFloat32 : TypeId::kFloat64;
template <typename T>
constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;

// OK where `actual` is `expected` but for rounding of terms about `scale` large.
template <typename T>
absl::Status Compare(double actual, double expected, double scale) {
  if (std::fabs(actual - expected) <= kTolerance<T> * scale) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("wrong value: ", actual, " instead of ", expected));
}

enum class Form { kPlain, kLeftTransposed, kRightTransposed };

template <typename T>
struct GemmData {
  std::vector<T> a, b, c;
  std::vector<double> scratch;
  GemmArgs<T> args;
};

template <typename T>
absl::StatusOr<Work> MakeGemm(int64_t m, int64_t n, int64_t k, Form form) {
  auto data = std::make_shared<GemmData<T>>();
  data->a = RandomValues<T>(m * k, 1, -1, 1);
  data->b = RandomValues<T>(k * n, 2, -1, 1);
  data->c.resize(static_cast<size_t>(m * n));
  data->scratch.resize(static_cast<size_t>(GemmScratchBytes(m, n, k, sizeof(T)) / 8 + 16));
  void* aligned = data->scratch.data();
  size_t space = data->scratch.size() * 8;
  std::align(64, 64, aligned, space);
  const bool left = form == Form::kLeftTransposed, right = form == Form::kRightTransposed;
  data->args = {m,
                n,
                k,
                data->a.data(),
                left ? 1 : k,
                left ? m : 1,
                data->b.data(),
                right ? 1 : n,
                right ? k : 1,
                data->c.data(),
                n,
                1,
                T(1),
                false,
                aligned};
  const GemmArgs<T>& args = data->args;
  Kernels().reduce<T>().gemm(args);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(args.a[i * args.a_row + p * args.a_col]) *
               static_cast<double>(args.b[p * args.b_row + j * args.b_col]);
      const absl::Status right_value =
          Compare<T>(static_cast<double>(args.c[i * n + j]), sum, static_cast<double>(k));
      if (!right_value.ok()) return right_value;
    }
  }
  return [data] {
    Kernels().reduce<T>().gemm(data->args);
    return absl::OkStatus();
  };
}

using Function = double (*)(double, double);

template <typename T>
absl::StatusOr<Work> MakeMap(ScalarOp op, Function reference) {
  struct Data {
    std::vector<T> x = RandomValues<T>(kRows, 1, 0.1, 4), y = RandomValues<T>(kRows, 2, 0.1, 4),
                   out = std::vector<T>(kRows);
  };
  auto data = std::make_shared<Data>();
  const auto run = [data, op] {
    const void* args[] = {data->x.data(), data->y.data()};
    Kernels().at(op, kTypeOf<T>)(args, nullptr, data->out.data(), kRows);
    return absl::OkStatus();
  };
  if (absl::Status done = run(); !done.ok()) return done;
  for (size_t i = 0; i < kRows; ++i) {
    const double expected =
        reference(static_cast<double>(data->x[i]), static_cast<double>(data->y[i]));
    const absl::Status right =
        Compare<T>(static_cast<double>(data->out[i]), expected, 1 + std::fabs(expected));
    if (!right.ok()) return right;
  }
  return run;
}

// A reduction or a move of the arrays below. `run` gives one number, which is to be expected(data).
template <typename T>
struct Arrays {
  std::vector<T> x = RandomValues<T>(kRows, 1, -1, 1), y = RandomValues<T>(kRows, 2, -1, 1),
                 out = std::vector<T>(kRows);
  std::vector<int64_t> index = std::vector<int64_t>(kRows);
};

template <typename T, typename Run, typename Expected>
absl::StatusOr<Work> MakeReduction(Run run, Expected expected) {
  auto data = std::make_shared<Arrays<T>>();
  for (size_t i = 0; i < kRows; ++i)
    data->index[i] = static_cast<int64_t>((i * 2654435761U) % (kRows / 8));
  const absl::Status right = Compare<T>(static_cast<double>(run(*data)), expected(*data), kRows);
  if (!right.ok()) return right;
  return [data, run] {
    volatile T result = run(*data);
    (void)result;
    return absl::OkStatus();
  };
}

template <typename T>
double Total(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

template <typename T>
void AddReductions(const std::string& suffix, std::vector<Workload>* list) {
  using A = Arrays<T>;
  const auto add = [&](const char* name, auto run, auto expected) {
    list->push_back(
        {absl::StrCat("kernel.", name, suffix), [=] { return MakeReduction<T>(run, expected); }});
  };
  add(
      "sum", [](A& a) { return Kernels().reduce<T>().sum(a.x.data(), kRows); },
      [](const A& a) { return Total(a.x); });
  add(
      "dot", [](A& a) { return Kernels().reduce<T>().dot(a.x.data(), a.y.data(), kRows); },
      [](const A& a) { return std::inner_product(a.x.begin(), a.x.end(), a.y.begin(), 0.0); });
  add(
      "max", [](A& a) { return Kernels().reduce<T>().max(a.x.data(), kRows); },
      [](const A& a) { return static_cast<double>(*std::max_element(a.x.begin(), a.x.end())); });
  add(
      "scatter_add",
      [](A& a) {
        Kernels().reduce<T>().fill(T(0), a.out.data(), kRows);
        Kernels().reduce<T>().scatter_add(a.index.data(), a.x.data(), a.out.data(), kRows);
        return a.out[1];
      },
      [](const A& a) {
        double sum = 0;
        for (size_t i = 0; i < kRows; ++i) sum += a.index[i] == 1 ? static_cast<double>(a.x[i]) : 0;
        return sum;
      });
  add(
      "gather",
      [](A& a) {
        Kernels().reduce<T>().gather(a.x.data(), a.index.data(), a.out.data(), kRows);
        return a.out[kRows - 1];
      },
      [](const A& a) { return static_cast<double>(a.x[static_cast<size_t>(a.index[kRows - 1])]); });
}

template <typename T>
void AddProducts(const std::string& suffix, std::vector<Workload>* list) {
  const auto add = [&](const char* name, int64_t m, int64_t n, int64_t k, Form form) {
    list->push_back(
        {absl::StrCat("kernel.", name, suffix), [=] { return MakeGemm<T>(m, n, k, form); }});
  };
  add("gemm", 96, 96, 96, Form::kPlain);
  add("gemm_left_transposed", 64, 64, 256, Form::kLeftTransposed);
  add("gemm_right_transposed", 256, 64, 64, Form::kRightTransposed);
  add("gemm_tiny", 16, 16, 8, Form::kPlain);
  add("gemv", 1, 256, 256, Form::kPlain);
}

absl::StatusOr<Work> MakeHash() {
  struct Data {
    std::vector<uint64_t> in = std::vector<uint64_t>(kRows), out = std::vector<uint64_t>(kRows);
  };
  auto data = std::make_shared<Data>();
  std::iota(data->in.begin(), data->in.end(), 1);
  const auto run = [data] {
    Kernels().hash_u64(data->in.data(), false, data->out.data(), kRows);
    return absl::OkStatus();
  };
  if (absl::Status done = run(); !done.ok()) return done;
  std::vector<uint64_t> distinct = data->out;
  std::sort(distinct.begin(), distinct.end());
  if (std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end())
    return absl::InternalError("two of few integers have one hash");
  return run;
}

}  // namespace

std::vector<Workload> KernelWorkloads() {
  std::vector<Workload> list;
  AddProducts<float>("_f32", &list);
  AddProducts<double>("_f64", &list);
  const struct {
    const char* name;
    ScalarOp op;
    Function reference;
  } maps[] = {
      {"add", ScalarOp::kAdd, [](double x, double y) { return x + y; }},
      {"exp", ScalarOp::kExp, [](double x, double) { return std::exp(x); }},
      {"ln", ScalarOp::kLn, [](double x, double) { return std::log(x); }},
      {"tanh", ScalarOp::kTanh, [](double x, double) { return std::tanh(x); }},
      {"sqrt", ScalarOp::kSqrt, [](double x, double) { return std::sqrt(x); }},
      {"power", ScalarOp::kPower, [](double x, double y) { return std::pow(x, y); }},
  };
  for (const auto& [name, op, reference] : maps) {
    list.push_back({absl::StrCat("kernel.", name, "_f32"),
                    [op = op, reference = reference] { return MakeMap<float>(op, reference); }});
    list.push_back({absl::StrCat("kernel.", name, "_f64"),
                    [op = op, reference = reference] { return MakeMap<double>(op, reference); }});
  }
  AddReductions<float>("_f32", &list);
  AddReductions<double>("_f64", &list);
  list.push_back({"kernel.hash_u64", MakeHash});
  return list;
}

}  // namespace adjoin::gate
