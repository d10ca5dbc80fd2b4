#include "engine/csv.h"
#include "engine/status.h"

namespace adjoin {

absl::Status CheckCsvOptions(const CsvOptions& options) {
  constexpr std::string_view kLineEnds = "\r\n";
  std::string_view problem;
  if (kLineEnds.find(options.delimiter) != std::string_view::npos) {
    problem = "COPY delimiter cannot be newline or carriage return";
  } else if (kLineEnds.find(options.quote) != std::string_view::npos) {
    problem = "COPY quote cannot be newline or carriage return";
  } else if (options.delimiter == options.quote) {
    problem = "COPY delimiter and quote must be different";
  } else if (options.null_text.find_first_of(kLineEnds) != std::string::npos) {
    problem = "COPY null representation cannot use newline or carriage return";
  } else if (options.null_text.find(options.delimiter) != std::string::npos) {
    problem = "COPY delimiter must not appear in the NULL specification";
  } else if (options.null_text.find(options.quote) != std::string::npos) {
    problem = "CSV quote character must not appear in the NULL specification";
  }
  return problem.empty() ? absl::OkStatus() : SqlError(sqlstate::kInvalidParameterValue, problem);
}

}  // namespace adjoin
