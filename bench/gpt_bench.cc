// Times a prepared SGD step of the GPT, after checking what it computes against the reference
// values of tests/data: in f64 every parameter after the first step, in f32 the loss. Prints one
// JSON line with --json.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "adjoin/database.h"
#include "adjoin/error.h"
#include "gpt/gpt_data.h"
#include "gpt/gpt_sql.h"

namespace gpt {
namespace {

using adjoin::api::Connection;
using adjoin::api::Prepared;
using adjoin::api::Table;

constexpr double kLearningRate = 0.1;         // of the reference values
constexpr double kParameterTolerance = 1e-9;  // of f64, absolute: parameters are about 1
constexpr double kLossTolerance = 1e-5;       // of f32, relative to the f64 loss
constexpr int kMinSteps = 20;
constexpr int kMaxSteps = 5000;

struct Options {
  std::string size = "small", dtype = "f64";
  int threads = 1;
  double seconds = 3;
  bool json = false;
  bool explain = false;
};

struct Timing {
  double min_ms = 0, median_ms = 0;
};

Dtype DtypeOf(const Options& options) {
  return options.dtype == "f32" ? Dtype::kFloat32 : Dtype::kFloat64;
}

std::string ReferenceDirectory(const Options& options) {
  return std::string(ADJOIN_SOURCE_DIR) + "/tests/data/gpt_" + options.size;
}

// The values of the NPY file `path`, whose axes are called `dims`.
absl::StatusOr<std::vector<double>> ReadReference(Connection& connection, const std::string& path,
                                                  const std::vector<std::string>& dims) {
  std::string columns, key;
  for (const std::string& dim : dims) {
    absl::StrAppend(&columns, dim, " BIGINT, ");
    absl::StrAppend(&key, key.empty() ? "" : ", ", dim);
  }
  auto read = connection.Query(absl::StrCat("CREATE TABLE reference (", columns,
                                            "val DOUBLE PRECISION, PRIMARY KEY (", key,
                                            ")); COPY reference FROM '", path, "' (FORMAT npy)"));
  if (!read.ok()) return read.status();
  auto table = connection.GetTable("reference");
  if (!table.ok()) return table.status();
  auto values = table->column_data<double>(static_cast<int>(dims.size()));
  if (!values.ok()) return values.status();
  std::vector<double> copy(values->begin(), values->end());
  auto dropped = connection.Query("DROP TABLE reference");
  if (!dropped.ok()) return dropped.status();
  return copy;
}

absl::StatusOr<double> Loss(Connection& connection, const ModelSql& model, Dtype dtype) {
  auto result = connection.Query(model.Loss());
  if (!result.ok()) return result.status();
  if (dtype == Dtype::kFloat32) {
    auto loss = result->rows.column_data<float>(0);
    if (!loss.ok()) return loss.status();
    return static_cast<double>((*loss)[0]);
  }
  auto loss = result->rows.column_data<double>(0);
  if (!loss.ok()) return loss.status();
  return (*loss)[0];
}

absl::Status CheckLoss(Connection& references, const Options& options, double loss) {
  auto expected = ReadReference(references, ReferenceDirectory(options) + "/out/losses.npy", {"s"});
  if (!expected.ok()) return expected.status();
  const double tolerance =
      DtypeOf(options) == Dtype::kFloat32 ? kLossTolerance : kParameterTolerance;
  if (std::abs(loss - expected->at(0)) <= tolerance * expected->at(0)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("wrong loss: ", loss, " instead of ", expected->at(0)));
}

absl::Status CheckParameters(Connection& connection, Connection& references, const Options& options,
                             const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    const std::string path =
        absl::StrCat(ReferenceDirectory(options), "/after_1/", parameter.name, ".npy");
    auto expected = ReadReference(references, path, parameter.dims);
    if (!expected.ok()) return expected.status();
    auto table = connection.GetTable(parameter.name);
    if (!table.ok()) return table.status();
    auto values = table->column_data<double>(static_cast<int>(parameter.dims.size()));
    if (!values.ok()) return values.status();
    if (values->size() != expected->size())
      return absl::InternalError("wrong number of rows: " + parameter.name);
    for (size_t i = 0; i < expected->size(); ++i) {
      const double error = std::abs((*values)[i] - (*expected)[i]);
      if (!(error <= kParameterTolerance)) {
        return absl::InternalError(absl::StrCat("wrong parameter after one step: ", parameter.name,
                                                " at row ", i, " is off by ", error));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Timing> Time(Prepared& step, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  times.reserve(kMaxSteps);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (std::ssize(times) < kMaxSteps && (std::ssize(times) < kMinSteps || Clock::now() < end)) {
    const auto start = Clock::now();
    if (auto done = step.Run(); !done.ok()) return done.status();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return Timing{times.front(), times[times.size() / 2]};
}

void Print(const Options& options, const Timing& timing, const adjoin::api::Stats& stats,
           int64_t peak_bytes, double loss) {
  const char* format =
      options.json
          ? "{\"size\": \"%s\", \"dtype\": \"%s\", \"threads\": %d, \"min_ms\": %.6g, "
            "\"median_ms\": %.6g, "
            "\"plan_ms\": %.6g, \"steps\": %d, \"operators\": %d, \"base_table_reads\": %d, "
            "\"peak_bytes\": %ld, \"loss\": %.17g}\n"
          : "GPT %s, %s, %d thread(s): SGD step %.4g ms min, %.4g ms median; planned in %.4g ms\n"
            "%d steps, %d operators, %d base table reads; %ld bytes at peak; loss %.12g\n";
  std::printf(format, options.size.c_str(), options.dtype.c_str(), options.threads, timing.min_ms,
              timing.median_ms, stats.plan_ms, stats.steps, stats.operators, stats.base_table_reads,
              static_cast<long>(peak_bytes), loss);
}

absl::Status Run(const Options& options) {
  auto size = SizeByName(options.size);
  if (!size.ok()) return size.status();
  auto text = Text::Load(ADJOIN_SOURCE_DIR "/examples/gpt/data/text.txt");
  if (!text.ok()) return text.status();
  auto model = ModelSql::Load(ADJOIN_SOURCE_DIR "/examples/models/gpt_tied.sql");
  if (!model.ok()) return model.status();
  const auto parameters = Parameters(*size, std::ssize(text->vocabulary()), /*untied=*/false);
  auto values = InitialValues(parameters, /*seed=*/1, DtypeOf(options));
  if (!values.ok()) return values.status();
  auto batch = Batch(text->train(), size->batch, size->context, /*step=*/0, /*seed=*/2);
  if (!batch.ok()) return batch.status();

  auto database = adjoin::api::Database::Open({.threads = options.threads});
  auto reference_database = adjoin::api::Database::Open();
  if (!database.ok()) return database.status();
  if (!reference_database.ok()) return reference_database.status();
  Connection connection = database->Connect(), references = reference_database->Connect();
  absl::Status made = CreateTables(connection, parameters, *values, *batch, DtypeOf(options));
  if (!made.ok()) return made;

  auto loss = Loss(connection, *model, DtypeOf(options));
  if (!loss.ok()) return loss.status();
  if (absl::Status right = CheckLoss(references, options, *loss); !right.ok()) return right;
  database->ResetPeak();
  auto step = connection.Prepare(model->Step(parameters, kLearningRate));
  if (!step.ok()) return step.status();
  if (auto done = step->Run(); !done.ok()) return done.status();
  if (DtypeOf(options) == Dtype::kFloat64) {
    absl::Status right = CheckParameters(connection, references, options, parameters);
    if (!right.ok()) return right;
  }
  auto timing = Time(*step, options.seconds);
  if (!timing.ok()) return timing.status();
  if (options.explain) std::fputs(step->Explain(/*analyze=*/true).c_str(), stderr);
  Print(options, *timing, step->stats(), database->memory_peak(), *loss);
  return absl::OkStatus();
}

}  // namespace
}  // namespace gpt

int main(int argc, char** argv) {
  CLI::App app("Times a prepared SGD step of the GPT.");
  gpt::Options options;
  app.add_option("--size", options.size, "small or base")
      ->check(CLI::IsMember({"small", "base"}))
      ->capture_default_str();
  app.add_option("--dtype", options.dtype, "f32 or f64")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads of a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "time spent on timed steps")->capture_default_str();
  app.add_flag("--json", options.json, "print one JSON line");
  app.add_flag("--explain", options.explain,
               "print the program and the last step's times to stderr");
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = gpt::Run(options); !status.ok()) {
    std::fputs(adjoin::api::FormatError(status).c_str(), stderr);
    return 1;
  }
  return 0;
}
