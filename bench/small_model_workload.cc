#include <fstream>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/workloads.h"
#include "gpt/gpt_sql.h"

namespace adjoin::bench {
namespace {

struct Model {
  const char* name;
  std::vector<const char*> data, parameters;  // tables; those that the step updates
};
const std::vector<Model>& Models() {
  static const auto* models =
      new std::vector<Model>{{"kmeans", {"x"}, {"centre"}},
                             {"factorization", {"pair", "setting"}, {"p", "q", "pb", "qb"}}};
  return *models;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return absl::NotFoundError("no file " + path);
  return text;
}

}  // namespace

absl::StatusOr<Workload> SmallModel(const Options& options) {
  for (const Model& model : Models()) {
    if (options.size != model.name || options.dtype != "f64") continue;
    const std::string data = absl::StrCat(ADJOIN_SOURCE_DIR "/tests/data/models/", model.name, "/");
    auto sql = gpt::ModelSql::Load(
        absl::StrCat(ADJOIN_SOURCE_DIR "/examples/models/", model.name, ".sql"), /*layers=*/1);
    if (!sql.ok()) return sql.status();
    auto schema = ReadText(data + "schema.sql");
    if (!schema.ok()) return schema.status();
    auto expected =
        ReadText(absl::StrCat(ADJOIN_SOURCE_DIR "/tests/data/expected/", model.name, "/loss.csv"));
    if (!expected.ok()) return expected.status();
    const std::vector<std::string> lines = absl::StrSplit(*expected, '\n');
    double loss = 0;
    if (lines.size() < 2 || !absl::SimpleAtod(lines[1], &loss))
      return absl::InvalidArgumentError("no loss: " + *expected);

    Workload workload;
    std::vector<gpt::Parameter> parameters;
    std::string create = *schema;
    const auto load = [&](const char* table) {
      absl::StrAppend(&create, "COPY ", table, " FROM '", data, table,
                      ".csv' (FORMAT csv, HEADER);");
    };
    for (const char* table : model.data) load(table);
    for (const char* table : model.parameters) {
      load(table);
      parameters.push_back({table, {}, {}, 0, 0});
      workload.left.push_back({table, absl::StrCat("SELECT * FROM ", table)});
    }
    workload.statements = {sql->Step(parameters, /*learning_rate=*/0.1)};
    workload.create = [create](api::Connection& connection) {
      return connection.Execute(create).status();
    };
    workload.loss = sql->Loss();
    workload.before = {{sql->Loss(), loss}};
    return workload;
  }
  return absl::InvalidArgumentError(absl::StrCat("no such model: ", options.size, " ",
                                                 options.dtype, " (kmeans or factorization, f64)"));
}

}  // namespace adjoin::bench
