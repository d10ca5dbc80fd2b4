// What SET, SHOW and RESET know: one row a name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/program.h"

namespace adjoin {

// Settings of one session. memory_limit is the database's and kept there.
struct Settings {
  PlanOptions plan;
  bool weak_real = false;        // adjoin.float_promotion = weak
  int threads = 1;               // adjoin.threads
  std::string temp_directory;    // adjoin.temp_directory; empty: runs write no files
  RuleUse spill = RuleUse::kOn;  // adjoin.spill
  std::string costs_file;        // adjoin.costs: what plan.costs were read from; empty: built in
  int64_t lock_timeout_ms = 0;   // how long a write waits for another writer; 0: until cancelled
  std::map<std::string, std::string>
      others;  // accepted for clients' sake (client_encoding, ...), without effect
  friend bool operator==(const Settings&, const Settings&) = default;
};

// Bytes of "64MB", "1.5 GB", "100kB", "1024" (in units of `unit` bytes). No value: not a size.
std::optional<int64_t> ParseBytes(std::string_view text, int64_t unit);
// "64MB", in the largest unit that divides it.
std::string FormatBytes(int64_t bytes);

// Sets `name` (lower case) from `value`; no value: to what `defaults` has. Errors: 42704
// `unrecognized configuration parameter "x"`; 22023 as PostgreSQL words it.
absl::Status SetSetting(std::string_view name, const std::optional<std::string>& value,
                        const Settings& defaults, Settings* settings);
absl::StatusOr<std::string> ShowSetting(std::string_view name, const Settings& settings);
// All names, sorted.
std::vector<std::string> SettingNames();

}  // namespace adjoin
