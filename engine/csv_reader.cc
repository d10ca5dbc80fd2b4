#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/csv.h"
#include "engine/file.h"
#include "engine/parse_element.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin {
namespace {

constexpr int64_t kBatchRows = 1024;      // parsed before they are appended to the columns
constexpr int64_t kProgressBatches = 64;  // between two calls of progress
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Splits text into fields. After each, `last_in_row` tells whether a line ended there.
class FieldReader {
 public:
  FieldReader(std::string_view text, const CsvOptions& options)
      : begin_(text.data()),
        position_(text.data()),
        end_(text.data() + text.size()),
        delimiter_(options.delimiter),
        quote_(options.quote) {
    if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) position_ += kByteOrderMark.size();
    for (char c : {delimiter_, quote_, '\n', '\r'}) is_special_[static_cast<uint8_t>(c)] = true;
  }

  bool AtEnd() const { return position_ == end_; }
  int64_t offset() const { return position_ - begin_; }
  int64_t line() const { return field_line_; }
  std::string_view field() const { return field_; }
  bool quoted() const { return quoted_; }
  bool last_in_row() const { return last_in_row_; }
  // Fields are views of the text or of what this keeps; forgetting makes the latter invalid.
  void ForgetUnquoted() { unquoted_.clear(); }

  // Error messages without their place.
  absl::Status Next() {
    field_line_ = line_;
    quoted_ = false;
    const char* p = position_;
    while (p != end_ && !is_special_[static_cast<uint8_t>(*p)]) ++p;
    field_ = std::string_view(position_, static_cast<size_t>(p - position_));
    if (p != end_ && *p == quote_) ADJOIN_RETURN_IF_ERROR(Unquote(p));
    return EndField(p);
  }

 private:
  // Quotes may start and end anywhere in a field, as PostgreSQL reads them. Advances `p` to the
  // field's end.
  absl::Status Unquote(const char*& p) {
    std::string& text = unquoted_.emplace_back(field_);
    quoted_ = true;
    bool inside = false;
    for (; p != end_; ++p) {
      if (*p == quote_ && inside && p + 1 != end_ && p[1] == quote_) {
        text += *p++;
      } else if (*p == quote_) {
        inside = !inside;
      } else if (!inside && is_special_[static_cast<uint8_t>(*p)]) {
        break;
      } else {
        line_ += *p == '\n' ? 1 : 0;
        text += *p;
      }
    }
    if (inside) return SqlError(sqlstate::kBadCopyFileFormat, "unterminated CSV quoted field");
    field_ = text;
    return absl::OkStatus();
  }

  absl::Status EndField(const char* p) {
    last_in_row_ = p == end_ || *p != delimiter_;
    if (p != end_ && *p == '\r') {
      if (p + 1 == end_ || p[1] != '\n') {
        return SqlErrorWithDetail(sqlstate::kBadCopyFileFormat,
                                  "unquoted carriage return found in data", "",
                                  "Use quoted CSV field to represent carriage return.");
      }
      ++p;
    }
    if (last_in_row_) ++line_;
    position_ = p == end_ ? p : p + 1;
    return absl::OkStatus();
  }

  const char* begin_;
  const char* position_;
  const char* end_;
  char delimiter_;
  char quote_;
  bool is_special_[256] = {};
  int64_t line_ = 1;
  int64_t field_line_ = 1;
  std::string_view field_;
  bool quoted_ = false;
  bool last_in_row_ = false;
  std::deque<std::string> unquoted_;
};

// One batch of a column, and the column so far.
class ColumnReader {
 public:
  ColumnReader(const Field& field, const std::shared_ptr<MemoryBudget>& budget)
      : type_(field.type),
        modifier_(field.modifier),
        width_(WidthOf(type_)),
        builder_(type_, budget),
        valid_(kBatchRows) {
    if (type_ == TypeId::kText) {
      texts_.resize(kBatchRows);
    } else {
      values_.resize(static_cast<size_t>(kBatchRows * width_));
    }
  }

  void SetNull(int64_t i) { valid_[static_cast<size_t>(i)] = 0; }
  absl::Status Set(int64_t i, std::string_view text) {
    valid_[static_cast<size_t>(i)] = 1;
    if (type_ == TypeId::kDecimal) return SetDecimal(i, text);
    if (type_ != TypeId::kText) return ParseElement(text, type_, values_.data() + i * width_);
    texts_[static_cast<size_t>(i)] = text;
    return absl::OkStatus();
  }
  absl::Status Reserve(int64_t rows) { return builder_.Reserve(rows); }
  absl::Status Flush(int64_t n) {
    const void* data = texts_.empty() ? static_cast<const void*>(values_.data()) : texts_.data();
    return builder_.AppendMany(data, valid_.data(), n);
  }
  absl::StatusOr<ColumnRef> Finish() { return builder_.Finish(); }

 private:
  absl::Status SetDecimal(int64_t i, std::string_view text) {
    ADJOIN_ASSIGN_OR_RETURN(Decimal value, ParseDecimal(text));
    ADJOIN_ASSIGN_OR_RETURN(value, Rounded(value, modifier_));
    std::memcpy(values_.data() + i * width_, &value, sizeof(value));
    return absl::OkStatus();
  }

  TypeId type_;
  NumericModifier modifier_;
  int64_t width_;
  ColumnBuilder builder_;
  std::vector<char> values_;
  std::vector<std::string_view> texts_;
  std::vector<uint8_t> valid_;
};

class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view source, const std::vector<Field>& fields,
            const CsvOptions& options, const std::shared_ptr<MemoryBudget>& budget)
      : size_(static_cast<int64_t>(text.size())),
        source_(source),
        fields_(fields),
        options_(options),
        input_(text, options) {
    for (const Field& field : fields) columns_.emplace_back(field, budget);
  }

  absl::StatusOr<TableRef> Read() {
    if (options_.header != CsvOptions::Header::kNone) ADJOIN_RETURN_IF_ERROR(ReadHeader());
    int64_t rows = 0;
    for (int64_t batch = 0; !input_.AtEnd(); ++batch) {
      ADJOIN_ASSIGN_OR_RETURN(const int64_t n, ReadBatch());
      rows += n;
      if (batch == 0) ADJOIN_RETURN_IF_ERROR(ReserveForAll(rows));
      for (ColumnReader& column : columns_) ADJOIN_RETURN_IF_ERROR(column.Flush(n));
      input_.ForgetUnquoted();
      if (options_.progress != nullptr && batch % kProgressBatches == 0) {
        ADJOIN_RETURN_IF_ERROR(options_.progress(Fraction()));
      }
    }
    std::vector<ColumnRef> columns;
    for (ColumnReader& column : columns_) {
      ADJOIN_ASSIGN_OR_RETURN(columns.emplace_back(), column.Finish());
    }
    return Table::MakeUnchecked(Schema{fields_, {}}, std::move(columns), rows);
  }

 private:
  double Fraction() const {
    return static_cast<double>(input_.offset()) / static_cast<double>(size_);
  }

  // Takes the first batch's bytes a row for all, so that columns grow once.
  absl::Status ReserveForAll(int64_t rows) {
    const double estimate = static_cast<double>(rows) / Fraction() * 1.02;
    for (ColumnReader& column : columns_) {
      ADJOIN_RETURN_IF_ERROR(column.Reserve(static_cast<int64_t>(estimate)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ReadBatch() {
    int64_t n = 0;
    for (; n < kBatchRows && !input_.AtEnd(); ++n) ADJOIN_RETURN_IF_ERROR(ReadRow(n));
    return n;
  }

  absl::Status ReadRow(int64_t i) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0 && input_.last_in_row()) {
        return At(c, SqlError(sqlstate::kBadCopyFileFormat,
                              absl::StrCat("missing data for column \"", fields_[c].name, "\"")));
      }
      if (absl::Status status = input_.Next(); !status.ok()) return At(c, status);
      if (!input_.quoted() && input_.field() == options_.null_text) {
        columns_[c].SetNull(i);
      } else if (absl::Status status = columns_[c].Set(i, input_.field()); !status.ok()) {
        return At(c, status);
      }
    }
    if (columns_.empty()) ADJOIN_RETURN_IF_ERROR(input_.Next());
    if (input_.last_in_row()) return absl::OkStatus();
    return At(columns_.size(),
              SqlError(sqlstate::kBadCopyFileFormat, "extra data after last expected column"));
  }

  absl::Status ReadHeader() {
    const bool match = options_.header == CsvOptions::Header::kMatch;
    for (size_t c = 0; !input_.AtEnd() || c > 0; ++c) {
      if (absl::Status status = input_.Next(); !status.ok()) return At(c, status);
      if (match && (c >= fields_.size() || input_.field() != fields_[c].name)) {
        return At(c, SqlError(sqlstate::kBadCopyFileFormat,
                              absl::StrCat("column name mismatch in header line field ", c + 1,
                                           ": got \"", ToAbsl(input_.field()), "\", expected \"",
                                           c < fields_.size() ? fields_[c].name : "", "\"")));
      }
      if (!input_.last_in_row()) continue;
      if (match && c + 1 < fields_.size()) {
        return At(c, SqlError(sqlstate::kBadCopyFileFormat,
                              absl::StrCat("wrong number of fields in header line: got ", c + 1,
                                           ", expected ", fields_.size())));
      }
      break;
    }
    return absl::OkStatus();
  }

  // `status` with the place of the current field, the c-th of its row.
  absl::Status At(size_t c, const absl::Status& status) const {
    const std::string column = c < fields_.size() ? absl::StrCat(" \"", fields_[c].name, "\"") : "";
    return SqlErrorWithDetail(SqlStateOf(status),
                              absl::StrCat(status.message(), " (", ToAbsl(source_), ", line ",
                                           input_.line(), ", column ", c + 1, column, ")"),
                              DetailOf(status), HintOf(status));
  }

  int64_t size_;
  std::string_view source_;
  const std::vector<Field>& fields_;
  const CsvOptions& options_;
  FieldReader input_;
  std::vector<ColumnReader> columns_;
};

}  // namespace

absl::StatusOr<TableRef> ParseCsv(std::string_view text, std::string_view source,
                                  const std::vector<Field>& fields, const CsvOptions& options,
                                  std::shared_ptr<MemoryBudget> budget) {
  ADJOIN_RETURN_IF_ERROR(CheckCsvOptions(options));
  return CsvReader(text, source, fields, options, budget).Read();
}

absl::StatusOr<TableRef> ReadCsv(const std::string& path, const std::vector<Field>& fields,
                                 const CsvOptions& options, std::shared_ptr<MemoryBudget> budget) {
  ADJOIN_ASSIGN_OR_RETURN(const auto file, InputFile::Open(path));
  return ParseCsv(file->bytes(), path, fields, options, std::move(budget));
}

}  // namespace adjoin
