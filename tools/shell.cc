#include "shell.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "adjoin/error.h"
#include "sql/parse.h"
#include "sql/session.h"

namespace adjoin {
namespace {

constexpr int kDeepestInclude = 16;

constexpr const char* kHelp =
    "  \\?             this list\n"
    "  \\d             list tables and views\n"
    "  \\d NAME        describe a table or view\n"
    "  \\i FILE        run the statements of a file\n"
    "  \\repeat N      run the next statement N times and show the times\n"
    "  \\timing        show the time of each statement, or stop doing so\n"
    "  \\q             quit\n"
    "SQL statements end with a semicolon; Ctrl-C cancels the one that runs.\n";

// Whether `sql` has no unfinished statement: what follows it would be a statement of its own.
bool IsComplete(const std::string& sql) {
  constexpr const char* kNext = "adjoin_next_statement";
  const std::vector<ScriptPart> parts = SplitScript(absl::StrCat(sql, "\n", kNext));
  return !parts.empty() && parts.back().text == kNext;
}

bool IsBlank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string::npos;
}

bool IsCommand(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string::npos && line[first] == '\\';
}

std::string Milliseconds(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.3f ms", value);
  return text;
}

}  // namespace

Shell::Shell(api::Connection connection, OutputFormat format, Console& console)
    : connection_(std::move(connection)), format_(format), console_(console) {}

void Shell::PrintError(const absl::Status& status, const std::string& sql,
                       const std::string& source, int line) {
  std::fflush(stdout);
  if (!source.empty()) {
    // The line of the place in the file where there is one, else of the statement's start.
    const int position = api::ErrorPosition(status).value_or(1);
    const auto end = sql.begin() + std::min<int64_t>(position - 1, std::ssize(sql));
    std::fprintf(stderr, "adjoin:%s:%d: ", source.c_str(),
                 line + static_cast<int>(std::count(sql.begin(), end, '\n')));
  }
  std::fputs(api::FormatError(status, sql).c_str(), stderr);
}

bool Shell::RunOnce(const std::string& sql, const std::string& source, int line, bool print,
                    double* milliseconds) {
  std::vector<api::Result> results;
  console_.BeginStatement(connection_);
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status =
      connection_.Execute(sql, [&](api::Result result) { results.push_back(std::move(result)); });
  *milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  console_.EndStatement();
  if (!status.ok()) {
    PrintError(status, sql, source, line);
    return false;
  }
  for (const api::Result& result : results) {
    for (const std::string& notice : result.notices) std::fprintf(stderr, "%s\n", notice.c_str());
    if (print) PrintResult(result, format_, stdout);
  }
  return true;
}

bool Shell::RunStatement(const std::string& sql, const std::string& source, int line) {
  const int repeat = std::exchange(repeat_, 1);
  std::vector<double> times(static_cast<size_t>(repeat));
  for (int i = 0; i < repeat; ++i) {
    if (!RunOnce(sql, source, line, i + 1 == repeat, &times[static_cast<size_t>(i)])) return false;
  }
  if (repeat > 1) {
    std::sort(times.begin(), times.end());
    const size_t half = times.size() / 2;
    const double median = times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
    std::printf("%d runs: min %s, median %s\n", repeat, Milliseconds(times[0]).c_str(),
                Milliseconds(median).c_str());
  } else if (timing_) {
    std::printf("Time: %s\n", Milliseconds(times[0]).c_str());
  }
  std::fflush(stdout);
  return true;
}

bool Shell::RunStatements(std::string_view sql, const std::string& source, int first_line) {
  for (const ScriptPart& part : SplitScript(sql)) {
    if (!RunStatement(part.text, source, first_line + part.line - 1)) return false;
  }
  return true;
}

bool Shell::RunText(std::string_view text, const std::string& source) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::string sql;
  int number = 0;
  int first_line = 1;
  while (!quit_ && std::getline(lines, line)) {
    ++number;
    if (IsCommand(line) && (IsBlank(sql) || IsComplete(sql))) {
      if (!RunStatements(sql, source, first_line)) return false;
      sql.clear();
      first_line = number + 1;
      if (!quit_ && !RunCommand(line, source.empty() ? "" : absl::StrCat(source, ":", number)))
        return false;
      continue;
    }
    sql += line;
    sql += '\n';
  }
  return quit_ || RunStatements(sql, source, first_line);
}

bool Shell::RunFile(const std::string& path) {
  if (path == "-")
    return RunText(std::string(std::istreambuf_iterator<char>(std::cin), {}), "<stdin>");
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file) {
    std::fprintf(stderr, "adjoin: %s: %s\n", path.c_str(), std::strerror(errno));
    return false;
  }
  return RunText(text, path);
}

void Shell::RunInteractive() {
  std::string sql;
  std::printf("Adjoin. \\? lists commands, \\q quits.\n");
  while (!quit_) {
    static constexpr const char* kMarks[] = {"", "*", "!"};
    const char* mark = kMarks[static_cast<int>(connection_.transaction_status())];
    bool interrupted = false;
    const auto line = console_.ReadLine(
        absl::StrCat("adjoin", IsBlank(sql) ? "=" : "-", mark, "> "), &interrupted);
    if (!line.has_value()) break;
    if (interrupted) {
      sql.clear();
      std::printf("\n");
      continue;
    }
    if (IsBlank(sql) && IsCommand(*line)) {
      console_.AddHistory(*line);
      RunCommand(*line, "");
      continue;
    }
    sql += *line;
    if (line->find(';') == std::string::npos || !IsComplete(sql)) {
      if (!IsBlank(sql)) sql += '\n';
      continue;
    }
    console_.AddHistory(sql);
    RunStatements(std::exchange(sql, ""), "", 1);
  }
  if (!quit_) std::printf("\n");
}

bool Shell::CommandFailed(const std::string& message, const std::string& source) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s%s\n",
               source.empty() ? "" : absl::StrCat("adjoin:", source, ": ").c_str(),
               message.c_str());
  return false;
}

bool Shell::RunCommand(std::string_view line, const std::string& source) {
  std::istringstream words{std::string(line)};
  std::string command;
  std::string argument;
  words >> command >> argument;
  if (!argument.empty() && argument.back() == ';') argument.pop_back();
  if (command == "\\q") {
    quit_ = true;
    return true;
  }
  if (command == "\\?") {
    std::fputs(kHelp, stdout);
    return true;
  }
  if (command == "\\timing") {
    timing_ = argument.empty() ? !timing_ : argument == "on";
    std::printf("Timing is %s.\n", timing_ ? "on" : "off");
    return true;
  }
  if (command == "\\d")
    return argument.empty() ? ListRelations() : DescribeRelation(argument, source);
  if (command == "\\repeat") return SetRepeat(argument, source);
  if (command == "\\i") {
    if (argument.empty()) return CommandFailed("\\i: missing required argument", source);
    if (include_depth_ >= kDeepestInclude)
      return CommandFailed("\\i: too many nested files", source);
    ++include_depth_;
    const bool ok = RunFile(argument);
    --include_depth_;
    return ok;
  }
  return CommandFailed(absl::StrCat("invalid command ", command, "\nTry \\? for help."), source);
}

bool Shell::SetRepeat(const std::string& argument, const std::string& source) {
  constexpr int kMostRuns = 1000000;
  int runs = 0;
  if (!absl::SimpleAtoi(argument, &runs) || runs < 1 || runs > kMostRuns) {
    return CommandFailed(absl::StrCat("\\repeat: not a number of runs: \"", argument, "\""),
                         source);
  }
  repeat_ = runs;
  return true;
}

bool Shell::ListRelations() {
  const std::vector<CatalogEntry> relations = connection_.session()->Relations();
  if (relations.empty()) {
    std::fprintf(stderr, "Did not find any relations.\n");
    return true;
  }
  TextGrid grid;
  grid.title = "List of relations";
  grid.headers = {"Name", "Type", "Rows", "Layout"};
  grid.right_aligned = {false, false, true, false};
  grid.num_rows = std::ssize(relations);
  grid.cell = [&](int64_t row, int column) -> std::string {
    const CatalogEntry& entry = relations[static_cast<size_t>(row)];
    if (column == 0) return entry.name;
    if (column == 1) return entry.is_view() ? "view" : "table";
    if (entry.is_view()) return "";
    if (column == 2) return absl::StrCat(entry.table->num_rows());
    const auto& shape = entry.table->grid();
    return shape.has_value() ? absl::StrCat("grid ", absl::StrJoin(shape->extents, " x ")) : "rows";
  };
  PrintGrid(grid, stdout);
  std::printf("\n");
  return true;
}

bool Shell::DescribeRelation(const std::string& name, const std::string& source) {
  const std::vector<CatalogEntry> relations = connection_.session()->Relations();
  const auto entry = std::find_if(relations.begin(), relations.end(),
                                  [&](const CatalogEntry& e) { return e.name == name; });
  if (entry == relations.end()) {
    return CommandFailed(absl::StrCat("Did not find any relation named \"", name, "\"."), source);
  }
  if (entry->is_view()) {
    std::printf("View \"%s\" (%s):\n%s\n\n", name.c_str(),
                absl::StrJoin(entry->view->columns, ", ").c_str(), entry->view->query.c_str());
    return true;
  }
  const Schema& schema = entry->table->schema();
  std::printf(
      " %-24s | %-16s | Nullable\n--------------------------+------------------+----------\n",
      "Column", "Type");
  for (const Field& field : schema.fields) {
    std::printf(" %-24s | %-16s | %s\n", field.name.c_str(), TypeText(field).c_str(),
                field.not_null ? "not null" : "");
  }
  std::vector<std::string> key;
  for (int dim : schema.dims) key.push_back(schema.fields[static_cast<size_t>(dim)].name);
  if (!key.empty()) std::printf("Primary key: (%s)\n", absl::StrJoin(key, ", ").c_str());
  std::printf("\n");
  return true;
}

}  // namespace adjoin
