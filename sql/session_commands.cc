// SET, SHOW, PREPARE, EXECUTE, DEALLOCATE, BEGIN, COMMIT and ROLLBACK.
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/binder.h"
#include "sql/session.h"

namespace adjoin {
namespace {

constexpr std::string_view kMemoryLimit =
    "memory_limit";  // of the whole database; see sql/settings.h for the rest

std::string ShowLimit(const MemoryBudget& budget) {
  return budget.limit() == INT64_MAX ? "0" : FormatBytes(budget.limit());
}

absl::Status SetLimit(const std::optional<std::string>& value, MemoryBudget& budget) {
  const std::optional<int64_t> bytes = ParseBytes(value.value_or("0"), 1);
  if (!bytes.has_value()) {
    return SqlError(sqlstate::kInvalidParameterValue,
                    absl::StrCat("invalid value for parameter \"memory_limit\": \"", *value, "\""));
  }
  budget.set_limit(*bytes == 0 ? INT64_MAX : *bytes);
  return absl::OkStatus();
}

// An error of planning again, whose position would point into the text of PREPARE, not into the one
// that now runs.
absl::Status WithoutPosition(const absl::Status& status) {
  if (!PositionOf(status).has_value()) return status;
  return SqlErrorWithDetail(SqlStateOf(status), ToStd(status.message()), DetailOf(status),
                            HintOf(status));
}

absl::StatusOr<ColumnRef> TextColumn(const std::vector<std::string>& lines,
                                     std::shared_ptr<MemoryBudget> budget) {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef rows, TextRows("", lines, budget));
  return rows->column(0);
}

}  // namespace

absl::Status Session::SetSetting(std::string_view name, const std::optional<std::string>& value) {
  if (name == kMemoryLimit) return SetLimit(value, *database_->budget());
  ADJOIN_RETURN_IF_ERROR(adjoin::SetSetting(name, value, defaults_, &settings_));
  if (settings_.threads != pool_->threads()) pool_ = std::make_shared<TaskPool>(settings_.threads);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Session::ShowSetting(std::string_view name) {
  if (name == kMemoryLimit) return ShowLimit(*database_->budget());
  return adjoin::ShowSetting(name, settings_);
}

absl::StatusOr<Session::Result> Session::Run(const SetVariable& s, const std::string&) {
  Result result;
  result.tag = s.value.has_value() ? "SET" : "RESET";
  if (s.name == "all") {
    for (const std::string& name : SettingNames())
      ADJOIN_RETURN_IF_ERROR(SetSetting(name, std::nullopt));
    return result;
  }
  ADJOIN_ASSIGN_OR_RETURN(const std::string before, ShowSetting(s.name));
  ADJOIN_RETURN_IF_ERROR(SetSetting(s.name, s.value));
  if (!s.local) {
    local_settings_.erase(s.name);
  } else if (transaction_.status() == SessionTransaction::Status::kIdle) {
    ADJOIN_RETURN_IF_ERROR(SetSetting(s.name, before));
    result.notices.push_back("WARNING:  SET LOCAL can only be used in transaction blocks");
  } else {
    local_settings_.try_emplace(s.name, before);
  }
  return result;
}

absl::StatusOr<Session::Result> Session::Run(const Show& s, const std::string&) {
  Result result;
  result.tag = "SHOW";
  result.has_rows = true;
  if (s.name != "all") {
    ADJOIN_ASSIGN_OR_RETURN(const std::string value, ShowSetting(s.name));
    ADJOIN_ASSIGN_OR_RETURN(TableRef rows, TextRows(s.name, {value}, database_->budget()));
    result.rows = api::Table(std::move(rows));
    return result;
  }
  std::vector<std::string> names = SettingNames();
  names.emplace_back(kMemoryLimit);
  std::vector<std::string> values;
  for (const std::string& name : names) {
    ADJOIN_ASSIGN_OR_RETURN(std::string value, ShowSetting(name));
    values.push_back(std::move(value));
  }
  ADJOIN_ASSIGN_OR_RETURN(ColumnRef name_column, TextColumn(names, database_->budget()));
  ADJOIN_ASSIGN_OR_RETURN(ColumnRef value_column, TextColumn(values, database_->budget()));
  Schema schema{{{"name", TypeId::kText, false}, {"setting", TypeId::kText, false}}, {}};
  result.rows = api::Table(Table::MakeUnchecked(
      std::move(schema), {std::move(name_column), std::move(value_column)}, std::ssize(names)));
  return result;
}

absl::StatusOr<PlannedStatement*> Session::FindPrepared(const std::string& name) {
  const auto it = prepared_.find(name);
  if (it != prepared_.end()) return it->second.get();
  return SqlError(sqlstate::kInvalidStatementName,
                  absl::StrCat("prepared statement \"", name, "\" does not exist"));
}

absl::StatusOr<Session::Result> Session::Run(const PrepareStatement& s, const std::string& text) {
  if (prepared_.contains(s.name)) {
    return SqlError(sqlstate::kDuplicatePreparedStatement,
                    absl::StrCat("prepared statement \"", s.name, "\" already exists"));
  }
  auto planned = std::make_unique<PlannedStatement>(s.query, text, s.types);
  absl::Status status = planned->Prepare(transaction_.State(), settings_, database_->budget(),
                                         &database_->column_cache());
  planned->ReleaseTables();
  if (!status.ok()) return status;
  prepared_[s.name] = std::move(planned);
  Result result;
  result.tag = "PREPARE";
  return result;
}

absl::StatusOr<ExprRef> Session::Evaluate(const ExprRef& expr) {
  if (expr->kind == ExprKind::kConstant) return expr;
  Planner planner;
  const NodeRef row = planner.Make(Values{{{}}, {}}, {});
  Statement statement;
  statement.outputs.push_back({ResultSink{}, planner.Make(Project{{expr}}, {row})});
  statement.result_names = {"value"};
  ADJOIN_ASSIGN_OR_RETURN(const std::unique_ptr<Program> program,
                          Program::Compile(statement, {}, settings_.plan, database_->budget()));
  RunState state;
  state.pool = pool_.get();
  state.budget = database_->budget();
  state.control = &control_;
  ADJOIN_ASSIGN_OR_RETURN(const ProgramResult result, program->Run(state));
  return ConstantExpr(result.rows->value(0, 0), expr->type);
}

absl::Status Session::SetArguments(PlannedStatement& planned, const Execute& s,
                                   const std::string& text) {
  const std::vector<TypeId>& types = planned.statement().parameters;
  const size_t given = s.args.is_array() ? s.args.size() : 0;
  if (given != types.size()) {
    return SqlErrorWithDetail(
        sqlstate::kSyntaxError,
        absl::StrCat("wrong number of parameters for prepared statement \"", s.name, "\""),
        absl::StrCat("Expected ", types.size(), " parameters but got ", given, "."));
  }
  if (given == 0) return absl::OkStatus();
  BindOptions options;
  options.weak_real = settings_.weak_real;
  options.text = text;
  options.times = Times();
  ADJOIN_ASSIGN_OR_RETURN(std::vector<ExprRef> values,
                          BindConstants(s.args, {types.begin(), types.end()}, options));
  for (ExprRef& value : values) {
    ADJOIN_ASSIGN_OR_RETURN(value, Evaluate(value));
  }
  return planned.SetParameters(values);
}

absl::StatusOr<Session::Result> Session::Run(const ::adjoin::Execute& s, const std::string& text) {
  ADJOIN_ASSIGN_OR_RETURN(PlannedStatement* const planned, FindPrepared(s.name));
  ADJOIN_RETURN_IF_ERROR(SetArguments(*planned, s, text));
  absl::StatusOr<Result> result = RunPlanned(*planned);
  if (!result.ok()) return WithoutPosition(result.status());
  return result;
}

absl::StatusOr<Session::Result> Session::Run(const Deallocate& s, const std::string&) {
  Result result;
  if (s.name.empty()) {
    prepared_.clear();
    result.tag = "DEALLOCATE ALL";
    return result;
  }
  ADJOIN_RETURN_IF_ERROR(FindPrepared(s.name).status());
  prepared_.erase(s.name);
  result.tag = "DEALLOCATE";
  return result;
}

absl::StatusOr<Session::Result> Session::Run(const Transaction& s, const std::string&) {
  Result result;
  if (s.kind == Transaction::Kind::kBegin) {
    result.tag = "BEGIN";
    if (transaction_.Begin()) {
      settings_at_begin_ = settings_;
    } else {
      result.notices.push_back("WARNING:  there is already a transaction in progress");
    }
    return result;
  }
  const bool failed = transaction_.status() == SessionTransaction::Status::kFailed;
  const bool commit = s.kind == Transaction::Kind::kCommit && !failed;
  result.tag =
      commit || transaction_.status() == SessionTransaction::Status::kIdle ? "COMMIT" : "ROLLBACK";
  if (s.kind == Transaction::Kind::kRollback) result.tag = "ROLLBACK";
  const bool had = commit ? transaction_.Commit() : transaction_.Rollback();
  if (!had) {
    result.notices.push_back("WARNING:  there is no transaction in progress");
    return result;
  }
  if (!commit) {
    settings_ = settings_at_begin_;
  } else {
    for (const auto& [name, value] : local_settings_)
      ADJOIN_RETURN_IF_ERROR(SetSetting(name, value));
  }
  local_settings_.clear();
  if (settings_.threads != pool_->threads()) pool_ = std::make_shared<TaskPool>(settings_.threads);
  return result;
}

}  // namespace adjoin
