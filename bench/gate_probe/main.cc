// What bench/gate runs and reads: plan counts, and single workloads to be counted or timed.
#include <gnu/libc-version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "adjoin/error.h"
#include "bench/gate_probe/models.h"
#include "bench/gate_probe/olap_queries.h"
#include "bench/gate_probe/workload.h"
#include "kernels/kernel_table.h"
#include "nlohmann/json.hpp"
#include "tests/sql/counted_allocations.h"

// Between entering and leaving this function callgrind counts: bench/gate names it in
// --toggle-collect, hence a name without mangling.
extern "C" [[gnu::noinline]] void GateCounted(const adjoin::gate::Work& work, absl::Status* done) {
  *done = work();
}

namespace adjoin::gate {
namespace {

std::vector<Workload> AllWorkloads() {
  std::vector<Workload> all = KernelWorkloads();
  for (Workload& workload : StatementWorkloads()) all.push_back(std::move(workload));
  return all;
}

absl::StatusOr<Work> Make(const std::string& name) {
  for (const Workload& workload : AllWorkloads()) {
    if (workload.name == name) return workload.make();
  }
  return absl::NotFoundError("no such workload: " + name);
}

absl::Status Count(const std::string& name) {
  auto work = Make(name);
  if (!work.ok()) return work.status();
  absl::Status done;
  GateCounted(*work, &done);
  return done;
}

// The fastest of the repetitions that fit into `seconds`, in nanoseconds.
absl::Status Time(const std::string& name, double seconds, nlohmann::json* out) {
  using Clock = std::chrono::steady_clock;
  auto work = Make(name);
  if (!work.ok()) return work.status();
  double fastest = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto start = Clock::now();
    if (absl::Status done = (*work)(); !done.ok()) return done;
    const double took = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    fastest = fastest == 0 ? took : std::min(fastest, took);
  } while (Clock::now() < end);
  (*out)[name] = fastest;
  return absl::OkStatus();
}

absl::Status CountPlan(const Model& model, const Settings& settings, nlohmann::json* out) {
  auto ready = MakeReady(model, settings);
  if (!ready.ok()) return ready.status();
  const api::Database& database = ready->loaded.database;
  const int64_t kept_bytes = database.memory_used();
  database.ResetPeak();
  const int64_t before = g_allocations.load();
  if (auto done = ready->step.Run(); !done.ok()) return done.status();
  const int64_t allocations = g_allocations.load() - before;
  const api::Stats stats = ready->step.stats();
  (*out)[model.name] = {{"steps", stats.steps},
                        {"operators", stats.operators},
                        {"base_table_reads", stats.base_table_reads},
                        {"products", stats.contractions},
                        {"arena_bytes", stats.arena_bytes},
                        {"bytes_between_steps", stats.bytes_between_steps},
                        {"run_bytes", database.memory_peak() - kept_bytes},
                        {"allocations", allocations}};
  return absl::OkStatus();
}

absl::Status CountPlan(const OlapQuery& query, nlohmann::json* out) {
  auto ready = MakeReady(query);
  if (!ready.ok()) return ready.status();
  const api::Stats stats = ready->prepared.stats();
  (*out)[query.name()] = {{"steps", stats.steps},
                          {"operators", stats.operators},
                          {"base_table_reads", stats.base_table_reads},
                          {"products", stats.contractions}};
  return absl::OkStatus();
}

absl::StatusOr<Settings> ParseSettings(const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == std::string::npos) return absl::InvalidArgumentError("not NAME=VALUE: " + text);
    settings.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return settings;
}

struct Options {
  std::vector<std::string> names, settings;
  double seconds = 0.5;
};

absl::StatusOr<nlohmann::json> Run(const std::string& command, const Options& options) {
  nlohmann::json out = nlohmann::json::object();
  absl::Status done;
  if (command == "toolchain") {
    out = {{"compiler", __VERSION__}, {"libc", gnu_get_libc_version()}, {"isa", Kernels().isa}};
  } else if (command == "list") {
    out = nlohmann::json::array();
    for (const Workload& workload : AllWorkloads()) out.push_back(workload.name);
  } else if (command == "plans") {
    auto settings = ParseSettings(options.settings);
    if (!settings.ok()) return settings.status();
    for (const Model& model : Models()) {
      if (done.ok()) done = CountPlan(model, *settings, &out);
    }
    for (const OlapQuery& query : OlapQueries()) {
      if (done.ok()) done = CountPlan(query, &out);
    }
  } else {
    for (const std::string& name : options.names) {
      if (done.ok()) done = command == "time" ? Time(name, options.seconds, &out) : Count(name);
    }
  }
  if (!done.ok()) return done;
  return out;
}

}  // namespace
}  // namespace adjoin::gate

int main(int argc, char** argv) {
  CLI::App app("The measured half of bench/gate. Prints JSON.");
  app.require_subcommand(1);
  adjoin::gate::Options options;
  app.add_subcommand("toolchain", "what instruction counts depend on besides the source");
  app.add_subcommand("list", "the names of all workloads");
  app.add_subcommand("plans", "the counts of every model's prepared step and every OLAP query")
      ->add_option("--set", options.settings, "NAME=VALUE of a setting");
  app.add_subcommand("count", "do a workload once inside GateCounted, for callgrind")
      ->add_option("name", options.names, "a workload")
      ->required();
  auto* time = app.add_subcommand("time", "nanoseconds of workloads");
  time->add_option("names", options.names, "workloads")->required();
  time->add_option("--seconds", options.seconds, "time for each")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto out = adjoin::gate::Run(app.get_subcommands().front()->get_name(), options);
  if (!out.ok()) {
    std::fputs(adjoin::api::FormatError(out.status()).c_str(), stderr);
    return 1;
  }
  std::printf("%s\n", out->dump(1).c_str());
  return 0;
}
