#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/csv.h"
#include "engine/file.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

constexpr int64_t kBatchRows = 4096;

void AppendField(std::string_view text, const CsvOptions& options, std::string* out) {
  const char special[] = {options.delimiter, options.quote, '\n', '\r'};
  const bool plain =
      text != options.null_text &&
      text.find_first_of(std::string_view(special, sizeof(special))) == std::string_view::npos;
  if (plain) {
    out->append(text);
    return;
  }
  *out += options.quote;
  for (char c : text) {
    if (c == options.quote) *out += c;
    *out += c;
  }
  *out += options.quote;
}

void AppendElement(const Column& column, int64_t row, const CsvOptions& options, std::string* out) {
  if (column.is_null(row)) {
    out->append(options.null_text);
  } else if (column.type() == TypeId::kText) {
    AppendField(column.text(row), options, out);
  } else {
    AppendField(ToText(column.value(row), column.type()), options, out);
  }
}

}  // namespace

void AppendCsvHeader(const Schema& schema, const CsvOptions& options, std::string* out) {
  for (size_t c = 0; c < schema.fields.size(); ++c) {
    if (c > 0) *out += options.delimiter;
    AppendField(schema.fields[c].name, options, out);
  }
  *out += '\n';
}

void AppendCsvRows(const Table& table, int64_t begin, int64_t end, const CsvOptions& options,
                   std::string* out) {
  for (int64_t row = begin; row < end; ++row) {
    for (int c = 0; c < table.num_columns(); ++c) {
      if (c > 0) *out += options.delimiter;
      AppendElement(*table.column(c), row, options, out);
    }
    *out += '\n';
  }
}

absl::Status WriteCsv(const Table& table, const std::string& path, const CsvOptions& options) {
  ADJOIN_RETURN_IF_ERROR(CheckCsvOptions(options));
  ADJOIN_ASSIGN_OR_RETURN(const auto file, OutputFile::Create(path));
  std::string text;
  if (options.header != CsvOptions::Header::kNone) AppendCsvHeader(table.schema(), options, &text);
  for (int64_t row = 0; row < table.num_rows(); row += kBatchRows) {
    AppendCsvRows(table, row, std::min(row + kBatchRows, table.num_rows()), options, &text);
    ADJOIN_RETURN_IF_ERROR(file->Write(text));
    text.clear();
  }
  ADJOIN_RETURN_IF_ERROR(file->Write(text));
  return file->Commit();
}

}  // namespace adjoin
