#include "bench/gate_probe/models.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/status.h"
#include "engine/text.h"

namespace adjoin::gate {
namespace {

// Of the largest term of an update: rounding is orders below, a wrong gradient far above.
constexpr double kTolerance64 = 1e-12, kTolerance32 = 1e-5;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(SourcePath(path), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return absl::NotFoundError(absl::StrCat("no file ", path));
  return text;
}

// The tables of a schema.sql: name and the words in its parentheses.
struct TableText {
  std::string name, columns, dims;
};
std::vector<TableText> TablesOf(const std::string& schema) {
  static const std::regex table(R"(CREATE TABLE (\w+) \(([^;]*)\);)"),
      key(R"(PRIMARY KEY \(([^)]*)\))");
  std::vector<TableText> tables;
  for (std::sregex_iterator m(schema.begin(), schema.end(), table), end; m != end; ++m) {
    TableText text{(*m)[1].str(), (*m)[2].str(), ""};
    std::smatch dims;
    if (std::regex_search(text.columns, dims, key)) text.dims = dims[1].str();
    tables.push_back(std::move(text));
  }
  return tables;
}

std::string Copy(const std::string& table, const std::string& file) {
  return absl::StrCat("COPY ", table, " FROM '", SourcePath(file), "' (FORMAT ",
                      absl::EndsWith(file, ".npy") ? "npy);" : "csv, HEADER);");
}

std::string Create(const std::string& name, const std::string& columns) {
  return absl::StrCat("CREATE TABLE ", name, " (", columns, ");");
}

// The batch of a reference export: of several steps, that of the first.
std::string FirstBatch(const std::string& folder) {
  std::string sql;
  for (const char* part : {"x", "y"}) {
    const std::string name = absl::StrCat("all_", part);
    absl::StrAppend(
        &sql, Create(name, "s BIGINT, b BIGINT, t BIGINT, val INTEGER, PRIMARY KEY (s, b, t)"),
        Copy(name, absl::StrCat(folder, "batch/", part, ".npy")));
  }
  return sql +
         "INSERT INTO batch SELECT x.b, x.t, x.val, y.val FROM all_x x JOIN all_y y ON y.s = x.s "
         "AND y.b = x.b AND y.t = x.t WHERE x.s = 0; DROP TABLE all_x; DROP TABLE all_y;";
}

// A layer's tables are those of layer 0, but for two of zeros: its block then passes on what it is
// given, so that the loss and the other layers' gradients stay those of one layer.
std::string LayerTables(const std::vector<TableText>& tables, int layer) {
  std::string sql;
  for (const TableText& table : tables) {
    if (!absl::StartsWith(table.name, "h0_")) continue;
    const std::string name = absl::StrCat("h", layer, table.name.substr(2));
    absl::StrAppend(&sql, Create(name, table.columns), "INSERT INTO ", name, " SELECT * FROM ",
                    table.name, ";");
    if (table.name == "h0_wo" || table.name == "h0_w_proj")
      absl::StrAppend(&sql, "UPDATE ", name, " SET val = 0;");
  }
  return sql;
}

// The block between the comments "attention" and "logits" once for each layer, every name of it
// with the layer's number, reading x2 of the layer before.
absl::StatusOr<std::string> Layered(const std::string& text, int layers) {
  const size_t from = text.find("-- attention"), to = text.find("-- logits");
  if (from == std::string::npos || to == std::string::npos)
    return absl::InvalidArgumentError("a model without a block: " + text);
  const std::string block = text.substr(from, to - from);
  static const std::regex cte(R"((\w+) AS \(\n)");
  std::string names;
  for (std::sregex_iterator m(block.begin(), block.end(), cte), end; m != end; ++m)
    absl::StrAppend(&names, names.empty() ? "" : "|", (*m)[1].str());
  const std::regex own(absl::StrCat("\\b(", names, ")\\b"));
  std::string out = text.substr(0, to), last = "x2";
  for (int l = 1; l < layers; ++l) {
    std::string layer = std::regex_replace(block, own, absl::StrCat("$1_", l));
    layer = absl::StrReplaceAll(layer, {{"x0", last}, {"h0_", absl::StrCat("h", l, "_")}});
    last = absl::StrCat("x2_", l);
    out += layer;
  }
  return out + std::regex_replace(text.substr(to), std::regex("\\bx2\\b"), last);
}

std::string SlopeFile(const Model& model, const std::string& table) {
  if (!model.arrays.empty())
    return absl::StrCat("tests/data/", model.arrays, "/grad/", table, ".npy");
  return absl::StrCat("tests/data/expected/", model.folder, "/", table, ".csv");
}

// One model while it is set up and checked.
class Setup {
 public:
  Setup(const Model& model, api::Connection& connection) : model_(model), connection_(connection) {}

  absl::Status Load() {
    ADJOIN_ASSIGN_OR_RETURN(
        std::string schema,
        ReadText(absl::StrCat("tests/data/models/", model_.folder, "/schema.sql")));
    if (model_.real) {
      absl::StrReplaceAll({{"DOUBLE PRECISION", "REAL"}}, &schema);
      ADJOIN_RETURN_IF_ERROR(connection_.Set("adjoin.float_promotion", "weak"));
    }
    const std::vector<TableText> tables = TablesOf(schema);
    for (const TableText& table : tables) by_name_[table.name] = table;
    std::string sql = schema;
    if (model_.arrays.empty()) {
      for (const TableText& table : tables)
        sql += Copy(table.name,
                    absl::StrCat("tests/data/models/", model_.folder, "/", table.name, ".csv"));
    } else {
      const std::string folder = absl::StrCat("tests/data/", model_.arrays, "/");
      for (const std::string& name : model_.parameters)
        sql += Copy(name, absl::StrCat(folder, "init/", name, ".npy"));
      sql += FirstBatch(folder);
    }
    for (int l = 1; l < model_.layers; ++l) sql += LayerTables(tables, l);
    ADJOIN_RETURN_IF_ERROR(connection_.Execute(sql).status());
    ADJOIN_ASSIGN_OR_RETURN(const std::string text,
                            ReadText(absl::StrCat("examples/models/", model_.text, ".sql")));
    ctes_ = text.substr(0, text.rfind("\nSELECT "));
    if (model_.layers > 1) {
      ADJOIN_ASSIGN_OR_RETURN(ctes_, Layered(ctes_, model_.layers));
    }
    return absl::OkStatus();
  }

  std::string StepSql() const {
    std::vector<std::string> updates;
    for (const std::string& name : model_.parameters) updates.push_back(Update(name));
    for (int l = 1; l < model_.layers; ++l) {
      for (const auto& [name, table] : by_name_) {
        if (absl::StartsWith(name, "h0_"))
          updates.push_back(Update(absl::StrCat("h", l, name.substr(2))));
      }
    }
    std::string sql = ctes_;
    for (size_t i = 0; i + 1 < updates.size(); ++i)
      absl::StrAppend(&sql, ",\nu", i, " AS (", updates[i], ")");
    return absl::StrCat(sql, "\n", updates.back());
  }

  absl::Status CheckLoss() {
    const bool csv = model_.arrays.empty();
    ADJOIN_RETURN_IF_ERROR(
        connection_
            .Execute(csv ? Create("losses", "l DOUBLE PRECISION") +
                               Copy("losses", absl::StrCat("tests/data/expected/", model_.folder,
                                                           "/loss.csv"))
                         : Create("losses", "s BIGINT PRIMARY KEY, l DOUBLE PRECISION") +
                               Copy("losses",
                                    absl::StrCat("tests/data/", model_.arrays, "/out/losses.npy")))
            .status());
    ADJOIN_ASSIGN_OR_RETURN(
        const auto expected,
        FirstRow(connection_, csv ? "SELECT l FROM losses" : "SELECT l FROM losses WHERE s = 0"));
    ADJOIN_ASSIGN_OR_RETURN(
        const auto actual,
        FirstRow(connection_, ctes_ + "\nSELECT CAST(l AS DOUBLE PRECISION) FROM loss"));
    if (!(std::fabs(actual[0] - expected[0]) <= tolerance() * std::fabs(expected[0])))
      return absl::InternalError(
          absl::StrCat(model_.name, ": the loss is ", actual[0], " instead of ", expected[0]));
    return connection_.Execute("DROP TABLE losses").status();
  }

  // What CheckParameters compares with: the values before the step and JAX's gradients.
  absl::Status KeepParameters() {
    std::string sql;
    for (const std::string& name : model_.parameters) {
      const TableText& table = by_name_[name];
      const std::string type = model_.real ? "val REAL" : "val DOUBLE PRECISION";
      const std::string slopes = model_.arrays.empty()
                                     ? "grad DOUBLE PRECISION, hvp DOUBLE PRECISION"
                                     : "grad DOUBLE PRECISION";
      absl::StrAppend(&sql, Create("old_" + name, table.columns), "INSERT INTO old_", name,
                      " SELECT * FROM ", name, ";",
                      Create("slope_" + name, absl::StrReplaceAll(table.columns, {{type, slopes}})),
                      Copy("slope_" + name, SlopeFile(model_, name)));
    }
    return connection_.Execute(sql).status();
  }

  absl::Status CheckParameters() {
    for (const std::string& name : model_.parameters) {
      const std::string sql = absl::StrCat(
          "SELECT MAX(abs(CAST(n.val AS DOUBLE PRECISION) - (CAST(o.val AS DOUBLE PRECISION) - ",
          model_.rate,
          " * s.grad))), "
          "MAX(CAST(abs(o.val) AS DOUBLE PRECISION) + abs(",
          model_.rate,
          " * s.grad)), "
          "CAST(COUNT(*) AS DOUBLE PRECISION), (SELECT CAST(COUNT(*) AS DOUBLE PRECISION) FROM "
          "old_",
          name, ") FROM ", name, " n JOIN old_", name, " o USING (", by_name_[name].dims,
          ") JOIN slope_", name, " s USING (", by_name_[name].dims, ")");
      ADJOIN_ASSIGN_OR_RETURN(const auto row, FirstRow(connection_, sql));
      if (!(row[0] <= tolerance() * row[1]) || row[2] != row[3])
        return absl::InternalError(
            absl::StrCat(model_.name, ": a step leaves ", name, " off by ", row[0]));
      ADJOIN_RETURN_IF_ERROR(
          connection_.Execute(absl::StrCat("DROP TABLE old_", name, "; DROP TABLE slope_", name))
              .status());
    }
    return absl::OkStatus();
  }

 private:
  std::string Update(const std::string& name) const {
    return absl::StrCat("UPDATE ", name, " SET val = val - ", model_.rate, " * grad(loss, val)");
  }
  double tolerance() const { return model_.real ? kTolerance32 : kTolerance64; }

  const Model& model_;
  api::Connection& connection_;
  std::map<std::string, TableText> by_name_;
  std::string ctes_;
};

std::vector<Model> AllModels() {
  const std::vector<std::string> gpt = {"wte",     "wpe",       "h0_ln_1", "h0_wq",
                                        "h0_wk",   "h0_wv",     "h0_wo",   "h0_ln_2",
                                        "h0_w_fc", "h0_w_proj", "ln_f"};
  std::vector<std::string> untied = gpt;
  untied.push_back("w_head");
  std::vector<Model> models = {
      {"linear", "linear", "linear", {"w", "b"}, 0.001},
      {"logistic", "logistic", "logistic", {"w", "b"}, 0.1},
      {"mlp", "mlp", "mlp", {"w1", "b1", "w2", "b2"}, 0.1},
      {"kmeans", "kmeans", "kmeans", {"centre"}, 0.1},
      {"factorization", "factorization", "factorization", {"p", "q", "pb", "qb"}, 0.1},
      {"attention", "attention", "attention", {"wq", "wk", "wv"}, 0.1},
      {"gpt_untied", "gpt", "gpt_small", untied, 0.1}};
  const Model small = {"gpt_small", "gpt_tied", "gpt_tied_small", gpt, 0.1};
  Model real = small, layers = small, base = small;
  real.name = "gpt_small_f32";
  real.real = true;
  layers.name = "gpt_small_4_layers";
  layers.layers = 4;
  base.name = "gpt_base";
  base.arrays = "gpt_base";
  for (const Model& model : {small, real, layers, base}) models.push_back(model);
  return models;
}

absl::StatusOr<LoadedModel> Open(const Settings& settings) {
  ADJOIN_ASSIGN_OR_RETURN(api::Database database, api::Database::Open({.threads = 1}));
  api::Connection connection = database.Connect();
  for (const auto& [name, value] : settings) ADJOIN_RETURN_IF_ERROR(connection.Set(name, value));
  return LoadedModel{std::move(database), std::move(connection), ""};
}

}  // namespace

const std::vector<Model>& Models() {
  static const auto* models = new std::vector<Model>(AllModels());
  return *models;
}

absl::StatusOr<LoadedModel> LoadModel(const Model& model) {
  ADJOIN_ASSIGN_OR_RETURN(LoadedModel loaded, Open({}));
  Setup setup(model, loaded.connection);
  ADJOIN_RETURN_IF_ERROR(setup.Load());
  loaded.sql = setup.StepSql();
  return loaded;
}

absl::StatusOr<ReadyModel> MakeReady(const Model& model, const Settings& settings) {
  ADJOIN_ASSIGN_OR_RETURN(LoadedModel loaded, Open(settings));
  Setup setup(model, loaded.connection);
  ADJOIN_RETURN_IF_ERROR(setup.Load());
  ADJOIN_RETURN_IF_ERROR(setup.CheckLoss());
  ADJOIN_RETURN_IF_ERROR(setup.KeepParameters());
  loaded.sql = setup.StepSql();
  ADJOIN_ASSIGN_OR_RETURN(api::Prepared step, loaded.connection.Prepare(loaded.sql));
  ADJOIN_RETURN_IF_ERROR(step.Run().status());
  ADJOIN_RETURN_IF_ERROR(setup.CheckParameters());
  ADJOIN_RETURN_IF_ERROR(step.Run().status());
  return ReadyModel{std::move(loaded), std::move(step)};
}

absl::StatusOr<std::vector<double>> FirstRow(api::Connection& connection, std::string_view sql) {
  ADJOIN_ASSIGN_OR_RETURN(const api::Result result, connection.Query(sql));
  if (result.rows.num_rows() == 0)
    return absl::InternalError(absl::StrCat("no rows: ", ToAbsl(sql)));
  std::vector<double> row;
  for (int i = 0; i < result.rows.num_columns(); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(const auto column, result.rows.column_data<double>(i));
    row.push_back(column[0]);
  }
  return row;
}

std::string SourcePath(std::string_view path) {
  return absl::StrCat(ADJOIN_SOURCE_DIR, "/", ToAbsl(path));
}

}  // namespace adjoin::gate
