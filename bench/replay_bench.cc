// What a run of a prepared program costs beyond its work: programs of 1 and of 65 steps, each a sum
// of one cell with a constant. Prints the fixed cost of a run and of a step; fails above the bounds
// that they have to keep.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "adjoin/error.h"
#include "adjoin/prepared.h"
#include "bench/clock.h"

namespace adjoin::bench {
namespace {

constexpr int kMany = 65, kWarmUp = 100, kRounds = 200, kRunsARound = 100;
constexpr double kMostRunNs = 5000, kMostStepNs = 50;

// The least nanoseconds of a run of `steps` steps, over rounds.
absl::StatusOr<double> Measure(int steps) {
  auto database = api::Database::Open({.threads = 1});
  if (!database.ok()) return database.status();
  api::Connection connection = database->Connect();
  auto made = connection.Execute(
      "CREATE TABLE t (k BIGINT PRIMARY KEY, val DOUBLE PRECISION); INSERT INTO t VALUES (0, 0.0);"
      "SET adjoin.inline = off");  // or all sums are one step
  if (!made.ok()) return made.status();
  std::string sql = "UPDATE t SET val = val";
  for (int i = 0; i < steps; ++i) absl::StrAppend(&sql, " + 1.0");
  auto step = connection.Prepare(sql);
  if (!step.ok()) return step.status();
  if (step->stats().steps != steps)
    return absl::InternalError(absl::StrCat(step->stats().steps, " steps instead of ", steps));
  double least = HUGE_VAL;
  for (int i = 0; i < kWarmUp; ++i) {
    if (auto done = step->Run(); !done.ok()) return done.status();
  }
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kRunsARound; ++i) {
      if (auto done = step->Run(); !done.ok()) return done.status();
    }
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    least = std::min(least, took.count() / kRunsARound);
  }
  const double expected = 1.0 * steps * (kWarmUp + kRounds * kRunsARound);
  auto last = connection.Query("SELECT val FROM t");
  if (!last.ok()) return last.status();
  const double value = (*last->rows.column_data<double>(0))[0];
  if (value != expected)
    return absl::InternalError(absl::StrCat("the cell is ", value, " instead of ", expected));
  return least;
}

}  // namespace
}  // namespace adjoin::bench

int main() {
  using adjoin::bench::Measure;
  const auto one = Measure(1), many = Measure(adjoin::bench::kMany);
  for (const auto* measured : {&one, &many}) {
    if (measured->ok()) continue;
    std::fputs(adjoin::api::FormatError(measured->status()).c_str(), stderr);
    return 1;
  }
  const double step = (*many - *one) / (adjoin::bench::kMany - 1), run = *one - step;
  std::printf("{\"run_ns\": %.0f, \"step_ns\": %.1f}\n", run, step);
  return run <= adjoin::bench::kMostRunNs && step <= adjoin::bench::kMostStepNs ? 0 : 1;
}
