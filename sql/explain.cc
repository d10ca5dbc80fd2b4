// EXPLAIN [ANALYZE]: a plan report as text, one line a row, or as one JSON text.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/status.h"
#include "sql/session.h"

namespace adjoin {

absl::StatusOr<Session::Result> Session::Run(const Explain& s, const std::string& text) {
  if (s.format != "text" && s.format != "json") {
    return SqlError(sqlstate::kFeatureNotSupported,
                    absl::StrCat("EXPLAIN format \"", s.format, "\" is not supported"));
  }
  nlohmann::json query = s.query;
  std::unique_ptr<PlannedStatement> own;
  PlannedStatement* planned = nullptr;
  if (query.contains("ExecuteStmt")) {
    ADJOIN_ASSIGN_OR_RETURN(const Utility inner, DecodeUtility(query, text));
    const auto& execute = std::get<::adjoin::Execute>(inner);
    ADJOIN_ASSIGN_OR_RETURN(planned, FindPrepared(execute.name));
    ADJOIN_RETURN_IF_ERROR(SetArguments(*planned, execute, text));
  } else {
    if (query.contains("CreateTableAsStmt")) {
      if (s.analyze) {
        return SqlError(sqlstate::kFeatureNotSupported,
                        "EXPLAIN ANALYZE of CREATE TABLE AS is not supported");
      }
      ADJOIN_ASSIGN_OR_RETURN(const Utility inner, DecodeUtility(query, text));
      query = std::get<CreateTableAs>(inner).query;
    }
    own = std::make_unique<PlannedStatement>(std::move(query), text);
    planned = own.get();
  }
  RunProfile profile;
  if (s.analyze) {
    planned->state().profile = &profile;
    const absl::Status status = RunPlanned(*planned).status();
    planned->state().profile = nullptr;
    ADJOIN_RETURN_IF_ERROR(status);
  } else {
    PrepareState(*planned);
    const absl::Status status = planned->Prepare(transaction_.State(), settings_,
                                                 database_->budget(), &database_->column_cache());
    planned->ReleaseTables();
    ADJOIN_RETURN_IF_ERROR(status);
  }
  const PlanReport report = planned->Report(&transaction_.State(), s.analyze ? &profile : nullptr);
  std::vector<std::string> lines;
  if (s.format == "json") {
    lines = {ToJson(report).dump()};
  } else {
    lines = absl::StrSplit(ToText(report, s.analyze), '\n');
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    if (s.analyze) {
      lines.push_back(absl::StrFormat("Planning Time: %.3f ms", planned->plan_ms()));
      lines.push_back(absl::StrFormat("Execution Time: %.3f ms", profile.ms));
    }
  }
  Result result;
  result.tag = "EXPLAIN";
  result.has_rows = true;
  ADJOIN_ASSIGN_OR_RETURN(TableRef rows, TextRows("QUERY PLAN", lines, database_->budget()));
  result.rows = api::Table(std::move(rows));
  return result;
}

}  // namespace adjoin
