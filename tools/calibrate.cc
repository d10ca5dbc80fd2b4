#include "calibrate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "adjoin/database.h"
#include "engine/status.h"
#include "engine/task_pool.h"
#include "kernels/kernel_table.h"

namespace adjoin {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSearchSeconds = 0.1;  // of each constant

// The fewest nanoseconds of many calls of `run`, by what one does.
template <typename Run>
double Fastest(double units, const Run& run) {
  double best = HUGE_VAL;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    run();
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    best = std::min(best, took.count());
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < kSearchSeconds);
  return best / units;
}

// Of 8 bytes, where those read and those written are `bytes` together.
double CopyNs(int64_t bytes) {
  const auto half = static_cast<size_t>(bytes / 2);
  const std::vector<char> from(half, 'x');
  std::vector<char> to(half);
  // Many passes over a small buffer, so that the clock does not count.
  const int64_t passes = std::max<int64_t>(1, (int64_t{1} << 20) / bytes);
  return Fastest(static_cast<double>(passes) * static_cast<double>(half) / 8, [&] {
    for (int64_t i = 0; i < passes; ++i) {
      std::memcpy(to.data(), from.data(), half);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
  });
}

// Of a DOUBLE in blocks as fused steps have them.
double CellNs(ScalarOp op) {
  constexpr int64_t kCells = 1024, kPasses = 64;
  const std::vector<double> a(kCells, 0.375), b(kCells, -0.25);
  std::vector<double> out(kCells);
  const void* args[] = {a.data(), b.data()};
  const ScalarKernel kernel = Kernels().at(op, TypeId::kFloat64);
  return Fastest(kCells * kPasses, [&] {
    for (int64_t i = 0; i < kPasses; ++i) kernel(args, nullptr, out.data(), kCells);
  });
}

double PositionNs() {
  constexpr int64_t kCells = 1 << 14, kTable = 1 << 12;
  std::vector<int64_t> index(kCells);
  for (int64_t i = 0; i < kCells; ++i) index[static_cast<size_t>(i)] = (i * 2654435761) % kTable;
  std::vector<double> table(kTable, 0.5), cells(kCells);
  const ReduceKernels<double>& kernels = Kernels().f64;
  return Fastest(2 * kCells, [&] {
    kernels.gather(table.data(), index.data(), cells.data(), kCells);
    kernels.scatter_add(index.data(), cells.data(), table.data(), kCells);
  });
}

// GFLOP/s of a product of the size that a step of a small transformer has.
template <typename T>
double ProductRate() {
  constexpr int64_t kRows = 256, kColumns = 128, kInner = 128;
  const std::vector<T> a(kRows * kInner, T(0.5)), b(kInner * kColumns, T(0.25));
  std::vector<T> c(kRows * kColumns);
  constexpr int64_t kLine = 64;
  std::vector<char> scratch(
      static_cast<size_t>(GemmScratchBytes(kRows, kColumns, kInner, sizeof(T)) + kLine));
  const auto start = reinterpret_cast<uintptr_t>(scratch.data());
  GemmArgs<T> args{
      kRows,    kColumns, kInner,
      a.data(), kInner,   1,
      b.data(), kColumns, 1,
      c.data(), kColumns, 1,
      T(1),     false,    reinterpret_cast<void*>((start + kLine - 1) / kLine * kLine)};
  return 1 / Fastest(2.0 * kRows * kColumns * kInner, [&] { Kernels().reduce<T>().gemm(args); });
}

// A run of a program of `steps` steps of one cell.
absl::StatusOr<double> RunNs(int steps) {
  ADJOIN_ASSIGN_OR_RETURN(const api::Database database, api::Database::Open({.threads = 1}));
  api::Connection connection = database.Connect();
  ADJOIN_RETURN_IF_ERROR(
      connection
          .Execute("CREATE TABLE t (k BIGINT PRIMARY KEY, val DOUBLE PRECISION);"
                   "INSERT INTO t VALUES (0, 0.0); SET adjoin.inline = off")  // or it is one step
          .status());
  std::string sql = "UPDATE t SET val = val";
  for (int i = 0; i < steps; ++i) sql += " + 1.0";
  ADJOIN_ASSIGN_OR_RETURN(api::Prepared step, connection.Prepare(sql));
  absl::Status failed;
  const double ns = Fastest(1, [&] {
    if (auto done = step.Run(); !done.ok()) failed = done.status();
  });
  ADJOIN_RETURN_IF_ERROR(failed);
  return ns;
}

// What two tasks take longer side by side than one does.
double TaskNs() {
  static constexpr std::chrono::microseconds kWork(50);
  const auto spin = [](void*, int64_t, int) {
    const auto start = Clock::now();
    while (Clock::now() - start < kWork) {
    }
  };
  TaskPool pool(2);
  const double both = Fastest(1, [&] { pool.ForEachBlockNoFail(2, spin, nullptr); });
  return std::max(1.0, both - std::chrono::duration<double, std::nano>(kWork).count());
}

}  // namespace

absl::StatusOr<StepCosts> MeasureCosts() {
  constexpr int kSteps = 64;
  StepCosts costs;
  ADJOIN_ASSIGN_OR_RETURN(const double one, RunNs(1));
  ADJOIN_ASSIGN_OR_RETURN(const double many, RunNs(1 + kSteps));
  costs.call = std::max(1.0, (many - one) / kSteps);
  costs.task = TaskNs();
  costs.copy_l1 = CopyNs(16 << 10);
  costs.copy_l2 = CopyNs(256 << 10);
  costs.copy_l3 = CopyNs(8 << 20);
  costs.copy_memory = CopyNs(256 << 20);
  costs.add = CellNs(ScalarOp::kAdd);
  costs.exp = CellNs(ScalarOp::kExp);
  costs.tanh = CellNs(ScalarOp::kTanh);
  costs.position = PositionNs();
  costs.product_f32 = ProductRate<float>();
  costs.product_f64 = ProductRate<double>();
  return costs;
}

}  // namespace adjoin
