// Runs the case files under one configuration and prints one line a record: pass, FAIL, unsupported
// or pending.
//
//   case_runner [--config FILE.json] [--pending FILE] [--quiet] [FILE.test | FOLDER]...
//
// "unsupported": a derivative query failed with UnsupportedExpression. Like "pending" it must be
// listed in the pending list, so that nothing falls into it unseen; a listed record that passes
// must leave the list. The closing line is "N passed, N failed, N skipped".
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "nlohmann/json.hpp"
#include "tests/cases/backend.h"
#include "tests/cases/case_file.h"

namespace adjoin::cases {
namespace {

// How one record went in all of its runs.
struct Outcome {
  std::string failure;  // empty: passed
  bool unsupported = false;
  std::vector<reference::Rows> results;
};

struct Options {
  Config config;
  std::map<std::pair<std::string, std::string>, std::string> pending;  // file and label to reason
  std::vector<std::string> files;
  bool quiet = false;
};

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

bool IsRun(const Record& r) {
  return r.kind == RecordKind::kQuery || r.kind == RecordKind::kExecute ||
         r.kind == RecordKind::kError;
}

std::string ErrorText(const absl::Status& status) {
  return absl::StrCat("error ", SqlStateOf(status), ": ", std::string(status.message()));
}

bool IsOneOf(const absl::Status& status, const std::vector<std::string>& kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& kind) {
    return SqlStateOfKind(kind) == SqlStateOf(status);
  });
}

// Runs one query, execute or error record once.
void RunOnce(const Record& record, Backend& backend, Outcome& outcome) {
  absl::StatusOr<reference::Rows> rows = record.kind == RecordKind::kExecute
                                             ? backend.Execute(record.name)
                                             : backend.Query(record.sql);
  if (record.kind == RecordKind::kError) {
    if (rows.ok()) {
      outcome.failure = absl::StrCat(rows->size(), " rows instead of ", record.name);
    } else if (!IsOneOf(rows.status(), {record.name})) {
      outcome.failure = absl::StrCat(ErrorText(rows.status()), " instead of ", record.name);
    }
    return;
  }
  if (!rows.ok()) {
    if (IsOneOf(rows.status(), record.or_errors)) return;
    outcome.failure = ErrorText(rows.status());
    outcome.unsupported = IsOneOf(rows.status(), {"UnsupportedExpression"});
    return;
  }
  if (const std::string difference = Difference(record, *rows); !difference.empty())
    outcome.failure = difference;
  outcome.results.push_back(*std::move(rows));
}

// Builds the file's tables and runs its records under one thread count.
absl::Status RunFile(const CaseFile& file, const Config& config, int threads,
                     std::vector<Outcome>& outcomes) {
  std::optional<int64_t> limit;
  if (file.memory_mib.has_value()) limit = *file.memory_mib << 20;
  std::unique_ptr<Backend> backend;
  if (config.reference) {
    backend = MakeReferenceBackend();
  } else {
    ADJOIN_ASSIGN_OR_RETURN(backend, MakeEngineBackend(config, threads, limit));
  }
  const int repeat = config.reference ? 1 : file.repeat;
  for (size_t i = 0; i < file.records.size(); ++i) {
    const Record& record = file.records[i];
    Outcome& outcome = outcomes[i];
    absl::Status status;
    if (record.kind == RecordKind::kSetup) status = backend->Setup(record.sql);
    if (record.kind == RecordKind::kGenerate)
      status = backend->CreateTable(record.name, record.schema, record.rows);
    if (record.kind == RecordKind::kPrepare) status = backend->Prepare(record.name, record.sql);
    if (!status.ok()) outcome.failure = ErrorText(status);
    for (int run = 0; IsRun(record) && run < repeat; ++run) RunOnce(record, *backend, outcome);
    if (limit.has_value() && backend->peak_bytes() >= *limit) {
      outcome.failure = absl::StrCat("peak memory ", backend->peak_bytes(), " bytes");
    }
  }
  return absl::OkStatus();
}

void CheckIdentical(const Record& record, Outcome& outcome) {
  if (!record.identical || !outcome.failure.empty()) return;
  for (const reference::Rows& rows : outcome.results) {
    if (rows != outcome.results[0]) outcome.failure = "runs differ in their bits";
  }
}

// Prints a record's line and counts it; setup records are mentioned only when they fail.
void Report(const Options& options, const std::string& file, const Record& record,
            const Outcome& outcome, Counts& counts) {
  const auto pending = options.pending.find({file, record.label});
  const bool listed = pending != options.pending.end();
  const bool ok = outcome.failure.empty();
  if (!IsRun(record) && ok) return;
  std::string line;
  if (ok && !listed) {
    ++counts.passed;
    if (options.quiet) return;
    line = absl::StrCat("pass ", file, " ", record.label);
  } else if (ok) {
    ++counts.failed;
    line = absl::StrCat("FAIL ", file, " ", record.label, ": passes, but is in the pending list");
  } else if (listed) {
    ++counts.skipped;
    line = absl::StrCat(outcome.unsupported ? "unsupported " : "pending ", file, " ", record.label,
                        ": ", pending->second, " (", outcome.failure, ")");
  } else {
    ++counts.failed;
    line = absl::StrCat("FAIL ", file, " ", record.label, ": ", outcome.failure);
  }
  std::printf("%s\n", line.c_str());
}

void RunAndReport(const Options& options, const std::string& path, Counts& counts) {
  const absl::StatusOr<CaseFile> file = ReadCaseFile(path);
  if (!file.ok()) {
    ++counts.failed;
    std::printf("FAIL %s\n", std::string(file.status().message()).c_str());
    return;
  }
  const auto skip = options.config.skip.find(file->name);
  if (skip != options.config.skip.end() || file->requires_random) {
    const std::string reason = file->requires_random ? "random() is not supported" : skip->second;
    counts.skipped +=
        static_cast<int>(std::count_if(file->records.begin(), file->records.end(), IsRun));
    std::printf("skip %s: %s\n", file->name.c_str(), reason.c_str());
    return;
  }
  std::vector<int> threads = file->threads;
  if (threads.empty() || options.config.reference) threads = {options.config.threads};
  std::vector<Outcome> outcomes(file->records.size());
  for (int n : threads) {
    if (absl::Status status = RunFile(*file, options.config, n, outcomes); !status.ok()) {
      ++counts.failed;
      std::printf("FAIL %s: %s\n", file->name.c_str(), ErrorText(status).c_str());
      return;
    }
  }
  for (size_t i = 0; i < outcomes.size(); ++i) {
    CheckIdentical(file->records[i], outcomes[i]);
    Report(options, file->name, file->records[i], outcomes[i], counts);
  }
  std::fflush(stdout);
}

absl::Status ReadConfig(const std::string& path, Config& config) {
  std::ifstream in(path);
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return absl::InvalidArgumentError(absl::StrCat("not a configuration: ", path));
  config.name = std::filesystem::path(path).stem().string();
  config.reference = json.value("reference", false);
  config.threads = json.value("threads", 1);
  const auto read = [&](const char* key, std::map<std::string, std::string>& out) {
    if (json.contains(key)) out = json[key].get<std::map<std::string, std::string>>();
  };
  read("settings", config.settings);
  read("environment", config.environment);
  read("skip", config.skip);
  return absl::OkStatus();
}

absl::Status ReadPending(const std::string& path, Options& options) {
  std::ifstream in(path);
  if (!in) return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string file, label, reason;
    words >> file >> label;
    std::getline(words >> std::ws, reason);
    if (reason.empty()) return absl::InvalidArgumentError(absl::StrCat("no reason: ", line));
    options.pending[{file, label}] = reason;
  }
  return absl::OkStatus();
}

void AddFiles(const std::string& path, std::vector<std::string>& files) {
  if (!std::filesystem::is_directory(path)) {
    files.push_back(path);
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".test") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
}

absl::Status ReadOptions(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--config" && i + 1 < argc) {
      ADJOIN_RETURN_IF_ERROR(ReadConfig(argv[++i], options.config));
    } else if (arg == "--pending" && i + 1 < argc) {
      ADJOIN_RETURN_IF_ERROR(ReadPending(argv[++i], options));
    } else if (arg == "--quiet") {
      options.quiet = true;
    } else if (arg.rfind("--", 0) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("unknown option ", arg));
    } else {
      AddFiles(arg, options.files);
    }
  }
  if (options.files.empty()) AddFiles(ADJOIN_SOURCE_DIR "/tests/cases/data", options.files);
  for (const auto& [name, value] : options.config.environment)
    setenv(name.c_str(), value.c_str(), 1);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  if (absl::Status status = ReadOptions(argc, argv, options); !status.ok()) {
    std::fprintf(stderr, "case_runner: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  Counts counts;
  for (const std::string& path : options.files) RunAndReport(options, path, counts);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed > 0 || counts.passed == 0 ? 1 : 0;
}

}  // namespace
}  // namespace adjoin::cases

int main(int argc, char** argv) { return adjoin::cases::Main(argc, argv); }
