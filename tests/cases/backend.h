// What the case runner needs of an engine, so that the engine and the oracle run the same files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/table.h"
#include "tests/reference/evaluator.h"

namespace adjoin::cases {

// One of tests/configs/*.json.
struct Config {
  std::string name;
  bool reference = false;  // the oracle instead of the engine
  int threads = 1;
  std::map<std::string, std::string> settings;  // SET name = value
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> skip;  // file to reason
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual absl::Status Setup(const std::string& sql) = 0;
  virtual absl::Status CreateTable(const std::string& name, const Schema& schema,
                                   const reference::Rows& rows) = 0;
  virtual absl::Status ReplaceTable(const std::string& name, const reference::Rows& rows) = 0;
  virtual absl::StatusOr<Schema> SchemaOf(const std::string& name) = 0;
  virtual absl::StatusOr<reference::Rows> Query(const std::string& sql) = 0;
  virtual absl::Status Prepare(const std::string& name, const std::string& sql) = 0;
  virtual absl::StatusOr<reference::Rows> Execute(const std::string& name) = 0;
  virtual int64_t peak_bytes() const = 0;
};

std::unique_ptr<Backend> MakeReferenceBackend();
absl::StatusOr<std::unique_ptr<Backend>> MakeEngineBackend(const Config& config, int threads,
                                                           std::optional<int64_t> memory_limit);

}  // namespace adjoin::cases
