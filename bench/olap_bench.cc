// Our side of the OLAP benchmarks: loads the tables of a data set, then prepares, runs and times
// queries over them, as bench/olap/run.py asks in lines of standard input. Each is answered by one
// line of JSON, {"error": ...} where it fails:
//   query FILE     prepares the query of a file and runs it once; with --memory-share S, then again
//                  with S times the memory that took, beside the tables, and the rest in files
//   result FOLDER  writes that run's rows, as data.py writes a table
//   round SECONDS  times runs for that long, one at least
//   explain        the plan as that run ran it
//   record         the least and the median time, and the most memory that the rounds took
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "adjoin/database.h"
#include "adjoin/error.h"
#include "bench/clock.h"
#include "bench/resident.h"
#include "engine/file.h"
#include "engine/large_memory.h"
#include "engine/npy_header.h"
#include "engine/status.h"

namespace adjoin::bench {
namespace {

using api::ColumnData;
using api::Type;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

template <typename T>
std::span<const T> Elements(const InputFile& file, const NpyHeader& header) {
  return {reinterpret_cast<const T*>(file.bytes().data() + header.data_offset),
          static_cast<size_t>(header.elements)};
}

// Codes in a file, and the texts they stand for a line each in another.
absl::StatusOr<ColumnData> LoadText(std::span<const int32_t> codes, const fs::path& dictionary) {
  std::vector<std::string> words;
  std::ifstream lines(dictionary);
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  std::vector<std::string_view> texts;
  texts.reserve(codes.size());
  for (int32_t code : codes) texts.push_back(words[static_cast<size_t>(code)]);
  return ColumnData::CopyText(texts);
}

absl::StatusOr<ColumnData> LoadColumn(const fs::path& folder, const Json& column) {
  auto file = InputFile::Open(folder / column["file"].get<std::string>());
  if (!file.ok()) return file.status();
  ADJOIN_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader((*file)->bytes()));
  if (column.contains("dict")) {
    return LoadText(Elements<int32_t>(**file, header), folder / column["dict"].get<std::string>());
  }
  switch (header.type) {
    case NpyType::kInt32:
      return ColumnData::Copy(Elements<int32_t>(**file, header));
    case NpyType::kInt64:
      return ColumnData::Copy(Elements<int64_t>(**file, header));
    case NpyType::kFloat64:
      return ColumnData::Copy(Elements<double>(**file, header));
    default:
      return absl::InvalidArgumentError("no column of this type: " + column.dump());
  }
}

absl::Status LoadTable(api::Connection& connection, const fs::path& folder) {
  const Json schema = Json::parse(ReadText(folder / "schema.json"));
  api::Schema fields;
  std::vector<ColumnData> columns;
  for (const Json& column : schema["columns"]) {
    ADJOIN_ASSIGN_OR_RETURN(ColumnData data, LoadColumn(folder, column));
    const bool date = column["type"] == "date32";
    fields.fields.push_back({column["name"], date ? Type::kDate : data.type(), false});
    columns.push_back(std::move(data));
  }
  ADJOIN_ASSIGN_OR_RETURN(const api::Table table,
                          api::Table::Make(std::move(fields), std::move(columns)));
  return connection.CreateTable(folder.filename().string(), table);
}

template <typename T>
void WriteNumbers(const fs::path& path, NpyType type, std::span<const T> values) {
  std::ofstream file(path, std::ios::binary);
  file << MakeNpyHeader(type, {static_cast<int64_t>(values.size())});
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
}

template <typename T>
absl::Status WriteColumnOf(const api::Table& table, int c, const fs::path& path, NpyType type) {
  ADJOIN_ASSIGN_OR_RETURN(const std::span<const T> values, table.column_data<T>(c));
  WriteNumbers(path, type, values);
  return absl::OkStatus();
}

// Codes from 0 in first-seen order, and their texts.
absl::Status WriteText(const api::Table& table, int c, const fs::path& path,
                       const fs::path& dictionary) {
  ADJOIN_ASSIGN_OR_RETURN(const std::span<const int32_t> codes, table.column_data<int32_t>(c));
  std::unordered_map<int32_t, int32_t> seen;
  std::vector<int32_t> written(codes.size(), 0);
  std::ofstream words(dictionary);
  for (size_t r = 0; r < codes.size(); ++r) {
    const auto row = static_cast<int64_t>(r);
    if (table.is_null(row, c)) continue;
    const auto [at, is_new] = seen.try_emplace(codes[r], static_cast<int32_t>(seen.size()));
    if (is_new) words << table.text(row, c) << "\n";
    written[r] = at->second;
  }
  WriteNumbers<int32_t>(path, NpyType::kInt32, written);
  return absl::OkStatus();
}

absl::Status WriteColumn(const api::Table& table, int c, const fs::path& folder, Json& column) {
  const std::string stem = std::to_string(c);
  const fs::path path = folder / (stem + ".npy");
  column = {{"name", table.column_name(c)}, {"type", "number"}, {"file", stem + ".npy"}};
  if (table.null_count(c) > 0) {
    std::vector<uint8_t> valid(static_cast<size_t>(table.num_rows()));
    for (size_t r = 0; r < valid.size(); ++r)
      valid[r] = table.is_null(static_cast<int64_t>(r), c) ? 0 : 1;
    WriteNumbers<uint8_t>(folder / (stem + ".valid.npy"), NpyType::kUInt8, valid);
    column["valid"] = stem + ".valid.npy";
  }
  switch (table.column_type(c)) {
    case Type::kText:
      column["type"] = "string";
      column["dict"] = stem + ".dict.txt";
      return WriteText(table, c, path, folder / (stem + ".dict.txt"));
    case Type::kDate:
      column["type"] = "date32";
      return WriteColumnOf<int32_t>(table, c, path, NpyType::kInt32);
    case Type::kInteger:
      return WriteColumnOf<int32_t>(table, c, path, NpyType::kInt32);
    case Type::kBigInt:
      return WriteColumnOf<int64_t>(table, c, path, NpyType::kInt64);
    case Type::kDouble:
      return WriteColumnOf<double>(table, c, path, NpyType::kFloat64);
    default:
      return absl::InvalidArgumentError("no result has columns of this type: " + column.dump());
  }
}

absl::Status WriteTable(const api::Table& table, const fs::path& folder) {
  Json columns = Json::array();
  for (int c = 0; c < table.num_columns(); ++c) {
    ADJOIN_RETURN_IF_ERROR(WriteColumn(table, c, folder, columns.emplace_back()));
  }
  std::ofstream(folder / "schema.json")
      << Json{{"rows", table.num_rows()}, {"columns", std::move(columns)}};
  return absl::OkStatus();
}

// Bytes that --memory-share leaves at least: a filtered SUM's working set is two numbers, and a
// quarter of that no size for a limit.
constexpr int64_t kLeastLimit = int64_t{64} << 10;

// A query that was run once, and the times of its runs since.
class Query {
 public:
  static absl::StatusOr<Query> Make(const api::Database& database, api::Connection& connection,
                                    const std::string& sql, double memory_share) {
    Query query;
    ADJOIN_RETURN_IF_ERROR(connection.Set("memory_limit", "0"));
    ReleaseLarge();
    ResetResidentPeak();
    query.resident_before_ = ResidentBytes();
    ADJOIN_ASSIGN_OR_RETURN(query.prepared_, connection.Prepare(sql));
    ADJOIN_ASSIGN_OR_RETURN(query.result_, query.prepared_->Run());
    if (memory_share == 0) return query;
    query.working_set_ = query.result_.peak_bytes;
    query.result_ = {};
    const auto share = static_cast<int64_t>(memory_share * static_cast<double>(query.working_set_));
    const std::string limit = std::to_string(database.memory_used() + std::max(share, kLeastLimit));
    ADJOIN_RETURN_IF_ERROR(connection.Set("memory_limit", limit));
    ADJOIN_ASSIGN_OR_RETURN(query.result_, query.prepared_->Run());
    return query;
  }

  absl::Status Write(const fs::path& folder) const { return WriteTable(result_.rows, folder); }

  std::string Explain() const { return prepared_->Explain(/*analyze=*/true); }

  absl::Status Round(double seconds) {
    if (times_.empty()) {
      result_ = {};
      ResetResidentPeak();
    }
    const auto begin = Clock::now();
    for (bool first = true; first || Milliseconds(begin) < 1000 * seconds; first = false) {
      result_ = {};
      const auto start = Clock::now();
      ADJOIN_ASSIGN_OR_RETURN(result_, prepared_->Run());
      times_.push_back(Milliseconds(start));
    }
    return absl::OkStatus();
  }

  Json Record() const {
    const int64_t peak_bytes = ResidentPeakBytes() - resident_before_;
    std::vector<double> sorted = times_;
    std::sort(sorted.begin(), sorted.end());
    Json record = {{"min_ms", sorted.front()},
                   {"median_ms", sorted[sorted.size() / 2]},
                   {"peak_bytes", peak_bytes}};
    if (working_set_ > 0) {
      record["working_set_bytes"] = working_set_;
      record["budget_peak_bytes"] = result_.peak_bytes;
      record["spilled_bytes"] = result_.spilled_bytes;
    }
    return record;
  }

 private:
  int64_t resident_before_ = 0;
  int64_t working_set_ = 0;  // of a run without a limit, where there is one later
  std::optional<api::Prepared> prepared_;
  api::Result result_;
  std::vector<double> times_;
};

struct Serving {
  api::Database database;
  api::Connection connection;
  double memory_share;
  std::optional<Query> query;
};

absl::Status Answer(Serving& serving, const std::string& command, const std::string& argument,
                    Json& answer) {
  std::optional<Query>& query = serving.query;
  if (command == "query") {
    query.reset();
    ADJOIN_ASSIGN_OR_RETURN(query, Query::Make(serving.database, serving.connection,
                                               ReadText(argument), serving.memory_share));
    return absl::OkStatus();
  }
  if (!query.has_value()) return absl::InvalidArgumentError("no query before " + command);
  if (command == "result") return query->Write(argument);
  if (command == "round") return query->Round(std::stod(argument));
  if (command == "explain") {
    answer = {{"plan", query->Explain()}};
    return absl::OkStatus();
  }
  if (command == "record") {
    answer = query->Record();
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("no such command: " + command);
}

absl::Status Serve(const fs::path& data, const api::Options& options, double memory_share) {
  ADJOIN_ASSIGN_OR_RETURN(const api::Database database, api::Database::Open(options));
  Serving serving{database, database.Connect(), memory_share, {}};
  for (const auto& entry : fs::directory_iterator(data)) {
    if (entry.is_directory()) ADJOIN_RETURN_IF_ERROR(LoadTable(serving.connection, entry.path()));
  }
  std::cout << Json::object() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = std::min(line.find(' '), line.size());
    Json answer = Json::object();
    absl::Status status = Answer(serving, line.substr(0, space),
                                 line.substr(std::min(space + 1, line.size())), answer);
    if (!status.ok()) answer = {{"error", api::FormatError(status)}};
    std::cout << answer << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace adjoin::bench

int main(int argc, char** argv) {
  CLI::App app("Loads the tables of a data set and times queries as standard input asks.");
  std::string data;
  adjoin::api::Options options;
  options.threads = 1;
  options.temp_directory = std::filesystem::temp_directory_path().string();
  double memory_share = 0;
  app.add_option("data", data, "the data set's folder")->required()->check(CLI::ExistingDirectory);
  app.add_option("--threads", options.threads)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--memory-share", memory_share)->check(CLI::Range(0.0, 1.0));
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = adjoin::bench::Serve(data, options, memory_share); !status.ok()) {
    std::fputs(adjoin::api::FormatError(status).c_str(), stderr);
    return 1;
  }
  return 0;
}
