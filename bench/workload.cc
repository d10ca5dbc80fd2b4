#include "bench/workload.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "adjoin/database.h"
#include "adjoin/error.h"
#include "bench/clock.h"
#include "bench/resident.h"
#include "bench/roof.h"
#include "engine/large_memory.h"

namespace adjoin::bench {
namespace {

using api::Connection;
using api::Prepared;
using Json = nlohmann::ordered_json;

constexpr double kTolerance[] = {1e-5, 1e-12};  // of checks in f32, f64
constexpr int64_t kMaxRuns = 5000;              // a round

absl::StatusOr<double> Number(Connection& connection, const std::string& sql) {
  auto result = connection.Query(sql);
  if (!result.ok()) return result.status();
  const api::Value value = result->rows.value(0, 0);
  const double* number = std::get_if<double>(&value);
  if (number == nullptr) return absl::InternalError("not a number: " + sql);
  return *number;
}

absl::Status Verify(Connection& connection, const Options& options,
                    const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    auto number = Number(connection, check.sql);
    if (!number.ok()) return number.status();
    const double tolerance = kTolerance[options.dtype == "f64"];
    if (std::abs(*number - check.expected) <= tolerance * std::abs(check.expected)) continue;
    return absl::InternalError(absl::StrCat("wrong result: ", *number, " instead of ",
                                            check.expected, " for\n", check.sql));
  }
  return absl::OkStatus();
}

// A session whose arithmetic stays in the type of the tables.
absl::StatusOr<Connection> Connect(const api::Database& database, const Options& options) {
  Connection connection = database.Connect();
  if (options.dtype == "f32") {
    if (absl::Status set = connection.Set("adjoin.float_promotion", "weak"); !set.ok()) return set;
  }
  for (const std::string& setting : options.settings) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(setting, absl::MaxSplits('=', 1));
    if (absl::Status set = connection.Set(pair.first, pair.second); !set.ok()) return set;
  }
  return connection;
}

// Milliseconds by kind of step, of the last run that was timed step by step; lines of EXPLAIN are
// `  12: Kind ... (0.0123 ms)`, and what ran once a program is left out.
Json ProfileOf(const std::string& explained) {
  Json profile = Json::object();
  for (absl::string_view line : absl::StrSplit(explained, '\n')) {
    const std::pair<absl::string_view, absl::string_view> step =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    int number = 0;
    const size_t open = line.rfind('(');
    if (!absl::SimpleAtoi(step.first, &number) || open == absl::string_view::npos ||
        absl::StrContains(line, "  once"))
      continue;
    double ms = 0;
    const absl::string_view time = line.substr(open + 1);
    if (!absl::ConsumeSuffix(&line, " ms)") ||
        !absl::SimpleAtod(time.substr(0, time.size() - 4), &ms))
      continue;
    const std::string kind(step.second.substr(0, step.second.find(' ')));
    profile[kind] = profile.value(kind, 0.0) + ms;
  }
  return profile;
}

}  // namespace

Timed::Timed(const Options& options, const Workload& workload, Connection connection)
    : options_(options),
      flops_(workload.flops),
      reset_(workload.reset),
      left_(workload.left),
      connection_(std::move(connection)) {}

absl::StatusOr<Timed> Timed::Make(const Options& options, const Workload& workload) {
  auto database = api::Database::Open({.threads = options.threads});
  if (!database.ok()) return database.status();
  ReleaseLarge();
  ResetResidentPeak();
  const int64_t resident_before = ResidentBytes();
  auto connection = Connect(*database, options);
  if (!connection.ok()) return connection.status();
  Timed timed(options, workload, *std::move(connection));
  timed.resident_before_ = resident_before;
  if (absl::Status made = workload.create(timed.connection_); !made.ok()) return made;
  {
    // Checks have a session of their own: what it keeps of their plans is no part of the step.
    auto checks = Connect(*database, options);
    if (!checks.ok()) return checks.status();
    if (!workload.loss.empty()) {
      auto loss = Number(*checks, workload.loss);
      if (!loss.ok()) return loss.status();
      timed.loss_ = *loss;
    }
    if (absl::Status s = Verify(*checks, options, workload.before); !s.ok()) return s;
    const int64_t tables = database->memory_used();
    database->ResetPeak();
    if (absl::Status s = timed.Prepare(workload); !s.ok()) return s;
    if (absl::Status s = timed.RunOnce(*checks, workload); !s.ok()) return s;
    timed.run_peak_bytes_ = database->memory_peak() - tables;
    if (absl::Status s = Verify(*checks, options, workload.after); !s.ok()) return s;
  }
  ReleaseLarge();
  ResetResidentPeak();
  return timed;
}

absl::Status Timed::Prepare(const Workload& workload) {
  const auto start = Clock::now();
  for (const std::string& sql : workload.statements) {
    auto prepared = connection_.Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    prepared_.push_back(*std::move(prepared));
  }
  plan_ms_ = Milliseconds(start);
  return absl::OkStatus();
}

absl::Status Timed::RunOnce(Connection& connection, const Workload& workload) {
  for (Prepared& prepared : prepared_) {
    auto result = prepared.Run();
    if (!result.ok()) return result.status();
    if (!result->has_rows) continue;
    absl::Status made = connection.CreateTable("result", result->rows);
    if (!made.ok()) return made;
  }
  if (options_.results.empty()) return absl::OkStatus();
  for (const Workload::Left& left : workload.left) {
    auto copied = connection.Query(absl::StrCat("COPY (", left.sql, ") TO '", options_.results, "/",
                                                left.name, ".npy' (FORMAT npy)"));
    if (!copied.ok()) return copied.status();
  }
  return absl::OkStatus();
}

absl::Status Timed::Round(double seconds) {
  const auto begin = Clock::now();
  for (int64_t run = 0; run == 0 || (run < kMaxRuns && Milliseconds(begin) < 1000 * seconds);
       ++run) {
    if (reset_) {
      if (absl::Status done = reset_(connection_); !done.ok()) return done;
    }
    const auto start = Clock::now();
    for (Prepared& prepared : prepared_) {
      if (auto done = prepared.Run(); !done.ok()) return done.status();
    }
    times_.push_back(Milliseconds(start));
  }
  return absl::OkStatus();
}

std::string Timed::Explain() const {
  std::string out;
  for (const Prepared& prepared : prepared_) absl::StrAppend(&out, prepared.Explain(true));
  return out;
}

api::Stats Timed::Counts() const {
  api::Stats stats;
  for (const Prepared& prepared : prepared_) {
    const api::Stats of = prepared.stats();
    stats.arena_bytes += of.arena_bytes;
    stats.bytes_between_steps += of.bytes_between_steps;
    stats.steps += of.steps;
    stats.operators += of.operators;
    stats.base_table_reads += of.base_table_reads;
  }
  return stats;
}

absl::StatusOr<std::vector<double>> Timed::Left() {
  std::vector<double> values;
  for (const Workload::Left& left : left_) {
    auto result = connection_.Query(left.sql);
    if (!result.ok()) return result.status();
    const int column = result->rows.num_columns() - 1;
    if (result->rows.column_type(column) == api::Type::kReal) {
      auto cells = result->rows.column_data<float>(column);
      if (!cells.ok()) return cells.status();
      values.insert(values.end(), cells->begin(), cells->end());
    } else {
      auto cells = result->rows.column_data<double>(column);
      if (!cells.ok()) return cells.status();
      values.insert(values.end(), cells->begin(), cells->end());
    }
  }
  return values;
}

Json Timed::Record(const std::string& name) const {
  const int64_t resident = ResidentPeakBytes();
  std::vector<double> sorted = times_;
  std::sort(sorted.begin(), sorted.end());
  const double min_ms = sorted.front(), median_ms = sorted[sorted.size() / 2];
  const double gflops = flops_ / min_ms * 1e-6;
  const double peak = FmaPeak(options_.dtype == "f32" ? 4 : 8, options_.threads);
  const api::Stats stats = Counts();
  Json record = {{"bench", name},
                 {"size", options_.size},
                 {"dtype", options_.dtype},
                 {"threads", options_.threads},
                 {"min_ms", min_ms},
                 {"median_ms", median_ms},
                 {"gflops", gflops},
                 {"peak_share", gflops / peak},
                 {"plan_ms", plan_ms_},
                 {"peak_bytes", resident - resident_before_},
                 {"arena_bytes", stats.arena_bytes},
                 {"steps", stats.steps},
                 {"operators", stats.operators},
                 {"base_table_reads", stats.base_table_reads},
                 {"profile", ProfileOf(Explain())}};
  if (loss_.has_value()) record["loss"] = *loss_;
  return record;
}

namespace {

// Answers lines of standard input with lines of JSON: `round SECONDS`, then `end`.
absl::Status Serve(Timed& timed, const std::string& name) {
  std::cout << Json{{"ready", name}} << std::endl;
  for (std::string word; std::cin >> word;) {
    if (word == "end") {
      std::cout << timed.Record(name) << std::endl;
      return absl::OkStatus();
    }
    double seconds = 0;
    if (word != "round" || !(std::cin >> seconds))
      return absl::InvalidArgumentError("not `round SECONDS` or `end`: " + word);
    if (absl::Status s = timed.Round(seconds); !s.ok()) return s;
    std::cout << Json::object() << std::endl;
  }
  return absl::OkStatus();
}

absl::Status Run(const Options& options, const std::string& name,
                 const std::function<absl::StatusOr<Workload>(const Options&)>& make) {
  auto workload = make(options);
  if (!workload.ok()) return workload.status();
  auto timed = Timed::Make(options, *workload);
  if (!timed.ok()) return timed.status();
  if (options.serve) return Serve(*timed, name);
  if (absl::Status s = timed->Round(options.seconds); !s.ok()) return s;
  if (options.explain) std::cerr << timed->Explain();
  const Json record = timed->Record(name);
  if (options.json) {
    std::cout << record << std::endl;
  } else {
    for (const auto& [key, value] : record.items()) std::cout << key << ": " << value << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CreateTables(Connection& connection, const std::vector<gpt::Parameter>& parameters,
                          uint64_t seed, const Options& options) {
  auto values = gpt::InitialValues(parameters, seed, options.Dtype());
  if (!values.ok()) return values.status();
  for (size_t i = 0; i < parameters.size(); ++i) {
    absl::Status made = connection.CreateTable(parameters[i].name, (*values)[i]);
    if (!made.ok()) return made;
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv, const std::string& name, const std::string& size,
         const std::string& sizes,
         const std::function<absl::StatusOr<Workload>(const Options&)>& make) {
  CLI::App app("Checks, then times, a prepared statement: " + name + ".");
  Options options;
  options.size = size;
  app.add_option("--size,--n", options.size, sizes)->capture_default_str();
  app.add_option("--dtype", options.dtype, "f32 or f64")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads of a run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "time spent on timed runs")->capture_default_str();
  app.add_flag("--json", options.json, "print one JSON line");
  app.add_flag("--explain", options.explain,
               "print the program and the last run's times to stderr");
  app.add_flag("--serve", options.serve, "time in rounds, as standard input asks");
  app.add_option("--set", options.settings, "a setting of the session, NAME=VALUE");
  app.add_option_function<std::string>(
      "--budget",
      [&](const std::string& bytes) { options.settings.push_back("work_mem=" + bytes + "B"); },
      "bytes that an intermediate may take: work_mem");
  app.add_option("--results", options.results, "a folder for NPY files of the first run's results");
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = Run(options, name, make); !status.ok()) {
    std::fputs(api::FormatError(status).c_str(), stderr);
    return 1;
  }
  return 0;
}

}  // namespace adjoin::bench
