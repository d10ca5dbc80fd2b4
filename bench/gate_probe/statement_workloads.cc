// Statements: prepared training steps, their planning, the Rows operators, loading and parsing.
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/gate_probe/models.h"
#include "bench/gate_probe/olap_queries.h"
#include "bench/gate_probe/workload.h"
#include "engine/status.h"
#include "sql/parse.h"

namespace adjoin::gate {
namespace {

absl::StatusOr<Work> MakeStep(const Model& model) {
  ADJOIN_ASSIGN_OR_RETURN(ReadyModel ready, MakeReady(model));
  auto shared = std::make_shared<ReadyModel>(std::move(ready));
  return [shared] { return shared->step.Run().status(); };
}

// That the plan is right is for the step's own workload to say, which runs it.
absl::StatusOr<Work> MakePlan(const Model& model) {
  ADJOIN_ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(model));
  auto shared = std::make_shared<LoadedModel>(std::move(loaded));
  const auto run = [shared] { return shared->connection.Prepare(shared->sql).status(); };
  ADJOIN_RETURN_IF_ERROR(run());
  return run;
}

absl::StatusOr<Work> MakeParse(const Model& model) {
  ADJOIN_ASSIGN_OR_RETURN(const LoadedModel loaded, LoadModel(model));
  ADJOIN_ASSIGN_OR_RETURN(const auto statements, Parse(loaded.sql));
  if (statements.size() != 1 || !statements[0].tree.contains("UpdateStmt"))
    return absl::InternalError("parsed to something else than one UPDATE");
  return [sql = loaded.sql] { return Parse(sql).status(); };
}

struct Session {
  api::Database database;
  api::Connection connection;
};

absl::StatusOr<std::shared_ptr<Session>> MakeSession(std::string_view tables) {
  ADJOIN_ASSIGN_OR_RETURN(api::Database database, api::Database::Open({.threads = 1}));
  api::Connection connection = database.Connect();
  ADJOIN_RETURN_IF_ERROR(connection.Execute(tables).status());
  return std::make_shared<Session>(Session{std::move(database), std::move(connection)});
}

// Without PRIMARY KEYs, so that they are Rows: 8 facts for each of 1100 keys. 7919 is a prime, so
// that the facts come in no order. Just above a power of two, hash tables are three quarters empty:
// nearly full ones take some percent more or less with the seed of text hashes, which is an address
// in the program.
constexpr const char* kRowsTables =
    "CREATE TABLE fact (k BIGINT, part BIGINT, n BIGINT, word TEXT, v DOUBLE PRECISION);"
    "INSERT INTO fact SELECT (i * 7919) % 1100, (i * 7919) % 1100 / 100, i, "
    "'w' || CAST((i * 7919) % 1100 AS TEXT), (i * 7919) % 8800 "
    "FROM generate_series(0, 8799) AS s(i);"
    "CREATE TABLE side (k BIGINT, word TEXT, w DOUBLE PRECISION);"
    "INSERT INTO side SELECT i, 'w' || CAST(i AS TEXT), i FROM generate_series(0, 1099) AS s(i)";

// A query and what it is to give: so many rows, the sum of the last column over them, and that
// column's value in the first and the last of them (of a query that orders its rows).
struct Query {
  const char* name;
  const char* sql;
  int64_t rows;
  double sum;
  bool ordered = false;
  double first = 0, last = 0;
};

constexpr double kKeys = 1099.0 * 1100 / 2;    // the sum of 0 .. 1099
constexpr double kValues = 8799.0 * 8800 / 2;  // of fact.v, each of 0 .. 8799 once
// The sum of (the sum of fact.v of a part) squared: part p has 1100 q + 100 p + r for q < 8, r <
// 100.
constexpr double SquaresOfParts() {
  double sum = 0;
  for (int p = 0; p < 11; ++p) {
    const double of_part = 28.0 * 1100 * 100 + 800.0 * 100 * p + 8.0 * 4950;
    sum += of_part * of_part;
  }
  return sum;
}
constexpr Query kQueries[] = {
    {"hash_join", "SELECT SUM(f.v), SUM(s.w) FROM fact f JOIN side s ON s.k = f.k", 1, 8 * kKeys},
    {"hash_join_text", "SELECT SUM(s.w) FROM fact f JOIN side s ON s.word = f.word", 1, 8 * kKeys},
    {"join_rows", "SELECT f.n, s.w, f.v FROM fact f JOIN side s ON s.k = f.k", 8800, kValues},
    // Sparse products, their structure known: one row met by each, and 800 by each.
    {"sparse_vector", "SELECT f.k, SUM(s.w) FROM fact f JOIN side s ON s.k = f.k GROUP BY f.k",
     1100, 8 * kKeys},
    {"sparse_product",
     "SELECT f.k, g.k, SUM(f.v * g.v) FROM fact f JOIN fact g ON f.part = g.part GROUP BY f.k, g.k",
     110000, SquaresOfParts()},
    {"group_by", "SELECT k, COUNT(*), SUM(v) FROM fact GROUP BY k", 1100, kValues},
    {"group_by_text", "SELECT word, SUM(v) FROM fact GROUP BY word", 1100, kValues},
    {"distinct", "SELECT DISTINCT k, CAST(k AS DOUBLE PRECISION) FROM fact", 1100, kKeys},
    {"window_total", "SELECT n, SUM(v) OVER (PARTITION BY k) / 8 FROM fact", 8800, kValues},
    {"window_rank",
     "SELECT n, CAST(row_number() OVER (PARTITION BY part ORDER BY v) AS DOUBLE PRECISION) "
     "FROM fact",
     8800, 11 * 800.0 * 801 / 2},
    {"sort", "SELECT n, v FROM fact ORDER BY v DESC", 8800, kValues, true, 8799, 0},
    {"sort_limit", "SELECT n, v FROM fact ORDER BY v LIMIT 10", 10, 45, true, 0, 9},
    // The two branches take from 0 .. 4399 what the other leaves; 2200 rows add 1.
    {"filter_map",
     "SELECT CASE WHEN v < 4400.0 THEN v + 1.0 ELSE 8799.0 - v END FROM fact WHERE k < 550", 4400,
     4399.0 * 4400 / 2 + 2200},
};

absl::Status CheckQuery(const Query& query, const api::Table& rows) {
  ADJOIN_ASSIGN_OR_RETURN(const auto values, rows.column_data<double>(rows.num_columns() - 1));
  double sum = 0;
  for (double value : values) sum += value;
  if (rows.num_rows() != query.rows || !(std::fabs(sum - query.sum) <= 1e-9 * query.sum) ||
      (query.ordered && (values.front() != query.first || values.back() != query.last))) {
    return absl::InternalError(
        absl::StrCat(query.name, " gives ", rows.num_rows(), " rows with the sum ", sum));
  }
  return absl::OkStatus();
}

absl::StatusOr<Work> MakeQuery(const Query& query) {
  ADJOIN_ASSIGN_OR_RETURN(const auto session, MakeSession(kRowsTables));
  ADJOIN_ASSIGN_OR_RETURN(api::Prepared prepared, session->connection.Prepare(query.sql));
  ADJOIN_ASSIGN_OR_RETURN(const api::Result result, prepared.Run());
  ADJOIN_RETURN_IF_ERROR(CheckQuery(query, result.rows));
  auto shared = std::make_shared<api::Prepared>(std::move(prepared));
  return [session, shared] { return shared->Run().status(); };
}

absl::StatusOr<Work> MakeOlapQuery(const OlapQuery& query) {
  ADJOIN_ASSIGN_OR_RETURN(ReadyQuery ready, MakeReady(query));
  auto shared = std::make_shared<ReadyQuery>(std::move(ready));
  return [shared] { return shared->prepared.Run().status(); };
}

// CREATE, COPY and DROP of a table from a file; `check` is one number over it.
absl::StatusOr<Work> MakeLoad(const std::string& columns, const std::string& file,
                              const std::string& check, double expected) {
  ADJOIN_ASSIGN_OR_RETURN(const auto session, MakeSession(""));
  const std::string load = absl::StrCat("CREATE TABLE t (", columns, "); COPY t FROM '",
                                        SourcePath(file), "' (FORMAT csv, HEADER)");
  ADJOIN_RETURN_IF_ERROR(session->connection.Execute(load).status());
  ADJOIN_ASSIGN_OR_RETURN(const auto sum, FirstRow(session->connection, check));
  if (sum[0] != expected) return absl::InternalError(absl::StrCat(file, ": loaded to ", sum[0]));
  return [session, sql = "DROP TABLE t; " + load] {
    return session->connection.Execute(sql).status();
  };
}

}  // namespace

std::vector<Workload> StatementWorkloads() {
  std::vector<Workload> list;
  for (const Model& model : Models()) {
    list.push_back({"step." + model.name, [&model] { return MakeStep(model); }});
    list.push_back({"plan." + model.name, [&model] { return MakePlan(model); }});
    if (model.name == "gpt_small")
      list.push_back({"parse." + model.name, [&model] { return MakeParse(model); }});
  }
  for (const Query& query : kQueries)
    list.push_back({absl::StrCat("rows.", query.name), [&query] { return MakeQuery(query); }});
  for (const OlapQuery& query : OlapQueries())
    list.push_back(
        {absl::StrCat("olap.", query.name()), [&query] { return MakeOlapQuery(query); }});
  list.push_back({"load.csv_numbers", [] {
                    return MakeLoad("i BIGINT, j BIGINT, val DOUBLE PRECISION, PRIMARY KEY (i, j)",
                                    "tests/data/models/logistic/x.csv",
                                    "SELECT CAST(SUM(i * 30 + j) AS DOUBLE PRECISION) FROM t",
                                    17069.0 * 17070 / 2);
                  }});
  list.push_back({"load.csv_text", [] {
                    return MakeLoad("word TEXT, f BIGINT, val DOUBLE PRECISION",
                                    "tests/data/models/factorization/p.csv",
                                    "SELECT CAST(COUNT(DISTINCT word) AS DOUBLE PRECISION) FROM t",
                                    400);
                  }});
  return list;
}

}  // namespace adjoin::gate
