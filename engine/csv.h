// CSV in and out, with the rules of PostgreSQL's COPY ... (FORMAT csv).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/table.h"

namespace adjoin {

struct CsvOptions {
  enum class Header : uint8_t {
    kNone,
    kSkip,
    kMatch
  };  // kMatch: names must be those of the columns (22P04)
  char delimiter = ',';
  char quote = '"';               // doubled inside a quoted field
  Header header = Header::kNone;  // writing: any but kNone writes the names
  std::string null_text;          // an unquoted field that equals it is NULL
  // Called now and then while reading with the fraction read; an error stops the reading and is
  // returned.
  std::function<absl::Status(double fraction)> progress;
};

// 22023 in PostgreSQL's words where the options contradict each other; all that takes options
// checks this first.
absl::Status CheckCsvOptions(const CsvOptions& options);

// The rows of a file as a table of `fields`, without keys and in the file's order; NOT NULL is left
// to Table::Make. Errors end with their place, as in `invalid input syntax for type integer: "x"
// (f.csv, line 3, column 2 "b")`: 22P04 for the form (too few or many fields, an unterminated
// quote), 22P02 and 22003 for values, 58P01 for a file that is not there.
absl::StatusOr<TableRef> ReadCsv(const std::string& path, const std::vector<Field>& fields,
                                 const CsvOptions& options, std::shared_ptr<MemoryBudget> budget);
// The same from memory; `source` names it in errors.
absl::StatusOr<TableRef> ParseCsv(std::string_view text, std::string_view source,
                                  const std::vector<Field>& fields, const CsvOptions& options,
                                  std::shared_ptr<MemoryBudget> budget);

// Writes a header where asked and every row; floats read back as the same bits. `path` is replaced
// as a whole or, on any error, left as it was (58030).
absl::Status WriteCsv(const Table& table, const std::string& path, const CsvOptions& options);
// Appends the rows [begin, end) to `out`, and AppendCsvHeader the line of names.
void AppendCsvRows(const Table& table, int64_t begin, int64_t end, const CsvOptions& options,
                   std::string* out);
void AppendCsvHeader(const Schema& schema, const CsvOptions& options, std::string* out);

}  // namespace adjoin
