// What each rule of the planner of steps is worth: every workload with all rules on, each off in
// turn, and all off. Results are compared before anything is timed, rounds take turns.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "adjoin/error.h"
#include "bench/workloads.h"

namespace adjoin::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRounds = 10;
// Of the largest value that a step leaves: rules may add up in another order.
constexpr double kTolerance32 = 1e-5, kTolerance64 = 1e-12;

// The settings of this planner's rules, one a row.
constexpr const char* kRules[] = {"share", "inline", "store",       "stack",
                                  "tile",  "stage",  "contraction", "pairs"};

struct Variant {
  std::string name;
  std::vector<std::string> settings;
};
std::vector<Variant> Variants() {
  std::vector<Variant> variants = {{"all on", {}}};
  Variant off{"all off", {}};
  for (const char* rule : kRules) {
    const std::string setting = absl::StrCat("adjoin.", rule, "=off");
    variants.push_back({absl::StrCat(rule, " off"), {setting}});
    off.settings.push_back(setting);
  }
  variants.insert(variants.begin() + 1, off);
  variants.push_back({"store force", {"adjoin.store=force"}});
  return variants;
}

struct Entry {
  std::string name, size, dtype;
  absl::StatusOr<Workload> (*make)(const Options&);
  bool large = false;  // without products it takes minutes a step: they are on in all lines
};
std::vector<Entry> Entries() {
  return {{"gpt small", "small", "f32", Gpt},
          {"gpt small", "small", "f64", Gpt},
          {"gpt base", "base", "f32", Gpt},
          {"gpt deep", "deep", "f32", Gpt, true},
          {"attention 512", "512", "f32", Attention},
          {"attention 2048", "2048", "f32", Attention, true},
          {"mlp", "mnist", "f32", Mlp},
          {"kmeans", "kmeans", "f64", SmallModel},
          {"factorization", "factorization", "f64", SmallModel},
          {"svgd 2000", "2000", "f64", Svgd}};
}

struct Running {
  std::string rules;
  Timed timed;
  double difference;  // from the values with all rules on, over the largest
  bool same_bits;
};

absl::StatusOr<std::vector<Running>> Start(const Entry& entry, Options options) {
  options.size = entry.size;
  options.dtype = entry.dtype;
  auto workload = entry.make(options);
  if (!workload.ok()) return workload.status();
  std::vector<Running> all;
  std::vector<double> expected;
  for (const Variant& variant : Variants()) {
    Options own = options;
    own.settings.insert(own.settings.end(), variant.settings.begin(), variant.settings.end());
    if (entry.large) std::erase(own.settings, "adjoin.contraction=off");
    if (own.settings == options.settings && !all.empty()) continue;
    auto timed = Timed::Make(own, *workload);
    if (!timed.ok()) return timed.status();
    auto left = timed->Left();
    if (!left.ok()) return left.status();
    if (all.empty()) expected = *left;
    double largest = 0, apart = left->size() == expected.size() ? 0 : HUGE_VAL;
    for (size_t i = 0; i < expected.size() && i < left->size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      apart = std::max(apart, std::abs((*left)[i] - expected[i]));
    }
    const double tolerance = entry.dtype == "f32" ? kTolerance32 : kTolerance64;
    if (!(apart <= tolerance * largest))
      return absl::InternalError(
          absl::StrCat(entry.name, ", ", variant.name, ": off by ", apart, " of ", largest));
    all.push_back({variant.name, *std::move(timed), apart / largest, *left == expected});
  }
  return all;
}

Json Record(const Entry& entry, const Running& running) {
  std::vector<double> times = running.timed.times_ms();
  std::sort(times.begin(), times.end());
  const api::Stats counts = running.timed.Counts();
  return {{"bench", "steps"},
          {"workload", entry.name},
          {"dtype", entry.dtype},
          {"rules", running.rules},
          {"steps", counts.steps},
          {"operators", counts.operators},
          {"base_table_reads", counts.base_table_reads},
          {"bytes_between_steps", counts.bytes_between_steps},
          {"peak_bytes", running.timed.run_peak_bytes()},
          {"min_ms", times.front()},
          {"median_ms", times[times.size() / 2]},
          {"plan_ms", running.timed.plan_ms()},
          {"difference", running.difference},
          {"same_bits", running.same_bits}};
}

// "a / b" of a count with all rules on and off.
std::string OnOff(const Json& on, const Json& off, const char* key, double scale) {
  return absl::StrFormat("%.4g / %.4g", on[key].get<double>() * scale,
                         off[key].get<double>() * scale);
}

// The tables of bench/README.md, of the records of one workload after the other.
void PrintTables(const std::vector<std::vector<Json>>& workloads) {
  const auto name = [](const std::vector<Json>& records) {
    return absl::StrCat(records[0]["workload"].get<std::string>(), " ",
                        records[0]["dtype"].get<std::string>());
  };
  std::puts(
      "| all rules on / off | steps | operators | base-table reads | MB between steps "
      "| peak, MB | min ms | median ms |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const std::vector<Json>& records : workloads) {
    const Json &on = records[0], &off = records[1];
    std::vector<std::string> cells = {name(records)};
    for (const char* key : {"steps", "operators", "base_table_reads"})
      cells.push_back(OnOff(on, off, key, 1));
    for (const char* key : {"bytes_between_steps", "peak_bytes"})
      cells.push_back(OnOff(on, off, key, 1e-6));
    for (const char* key : {"min_ms", "median_ms"}) cells.push_back(OnOff(on, off, key, 1));
    std::printf("| %s |\n", absl::StrJoin(cells, " | ").c_str());
  }
  std::vector<std::string> columns, rule;
  for (const Variant& variant : Variants()) columns.push_back(variant.name);
  columns.erase(columns.begin(), columns.begin() + 2);
  for (size_t i = 0; i < columns.size(); ++i) rule.push_back("---:");
  std::printf("\n| time without / with | %s |\n| --- | %s |\n",
              absl::StrJoin(columns, " | ").c_str(), absl::StrJoin(rule, " | ").c_str());
  for (const std::vector<Json>& records : workloads) {
    std::vector<std::string> cells = {name(records)};
    for (const std::string& column : columns) {
      cells.emplace_back();
      for (const Json& record : records) {
        if (record["rules"] != column) continue;
        const double ratio = record["min_ms"].get<double>() / records[0]["min_ms"].get<double>();
        cells.back() = absl::StrFormat("%.2f (%d)", ratio, record["steps"].get<int>());
        if (!record["same_bits"].get<bool>()) absl::StrAppend(&cells.back(), " ~");
      }
    }
    std::printf("| %s |\n", absl::StrJoin(cells, " | ").c_str());
  }
}

absl::Status Run(const Options& options, const std::string& only) {
  std::vector<std::vector<Json>> workloads;
  for (const Entry& entry : Entries()) {
    if (!absl::StrContains(absl::StrCat(entry.name, " ", entry.dtype), only)) continue;
    auto all = Start(entry, options);
    if (!all.ok()) return all.status();
    for (int round = 0; round < kRounds; ++round) {
      for (Running& running : *all) {
        if (absl::Status s = running.timed.Round(options.seconds / kRounds); !s.ok()) return s;
      }
    }
    workloads.emplace_back();
    for (const Running& running : *all) {
      workloads.back().push_back(Record(entry, running));
      if (options.json) std::cout << workloads.back().back() << std::endl;
    }
  }
  if (!options.json && !workloads.empty()) PrintTables(workloads);
  return absl::OkStatus();
}

}  // namespace
}  // namespace adjoin::bench

int main(int argc, char** argv) {
  CLI::App app("What each rule of the planner of steps is worth.");
  adjoin::bench::Options options;
  std::string only;
  app.add_option("--threads", options.threads, "threads of a run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "time spent on each line")->capture_default_str();
  app.add_option("--only", only, "workloads whose name and dtype contain this, as gpt or f64");
  app.add_flag("--json", options.json, "print one JSON line each");
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = adjoin::bench::Run(options, only); !status.ok()) {
    std::fputs(adjoin::api::FormatError(status).c_str(), stderr);
    return 1;
  }
  return 0;
}
