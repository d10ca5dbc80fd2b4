// The .test files of tests/cases/data, parsed; data/README.md defines the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/table.h"
#include "tests/reference/evaluator.h"

namespace adjoin::cases {

enum class RecordKind : uint8_t { kSetup, kGenerate, kQuery, kError, kPrepare, kExecute };

struct Record {
  RecordKind kind = RecordKind::kSetup;
  int line = 0;       // of its first line, from 1
  std::string label;  // "line-N" where the file gives none
  std::string name;   // of the table or prepared query; the kind of an error record
  std::string types;  // of the result columns: I, F, T, B
  std::string sql;
  std::vector<std::string> expected;  // lines
  bool ordered = false, exact = false, identical = false;
  double rtol = 1e-9, atol = 1e-12;
  std::vector<std::string> or_errors;  // kinds that are right too
  // kGenerate.
  Schema schema;
  reference::Rows rows;
};

struct CaseFile {
  std::string name;          // of the file, without its folder
  std::vector<int> threads;  // empty: the configuration's
  int repeat = 1;
  std::optional<int64_t> memory_mib;
  bool requires_random = false;
  std::vector<Record> records;
};

// Reads and parses one file. InvalidArgument names the file and line of what it does not
// understand.
absl::StatusOr<CaseFile> ReadCaseFile(const std::string& path);

// The SQLSTATE of an error kind ("Overflow" is 22003); empty for an unknown kind.
std::string SqlStateOfKind(const std::string& kind);

// Empty where `actual` is what the record expects; otherwise what differs first.
std::string Difference(const Record& record, const reference::Rows& actual);

}  // namespace adjoin::cases
