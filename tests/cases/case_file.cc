#include "tests/cases/case_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/status.h"

namespace adjoin::cases {
namespace {

using Words = std::vector<std::string>;

Words WordsOf(const std::string& line) { return absl::StrSplit(line, ' ', absl::SkipEmpty()); }

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

std::optional<RecordKind> KindOf(const std::string& word) {
  static const auto* kinds = new std::map<std::string, RecordKind>{
      {"setup", RecordKind::kSetup},     {"generate", RecordKind::kGenerate},
      {"query", RecordKind::kQuery},     {"error", RecordKind::kError},
      {"prepare", RecordKind::kPrepare}, {"execute", RecordKind::kExecute}};
  const auto kind = kinds->find(word);
  if (kind == kinds->end()) return std::nullopt;
  return kind->second;
}

absl::Status ReadOption(const std::string& word, Record& record) {
  const std::pair<std::string, std::string> option = absl::StrSplit(word, absl::MaxSplits('=', 1));
  const auto& [name, value] = option;
  if (name == "label") {
    record.label = value;
  } else if (name == "ordered") {
    record.ordered = true;
  } else if (name == "exact") {
    record.exact = true;
  } else if (name == "identical") {
    record.identical = true;
  } else if (name == "or-error") {
    record.or_errors = absl::StrSplit(value, ',');
  } else if (name == "rtol" || name == "atol") {
    if (!absl::SimpleAtod(value, name == "rtol" ? &record.rtol : &record.atol)) return Bad(word);
  } else if (name != "refs") {
    return Bad(absl::StrCat("unknown option ", word));
  }
  return absl::OkStatus();
}

absl::Status ReadDirective(const Words& words, CaseFile& file) {
  const std::string& name = words[0];
  for (size_t i = 1; i < words.size() && name == "threads"; ++i)
    file.threads.push_back(std::stoi(words[i]));
  if (name == "threads") return absl::OkStatus();
  if (words.size() == 2 && name == "repeat") {
    file.repeat = std::stoi(words[1]);
  } else if (words.size() == 2 && name == "memory_mib") {
    file.memory_mib = std::stoi(words[1]);
  } else if (words.size() == 2 && name == "requires" && words[1] == "random") {
    file.requires_random = true;
  } else {
    return Bad(absl::StrCat("unknown directive ", absl::StrJoin(words, " ")));
  }
  return absl::OkStatus();
}

// One column of a generated table: "name TYPE mod A B M [extra] [null_every K]".
absl::Status GenerateColumn(const std::string& line, Record& record) {
  static const auto* types = new std::map<std::string, TypeId>{
      {"SMALLINT", TypeId::kInt16}, {"INTEGER", TypeId::kInt32},  {"BIGINT", TypeId::kInt64},
      {"REAL", TypeId::kFloat32},   {"DOUBLE", TypeId::kFloat64}, {"TEXT", TypeId::kText}};
  Words words = WordsOf(line);
  int64_t null_every = 0;
  if (words.size() > 2 && words[words.size() - 2] == "null_every") {
    null_every = std::stoll(words.back());
    words.resize(words.size() - 2);
  }
  if (words.size() < 6 || words[2] != "mod" || types->count(words[1]) == 0) return Bad(line);
  const TypeId type = types->at(words[1]);
  const int64_t a = std::stoll(words[3]), b = std::stoll(words[4]), m = std::stoll(words[5]);
  const std::string extra = words.size() > 6 ? words[6] : "";
  const std::string offset = words.size() > 7 ? words[7] : "0";
  record.schema.fields.push_back({words[0], type});
  for (int64_t i = 0; i < static_cast<int64_t>(record.rows.size()); ++i) {
    const int64_t v = (a * i + b) % m;
    Value value;
    if (null_every > 0 && i % null_every == null_every - 1) {
      value = Value();
    } else if (type == TypeId::kText) {
      value = Value::Text(absl::StrCat(extra, v));
    } else if (IsInteger(type)) {
      value = Value::Int(v * (extra.empty() ? 1 : std::stoll(extra)) + std::stoll(offset));
    } else {
      const double scaled = static_cast<double>(v) * (extra.empty() ? 1.0 : std::stod(extra));
      value = reference::RoundTo(type, Value::Float(scaled + std::stod(offset)));
    }
    record.rows[static_cast<size_t>(i)].push_back(value);
  }
  return absl::OkStatus();
}

// `lines` are those of one record, the first being the header.
absl::StatusOr<Record> ReadRecord(const Words& lines, int line) {
  const Words head = WordsOf(lines[0]);
  const std::optional<RecordKind> kind = KindOf(head[0]);
  if (!kind.has_value()) return Bad(absl::StrCat("unknown record ", head[0]));
  Record record;
  record.kind = *kind;
  record.line = line;
  record.label = absl::StrCat("line-", line);
  size_t next = 1;
  const bool named = *kind != RecordKind::kSetup && *kind != RecordKind::kQuery;
  if (named && next < head.size()) record.name = head[next++];
  if (*kind == RecordKind::kGenerate) {
    record.rows.resize(static_cast<size_t>(std::stoll(head.at(next))));
    for (size_t i = 1; i < lines.size(); ++i)
      ADJOIN_RETURN_IF_ERROR(GenerateColumn(lines[i], record));
    return record;
  }
  const bool has_rows = *kind == RecordKind::kQuery || *kind == RecordKind::kExecute;
  if (has_rows && next < head.size()) record.types = head[next++];
  for (; next < head.size(); ++next) ADJOIN_RETURN_IF_ERROR(ReadOption(head[next], record));
  const auto bar = std::find(lines.begin(), lines.end(), "----");
  if (has_rows && bar == lines.end()) return Bad("no ---- line");
  record.sql = absl::StrJoin(lines.begin() + 1, bar, "\n");
  if (bar != lines.end()) record.expected.assign(bar + 1, lines.end());
  return record;
}

// Splits at " | " outside quotes.
Words CellsOf(const std::string& line) {
  Words cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (!quoted && line.compare(i, 3, " | ") == 0) {
      cells.emplace_back();
      i += 2;
      continue;
    }
    if (line[i] == '\'') quoted = !quoted;
    cells.back() += line[i];
  }
  return cells;
}

std::string Unquoted(const std::string& cell) {
  std::string text;
  for (size_t i = 1; i + 1 < cell.size(); ++i) {
    text += cell[i];
    if (cell[i] == '\'' && cell[i + 1] == '\'') ++i;
  }
  return text;
}

bool FloatMatches(const Record& record, const std::string& cell, double actual) {
  if (cell == "nonfinite") return !std::isfinite(actual);
  double expected = 0;
  if (!absl::SimpleAtod(cell, &expected)) return false;
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  if (record.exact) return expected == actual;
  return std::fabs(actual - expected) <= record.atol + record.rtol * std::fabs(expected);
}

bool CellMatches(const Record& record, char type, const std::string& cell, const Value& actual) {
  if (cell == "NULL" || actual.is_null()) return cell == "NULL" && actual.is_null();
  int64_t integer = 0;
  switch (type) {
    case 'I':
      return actual.is_int() && absl::SimpleAtoi(cell, &integer) && integer == actual.as_int();
    case 'F':
      return actual.is_float()
                 ? FloatMatches(record, cell, actual.as_float())
                 : actual.is_int() &&
                       FloatMatches(record, cell, static_cast<double>(actual.as_int()));
    case 'T':
      return actual.is_text() && actual.as_text() == Unquoted(cell);
    case 'D':
      return actual.is_int() && ToText(actual, TypeId::kDate) == cell;
    case 'P':
      return actual.is_int() && ToText(actual, TypeId::kTimestamp) == cell;
    case 'V':
      return actual.is_interval() && ToText(actual, TypeId::kInterval) == cell;
    case 'N':
      return actual.is_decimal() && ToText(actual.as_decimal()) == cell;
    case 'B':
      return actual.is_bool() && actual.as_bool() == (cell == "true");
    default:
      return false;
  }
}

bool RowMatches(const Record& record, const Words& cells, const reference::Row& actual) {
  if (cells.size() != actual.size() || cells.size() != record.types.size()) return false;
  for (size_t c = 0; c < cells.size(); ++c) {
    if (!CellMatches(record, record.types[c], cells[c], actual[c])) return false;
  }
  return true;
}

std::string RowText(const reference::Row& row) {
  return absl::StrJoin(row, " | ", [](std::string* out, const Value& v) {
    if (v.is_null()) absl::StrAppend(out, "NULL");
    if (v.is_bool()) absl::StrAppend(out, v.as_bool() ? "true" : "false");
    if (v.is_int()) absl::StrAppend(out, v.as_int());
    if (v.is_float()) absl::StrAppend(out, ToText(v, TypeId::kFloat64));
    if (v.is_text()) absl::StrAppend(out, "'", v.as_text(), "'");
    if (v.is_decimal()) absl::StrAppend(out, ToText(v.as_decimal()));
    if (v.is_interval()) absl::StrAppend(out, ToText(v, TypeId::kInterval));
  });
}

}  // namespace

absl::StatusOr<CaseFile> ReadCaseFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Bad(absl::StrCat("cannot read ", path));
  CaseFile file;
  file.name = std::filesystem::path(path).filename().string();
  const auto located = [&](const absl::Status& s, int line) {
    return Bad(absl::StrCat(file.name, ":", line, ": ", s.message()));
  };
  Words lines;
  int number = 0, first = 0;
  bool more = true;
  while (more) {
    std::string line;
    more = static_cast<bool>(std::getline(in, line));
    ++number;
    if (line.rfind("#!", 0) == 0) {
      if (absl::Status s = ReadDirective(WordsOf(line.substr(2)), file); !s.ok())
        return located(s, number);
    } else if (!line.empty() && line[0] != '#') {
      if (lines.empty()) first = number;
      lines.push_back(line);
    } else if (line.empty() && !lines.empty()) {
      absl::StatusOr<Record> record = ReadRecord(lines, first);
      if (!record.ok()) return located(record.status(), first);
      file.records.push_back(*std::move(record));
      lines.clear();
    }
  }
  return file;
}

std::string SqlStateOfKind(const std::string& kind) {
  static const auto* states = new std::map<std::string, std::string_view>{
      {"Overflow", sqlstate::kNumericOutOfRange},
      {"DivisionByZero", sqlstate::kDivisionByZero},
      {"InvalidText", sqlstate::kInvalidTextRepresentation},
      {"InvalidDateTime", sqlstate::kInvalidDateTimeFormat},
      {"DateTimeOverflow", sqlstate::kDateTimeOutOfRange},
      {"InvalidParameter", sqlstate::kInvalidParameterValue},
      {"InvalidFrameSize", "22013"},
      {"NullNotAllowed", "22004"},
      {"InvalidColumnReference", sqlstate::kInvalidColumnReference},
      {"InvalidEscape", sqlstate::kInvalidEscapeSequence},
      {"InvalidRegularExpression", sqlstate::kInvalidRegularExpression},
      {"SyntaxError", sqlstate::kSyntaxError},
      {"SubstringError", sqlstate::kSubstringError},
      {"ProgramLimit", sqlstate::kProgramLimitExceeded},
      {"CannotCoerce", sqlstate::kCannotCoerce},
      {"DatatypeMismatch", sqlstate::kDatatypeMismatch},
      {"UniqueViolation", sqlstate::kUniqueViolation},
      {"NotSupported", sqlstate::kFeatureNotSupported},
      {"SyntaxError", sqlstate::kSyntaxError},
      {"UndefinedObject", sqlstate::kUndefinedObject},
      {"DuplicateColumn", sqlstate::kDuplicateColumn},
      {"DuplicateAlias", sqlstate::kDuplicateAlias},
      {"WrongObjectType", sqlstate::kWrongObjectType},
      {"WindowingError", sqlstate::kWindowingError},
      {"UndefinedFunction", sqlstate::kUndefinedFunction},
      {"UnknownColumn", sqlstate::kUndefinedColumn},
      {"UnknownTable", sqlstate::kUndefinedTable},
      {"AmbiguousColumn", sqlstate::kAmbiguousColumn},
      {"GroupingError", sqlstate::kGroupingError},
      {"CardinalityViolation", sqlstate::kCardinalityViolation},
      {"NotScalar", sqlstate::kNotScalar},
      {"InvalidColumn", sqlstate::kInvalidDerivativeColumn},
      {"UnsupportedExpression", sqlstate::kNoDerivativeRule}};
  const auto state = states->find(kind);
  return state == states->end() ? "" : std::string(state->second);
}

std::string Difference(const Record& record, const reference::Rows& actual) {
  if (actual.size() != record.expected.size()) {
    return absl::StrCat(actual.size(), " rows instead of ", record.expected.size(),
                        actual.empty() ? "" : absl::StrCat(", the first: ", RowText(actual[0])));
  }
  std::vector<bool> used(actual.size(), false);
  for (size_t e = 0; e < record.expected.size(); ++e) {
    const Words cells = CellsOf(record.expected[e]);
    if (record.ordered) {
      if (RowMatches(record, cells, actual[e])) continue;
      return absl::StrCat("row ", e, " is ", RowText(actual[e]), " instead of ",
                          record.expected[e]);
    }
    size_t a = 0;
    while (a < actual.size() && (used[a] || !RowMatches(record, cells, actual[a]))) ++a;
    if (a == actual.size()) {
      const size_t rest =
          static_cast<size_t>(std::find(used.begin(), used.end(), false) - used.begin());
      return absl::StrCat("no row ", record.expected[e],
                          "; a row that is left: ", RowText(actual[rest]));
    }
    used[a] = true;
  }
  return "";
}

}  // namespace adjoin::cases
