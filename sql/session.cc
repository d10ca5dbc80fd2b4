#include "sql/session.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "ops/spill.h"
#include "sql/apply.h"
#include "sql/binder.h"

namespace adjoin {
namespace {

// Few texts repeat: a short cache of the plans of texts of sane size.
constexpr size_t kCachedStatements = 16;
constexpr size_t kLongestCachedText = 256 * 1024;

// `status`, whose position counts from byte `location` of `sql`, with one that counts from its
// start.
absl::Status ShiftPosition(const absl::Status& status, std::string_view sql, int location) {
  const std::optional<int> position = PositionOf(status);
  if (!position.has_value() || location == 0) return status;
  return SqlErrorWithDetail(SqlStateOf(status), ToStd(status.message()), DetailOf(status),
                            HintOf(status), *position + CharacterPosition(sql, location) - 1);
}

Timestamp Now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
}

bool EndsTransaction(const ParsedStatement& statement) {
  const auto it = statement.tree.find("TransactionStmt");
  if (it == statement.tree.end()) return false;
  const std::string kind = it->value("kind", "");
  return kind == "TRANS_STMT_COMMIT" || kind == "TRANS_STMT_ROLLBACK";
}

}  // namespace

Session::Session(std::shared_ptr<DatabaseState> database)
    : database_(std::move(database)), pool_(database_->pool()), transaction_(database_) {
  defaults_.threads = database_->threads();
  defaults_.temp_directory = database_->temp_directory();
  settings_ = defaults_;
}

absl::StatusOr<Session::Result> Session::AsStatement(
    const std::function<absl::StatusOr<Result>()>& body, bool ends_transaction) {
  if (transaction_.status() == SessionTransaction::Status::kFailed && !ends_transaction) {
    return SqlError(
        sqlstate::kInFailedTransaction,
        "current transaction is aborted, commands ignored until end of transaction block");
  }
  statement_began_ = Now();
  if (transaction_.status() == SessionTransaction::Status::kIdle)
    transaction_began_ = statement_began_;
  absl::StatusOr<Result> result = absl::InternalError("");
  try {
    result = body();
  } catch (const std::bad_alloc&) {
    result = SqlError(sqlstate::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    result = SqlError(sqlstate::kInternalError, absl::StrCat("unexpected failure: ", error.what()));
  }
  transaction_.FinishStatement(result.ok());
  database_->column_cache().DropStale();
  return result;
}

absl::Status Session::RunScript(std::string_view sql,
                                const std::function<void(Result)>& on_result) {
  control_.cancelled.store(false);
  if (PlannedStatement* cached = FindCached(sql)) {
    ADJOIN_ASSIGN_OR_RETURN(Result result, AsStatement([&] { return RunUnprepared(*cached); }));
    on_result(std::move(result));
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<ParsedStatement>> statements = Parse(sql);
  if (!statements.ok()) {
    transaction_.FinishStatement(false);
    return statements.status();
  }
  for (ParsedStatement& statement : *statements) {
    const int location = statement.location;
    const std::string_view key = statements->size() == 1 ? sql : std::string_view();
    const bool ends_transaction = EndsTransaction(statement);
    absl::StatusOr<Result> result =
        AsStatement([&] { return RunStatement(std::move(statement), key); }, ends_transaction);
    if (!result.ok()) return ShiftPosition(result.status(), sql, location);
    on_result(*std::move(result));
  }
  return absl::OkStatus();
}

absl::StatusOr<Session::Result> Session::RunStatement(ParsedStatement statement,
                                                      std::string_view cache_key) {
  if (!IsBindable(statement.tree)) return RunUtility(statement);
  // Texts of INSERT are long and rarely come again.
  const bool cacheable = !cache_key.empty() && cache_key.size() <= kLongestCachedText &&
                         !statement.tree.contains("InsertStmt");
  auto planned =
      std::make_unique<PlannedStatement>(std::move(statement.tree), std::move(statement.text));
  PlannedStatement& running = *planned;
  absl::StatusOr<Result> result = RunUnprepared(running);
  if (result.ok() && cacheable) Cache(cache_key, std::move(planned));
  return result;
}

PlannedStatement* Session::FindCached(std::string_view sql) {
  for (CachedStatement& cached : cache_) {
    if (cached.sql != sql) continue;
    cached.last_use = ++clock_;
    return cached.planned.get();
  }
  return nullptr;
}

void Session::Cache(std::string_view sql, std::unique_ptr<PlannedStatement> planned) {
  if (cache_.size() >= kCachedStatements) {
    const auto oldest =
        std::min_element(cache_.begin(), cache_.end(),
                         [](const auto& a, const auto& b) { return a.last_use < b.last_use; });
    cache_.erase(oldest);
  }
  cache_.push_back({std::string(sql), std::move(planned), ++clock_});
}

absl::StatusOr<std::unique_ptr<PlannedStatement>> Session::Prepare(std::string_view sql) {
  control_.cancelled.store(false);
  absl::StatusOr<std::vector<ParsedStatement>> statements = Parse(sql);
  ADJOIN_RETURN_IF_ERROR(statements.status());
  if (statements->size() != 1 || !IsBindable((*statements)[0].tree)) {
    return SqlError(
        sqlstate::kFeatureNotSupported,
        "preparing anything but one SELECT, VALUES, INSERT, UPDATE or DELETE is not supported");
  }
  ParsedStatement& statement = (*statements)[0];
  const int location = statement.location;
  auto planned =
      std::make_unique<PlannedStatement>(std::move(statement.tree), std::move(statement.text));
  const absl::StatusOr<Result> result = AsStatement([&]() -> absl::StatusOr<Result> {
    absl::Status status = planned->Prepare(transaction_.State(), settings_, database_->budget(),
                                           &database_->column_cache());
    planned->ReleaseTables();
    if (!status.ok()) return status;
    return Result();
  });
  if (!result.ok()) return ShiftPosition(result.status(), sql, location);
  return planned;
}

absl::StatusOr<Session::Result> Session::RunPrepared(PlannedStatement& planned) {
  control_.cancelled.store(false);
  return AsStatement([&] { return RunPlanned(planned); });
}

ClockTimes Session::Times() const { return {transaction_began_, statement_began_, Now()}; }

void Session::PrepareState(PlannedStatement& planned) {
  RunState& state = planned.state();
  if (state.pool != pool_.get()) state.pool = pool_.get();
  if (state.budget == nullptr) state.budget = std::make_shared<MemoryBudget>(database_->budget());
  Spill& spill = *state.spill;
  if (spill.directory != settings_.temp_directory) spill.directory = settings_.temp_directory;
  spill.allowed = settings_.spill != RuleUse::kOff;
  spill.forced = settings_.spill == RuleUse::kForce;
  state.cache = &database_->column_cache();
  state.control = &control_;
}

absl::StatusOr<Session::Result> Session::RunPlanned(PlannedStatement& planned) {
  absl::StatusOr<Result> result = RunWithTables(planned);
  planned.ReleaseTables();
  return result;
}

// Its plan is worth keeping for the next time, its working memory is not: the loss of GPT base,
// read once, held 74 MB.
absl::StatusOr<Session::Result> Session::RunUnprepared(PlannedStatement& planned) {
  absl::StatusOr<Result> result = RunPlanned(planned);
  planned.ReleaseMemory();
  return result;
}

absl::StatusOr<Session::Result> Session::RunWithTables(PlannedStatement& planned) {
  Trace::Clock::time_point start;
  if (trace_ != nullptr) start = Trace::Clock::now();
  PrepareState(planned);
  if (!planned.is_bound()) ADJOIN_RETURN_IF_ERROR(planned.Bind(transaction_.State(), settings_));
  const size_t given = planned.state().parameters.size();
  if (given < planned.statement().parameters.size()) {
    return SqlError(sqlstate::kUndefinedParameter,
                    absl::StrCat("there is no parameter $", given + 1));
  }
  const bool writes = planned.writes();
  if (writes) ADJOIN_RETURN_IF_ERROR(transaction_.Lock(control_, settings_.lock_timeout_ms));
  ADJOIN_RETURN_IF_ERROR(planned.Prepare(transaction_.State(), settings_, database_->budget(),
                                         &database_->column_cache()));
  planned.SetClock(Times());
  if (trace_ != nullptr) return RunTraced(planned, start);
  return RunProgram(planned);
}

absl::StatusOr<Session::Result> Session::RunTraced(PlannedStatement& planned,
                                                   Trace::Clock::time_point start) {
  RunProfile own;
  RunState& state = planned.state();
  RunProfile* const asked = state.profile;
  if (asked == nullptr) state.profile = &own;
  const Trace::Clock::time_point ran = Trace::Clock::now();
  absl::StatusOr<Result> result = RunProgram(planned);
  const RunProfile& profile = *state.profile;
  state.profile = asked;
  if (!result.ok()) return result;
  if (const absl::Status traced = trace_->Add(planned, start, ran, profile); !traced.ok()) {
    trace_ = nullptr;
    result->notices.push_back(absl::StrCat("WARNING:  ", traced.message()));
  }
  return result;
}

absl::StatusOr<Session::Result> Session::RunProgram(PlannedStatement& planned) {
  if (planned.program().updates_in_place()) return RunInPlace(planned);
  if (planned.writes()) ADJOIN_RETURN_IF_ERROR(Write().status());
  ADJOIN_RETURN_IF_ERROR(control_.Check());
  absl::StatusOr<ProgramResult> result = planned.program().Run(planned.state());
  const std::shared_ptr<MemoryBudget>& budget = database_->budget();
  if (IsOutOfMemory(result.status()) && planned.state().spill->enabled() &&
      planned.DropSparseProducts(budget->limit())) {
    ADJOIN_RETURN_IF_ERROR(
        planned.Prepare(transaction_.State(), settings_, budget, &database_->column_cache()));
    result = planned.program().Run(planned.state());
  }
  if (!result.ok()) return result.status();
  return FinishRun(planned, *std::move(result));
}

absl::Status Session::SetTrace(const std::string& path) {
  trace_ = nullptr;
  if (path.empty()) return absl::OkStatus();
  ADJOIN_ASSIGN_OR_RETURN(trace_, Trace::Open(path));
  return absl::OkStatus();
}

absl::StatusOr<Session::Result> Session::RunInPlace(PlannedStatement& planned) {
  ADJOIN_ASSIGN_OR_RETURN(const std::span<ColumnSwap> columns,
                          planned.program().RunInPlace(planned.state()));
  const absl::Span<ColumnSwap> swaps(columns.data(), columns.size());
  // Nobody must hold the tables, or they would be copied.
  planned.ReleaseTables();
  transaction_.DropSnapshot();
  if (transaction_.status() == SessionTransaction::Status::kIdle) {
    if (!database_->catalog().SwapColumns(swaps)) {
      return SqlError(sqlstate::kInternalError, "a table to be updated has left the catalog");
    }
  } else {
    ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
    writer->SwapColumns(swaps);
  }
  for (ColumnSwap& swap : swaps) swap.column.reset();
  Result out;
  out.affected = planned.program().affected_in_place()[0];
  out.tag = absl::StrCat("UPDATE ", out.affected);
  return out;
}

absl::StatusOr<Session::Result> Session::FinishRun(PlannedStatement& planned,
                                                   ProgramResult result) {
  Result out;
  out.peak_bytes = planned.program().peak_bytes();
  out.spilled_bytes = planned.program().spilled_bytes();
  if (!result.writes.empty()) {
    ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<int64_t> affected,
                            ApplyWrites(result.writes, *writer, database_->budget()));
    // The statement's own output comes first; in a SELECT the writes are all of its WITH clause.
    if (!planned.returns_rows()) out.affected = affected[0];
  }
  if (planned.returns_rows()) {
    Schema schema;
    const std::vector<std::string>& names = planned.statement().result_names;
    for (int i = 0; i < result.rows->num_columns(); ++i) {
      schema.fields.push_back(
          {names[static_cast<size_t>(i)], result.rows->column(i)->type(), false});
    }
    out.has_rows = true;
    out.affected = result.rows->num_rows();
    out.rows = api::Table(
        Table::MakeUnchecked(std::move(schema), result.rows->columns(), result.rows->num_rows()));
  }
  const std::string_view verb = planned.verb();
  out.tag = absl::StrCat(ToAbsl(verb), verb == "INSERT" ? " 0 " : " ", out.affected);
  return out;
}

absl::StatusOr<TableRef> Session::RunQuery(const nlohmann::json& tree, std::string_view text) {
  PlannedStatement planned(tree, std::string(text));
  ADJOIN_ASSIGN_OR_RETURN(Result result, RunPlanned(planned));
  return result.rows.impl();
}

absl::StatusOr<Session::Result> Session::RunUtility(const ParsedStatement& statement) {
  ADJOIN_ASSIGN_OR_RETURN(const Utility utility, DecodeUtility(statement.tree, statement.text));
  return std::visit([&](const auto& decoded) { return Run(decoded, statement.text); }, utility);
}

absl::StatusOr<TableRef> TextRows(std::string_view column, const std::vector<std::string>& lines,
                                  const std::shared_ptr<MemoryBudget>& budget) {
  ColumnBuilder builder(TypeId::kText, budget);
  for (const std::string& line : lines) ADJOIN_RETURN_IF_ERROR(builder.Append(Value::Text(line)));
  ADJOIN_ASSIGN_OR_RETURN(ColumnRef text, builder.Finish());
  Schema schema{{{std::string(column), TypeId::kText, false}}, {}};
  return Table::MakeUnchecked(std::move(schema), {std::move(text)}, std::ssize(lines));
}

}  // namespace adjoin
