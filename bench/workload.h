// Prepared statements that are checked, then timed: what the programs bench/*_bench.cc have in
// common. Alone, such a program times itself; with --serve it does so in rounds that bench/
// against_jax.py asks for, in turn with rounds of JAX.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adjoin/connection.h"
#include "adjoin/prepared.h"
#include "gpt/gpt_data.h"
#include "nlohmann/json.hpp"

namespace adjoin::bench {

struct Options {
  std::string size, dtype = "f64";
  int threads = 1;
  double seconds = 3;
  bool json = false, explain = false;
  bool serve = false;
  std::vector<std::string> settings;  // of the session, NAME=VALUE
  std::string results;  // a folder for NPY files of what the first run left; empty: none

  gpt::Dtype Dtype() const { return dtype == "f32" ? gpt::Dtype::kFloat32 : gpt::Dtype::kFloat64; }
  std::string_view SqlType() const { return dtype == "f32" ? "REAL" : "DOUBLE PRECISION"; }
};

// A query of one number, and what it must be up to the tolerance of the dtype, relatively.
struct Check {
  std::string sql;
  double expected;
};

struct Workload {
  std::vector<std::string> statements;  // timed as one run; rows that one returns become `result`
  double flops = 0;                     // multiplications and additions of its products
  std::function<absl::Status(api::Connection&)> create;  // makes the tables
  std::function<absl::Status(api::Connection&)> reset;   // before each run but the first, untimed
  std::string loss;                  // a query of one number, printed; empty: none
  std::vector<Check> before, after;  // the first run
  // What the first run left, for a comparison with JAX: a name, and a query of dims and one value.
  struct Left {
    std::string name, sql;
  };
  std::vector<Left> left;
};

// A workload's statements, prepared, run once and found right.
class Timed {
 public:
  static absl::StatusOr<Timed> Make(const Options& options, const Workload& workload);

  // Runs for that long, once at least.
  absl::Status Round(double seconds);
  const std::vector<double>& times_ms() const { return times_; }
  api::Stats Counts() const;  // of all statements
  double plan_ms() const { return plan_ms_; }
  // What preparing and the first run took at most, beside the tables.
  int64_t run_peak_bytes() const { return run_peak_bytes_; }
  // The values that the runs so far left, table by table.
  absl::StatusOr<std::vector<double>> Left();
  // What was measured so far.
  nlohmann::ordered_json Record(const std::string& name) const;
  std::string Explain() const;

 private:
  Timed(const Options& options, const Workload& workload, api::Connection connection);
  absl::Status Prepare(const Workload& workload);
  absl::Status RunOnce(api::Connection& connection, const Workload& workload);

  Options options_;
  double flops_;
  std::function<absl::Status(api::Connection&)> reset_;
  std::vector<Workload::Left> left_;
  api::Connection connection_;
  int64_t resident_before_ = 0, run_peak_bytes_ = 0;
  std::optional<double> loss_;
  std::vector<api::Prepared> prepared_;
  double plan_ms_ = 0;
  std::vector<double> times_;
};

// The grid tables `parameters`, with initial values from the stream that starts in `seed`.
absl::Status CreateTables(api::Connection& connection,
                          const std::vector<gpt::Parameter>& parameters, uint64_t seed,
                          const Options& options);

// The program: options, of which --size is `size` by default and as `sizes` says, then `make`'s
// workload. The exit code.
int Main(int argc, char** argv, const std::string& name, const std::string& size,
         const std::string& sizes,
         const std::function<absl::StatusOr<Workload>(const Options&)>& make);

}  // namespace adjoin::bench
