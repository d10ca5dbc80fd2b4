// A trace of what a session runs, for chrome://tracing and Perfetto: an array of complete events
// ("ph": "X"), a statement with its planning and its steps inside it.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "sql/planned_statement.h"

namespace adjoin {

class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  // Replaces the file. Errors: FileError's.
  static absl::StatusOr<std::unique_ptr<Trace>> Open(const std::string& path);
  ~Trace();  // ends the array
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // A run of a statement: from `start` on it was planned (0 ms: it was planned already), from `ran`
  // on it ran, as `profile` says. Errors: FileError's; the file is then incomplete.
  absl::Status Add(const PlannedStatement& planned, Clock::time_point start, Clock::time_point ran,
                   const RunProfile& profile);

 private:
  Trace(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  void Write(std::string_view name, std::string_view category, Clock::time_point start, double ms,
             nlohmann::json args);

  std::FILE* file_;
  std::string path_;
  Clock::time_point opened_ = Clock::now();
  bool empty_ = true;
};

}  // namespace adjoin
