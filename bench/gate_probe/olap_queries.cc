#include "bench/gate_probe/olap_queries.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/gate_probe/models.h"
#include "engine/status.h"

namespace adjoin::gate {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(SourcePath(path));
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename T>
absl::Status AddColumn(const api::Table& table, int column, double* sum, double* absolute) {
  ADJOIN_ASSIGN_OR_RETURN(const auto values, table.column_data<T>(column));
  *absolute = 0;
  for (size_t r = 0; r < values.size(); ++r) {
    if (table.is_null(static_cast<int64_t>(r), column)) continue;
    *sum += static_cast<double>(values[r]);
    *absolute += std::fabs(static_cast<double>(values[r]));
  }
  return absl::OkStatus();
}

bool Near(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

absl::Status CheckResult(const OlapQuery& query, const api::Table& rows) {
  double sum = 0, last = 0, of_integers = 0;
  for (int c = 0; c < rows.num_columns(); ++c) {
    switch (rows.column_type(c)) {
      case api::Type::kInteger:
        ADJOIN_RETURN_IF_ERROR(AddColumn<int32_t>(rows, c, &sum, &of_integers));
        break;
      case api::Type::kBigInt:
        ADJOIN_RETURN_IF_ERROR(AddColumn<int64_t>(rows, c, &sum, &of_integers));
        break;
      case api::Type::kDouble:
        ADJOIN_RETURN_IF_ERROR(AddColumn<double>(rows, c, &sum, &last));
        break;
      default:
        break;
    }
  }
  if (rows.num_rows() == query.rows && Near(sum, query.sum) && Near(last, query.last))
    return absl::OkStatus();
  return absl::InternalError(absl::StrCat(query.name(), " gives ", rows.num_rows(),
                                          " rows with the sums ", sum, " and ", last));
}

}  // namespace

std::string OlapQuery::name() const { return absl::StrReplaceAll(text, {{"/", "_"}}); }

const std::vector<OlapQuery>& OlapQueries() {
  static const std::vector<OlapQuery> queries = {
      {"h2o_groupby", "h2o/groupby_q01", 100, 27015, 0},
      {"h2o_groupby", "h2o/groupby_q02", 5016, 27015, 0},
      {"h2o_groupby", "h2o/groupby_q03", 90, 31408.200355402438, 4393.200355402444},
      {"h2o_groupby", "h2o/groupby_q04", 100, 11032.850928157675, 4882.77979765241},
      {"h2o_groupby", "h2o/groupby_q05", 90, 542431.4404296875, 439326.4404296875},
      {"h2o_groupby", "h2o/groupby_q06", 5543, 897994.726648942, 67729.58993018833},
      {"h2o_groupby", "h2o/groupby_q07", 90, 357, 0},
      {"h2o_groupby", "h2o/groupby_q08", 180, 25085.1357421875, 16895.1357421875},
      {"h2o_groupby", "h2o/groupby_q09", 6401, 324751.0968054518, 1136.0968054517255},
      {"h2o_groupby", "h2o/groupby_q10", 9000, 1765843.4404296875, 439326.4404296875},
      {"h2o_join", "h2o/join_q1", 4906, 15634667.125, 3551.375},
      {"h2o_join", "h2o/join_q2", 5608, 18089317, 104844.125},
      {"h2o_join", "h2o/join_q3", 6000, 19310967.75, 104844.125},
      {"h2o_join", "h2o/join_q4", 5608, 18990256, 104844.125},
      {"h2o_join", "h2o/join_q5", 5479, 21835534.375, 2056069.625},
      {"window", "window/w1_running_sum", 8000, 48135622.40625, 15779176.40625},
      {"window", "window/w2_rank", 8000, 32755854, 0},
      {"window", "window/w3_top2", 160, 651330.4453125, 12049.4453125},
      {"window", "window/w4_lag", 8000, 32356736.3671875, 248464.4140625},
      {"window", "window/w5_moving_avg", 8000, 32668550.17944106, 312104.17944094335},
      {"window", "window/w6_partition_avg", 8000, 32356446.00000053, 152491.9425262784},
      {"tpch", "tpch/q01", 6, 17906556.707433984, 0.3746359499043671},
      {"tpch", "tpch/q03", 10, 22418.3828125, 16018.3828125},
      {"tpch", "tpch/q05", 4, 6230.87109375, 6230.87109375},
      {"tpch", "tpch/q06", 1, 4986.98828125, 4986.98828125},
      {"tpch", "tpch/q09", 140, -3309425.671875, 3588725.671875},
      {"tpch", "tpch/q10", 20, 59552.80859375, 4077.5},
      {"tpch", "tpch/q12", 2, 67, 0},
      {"tpch", "tpch/q14", 1, 22.991171803846434, 22.991171803846434},
      {"tpch", "tpch/q18", 30, 95808, 10500},
      {"spmm", "graph/spmm_long", 2400, 197557.75, 51910.171875},
      {"spgemm", "graph/spgemm", 8747, 1882146.94921875, 189964.66796875},
      {"triangle", "graph/triangle", 1, 1743, 0},
      {"triangle", "graph/triangle_deg", 1, 1743, 0},
      {"pagerank", "graph/pagerank_step", 800, 319600.3879126469, 0.3879126464843746},
  };
  return queries;
}

absl::StatusOr<ReadyQuery> MakeReady(const OlapQuery& query) {
  ADJOIN_ASSIGN_OR_RETURN(const std::string tables,
                          ReadText(absl::StrCat("bench/gate_probe/olap/", query.tables, ".sql")));
  ADJOIN_ASSIGN_OR_RETURN(const std::string sql,
                          ReadText(absl::StrCat("bench/olap/sql/", query.text, ".sql")));
  ADJOIN_ASSIGN_OR_RETURN(api::Database database, api::Database::Open({.threads = 1}));
  api::Connection connection = database.Connect();
  ADJOIN_RETURN_IF_ERROR(connection.Execute(tables).status());
  ADJOIN_ASSIGN_OR_RETURN(api::Prepared prepared, connection.Prepare(sql));
  ADJOIN_ASSIGN_OR_RETURN(const api::Result result, prepared.Run());
  ADJOIN_RETURN_IF_ERROR(CheckResult(query, result.rows));
  return ReadyQuery{std::move(database), std::move(connection), std::move(prepared)};
}

}  // namespace adjoin::gate
