// adjoin/connection.h and adjoin/prepared.h over Session.
#include "adjoin/connection.h"

#include <utility>

#include "adjoin/prepared.h"
#include "engine/status.h"
#include "sql/api_types.h"
#include "sql/session.h"

namespace adjoin {

class PreparedState {
 public:
  std::shared_ptr<Session> session;
  std::unique_ptr<PlannedStatement> planned;
  int64_t runs = 0;
};

namespace {

ExprRef ParameterConstant(const api::Value& value) {
  static constexpr TypeId kTypes[] = {TypeId::kText, TypeId::kBool, TypeId::kInt64,
                                      TypeId::kFloat64, TypeId::kText};
  return ConstantExpr(api::ToEngine(value), kTypes[value.index()]);
}

}  // namespace

namespace api {

Connection::Connection(std::shared_ptr<Session> session) : session_(std::move(session)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection::~Connection() {
  if (session_ != nullptr) session_->RollbackOpen();
}
Connection& Connection::operator=(Connection&& other) noexcept {
  if (this == &other) return *this;
  if (session_ != nullptr) session_->RollbackOpen();
  session_ = std::move(other.session_);
  return *this;
}

absl::Status Connection::Execute(std::string_view sql,
                                 const std::function<void(Result)>& on_result) {
  return session_->RunScript(sql, on_result);
}

absl::StatusOr<std::vector<Result>> Connection::Execute(std::string_view sql) {
  std::vector<Result> results;
  ADJOIN_RETURN_IF_ERROR(
      Execute(sql, [&](Result result) { results.push_back(std::move(result)); }));
  return results;
}

absl::StatusOr<Result> Connection::Query(std::string_view sql) {
  Result last;
  ADJOIN_RETURN_IF_ERROR(Execute(sql, [&](Result result) { last = std::move(result); }));
  return last;
}

absl::StatusOr<Result> Connection::Query(const Plan& plan) { return Query(plan.ToSql()); }

absl::StatusOr<Prepared> Connection::Prepare(std::string_view sql) {
  auto state = std::make_unique<PreparedState>();
  state->session = session_;
  ADJOIN_ASSIGN_OR_RETURN(state->planned, session_->Prepare(sql));
  return Prepared(std::move(state));
}

absl::StatusOr<Prepared> Connection::Prepare(const Plan& plan) { return Prepare(plan.ToSql()); }

absl::StatusOr<Prepared> Connection::Prepare(const std::vector<Update>& updates) {
  if (updates.empty()) return SqlError(sqlstate::kInvalidParameterValue, "no updates to prepare");
  return Prepare(ToSql(updates));
}

absl::Status Connection::CreateTable(std::string_view name, const Table& table) {
  if (table.impl() == nullptr)
    return SqlError(sqlstate::kInvalidParameterValue, "a table without columns");
  return session_->CreateBaseTable(std::string(name), table.impl());
}

absl::Status Connection::ReplaceTable(std::string_view name, const Table& table) {
  if (table.impl() == nullptr)
    return SqlError(sqlstate::kInvalidParameterValue, "a table without columns");
  return session_->ReplaceBaseTable(std::string(name), table.impl());
}

absl::StatusOr<Table> Connection::GetTable(std::string_view name) {
  ADJOIN_ASSIGN_OR_RETURN(TableRef table, session_->GetBaseTable(std::string(name)));
  return Table(std::move(table));
}

absl::Status Connection::Set(std::string_view name, std::string_view value) {
  return session_->SetSetting(name, std::string(value));
}
absl::StatusOr<std::string> Connection::Show(std::string_view name) {
  return session_->ShowSetting(name);
}

absl::Status Connection::Trace(std::string_view path) {
  return session_->SetTrace(std::string(path));
}

void Connection::SetProgressCallback(std::function<bool(double fraction)> progress) {
  session_->set_progress(std::move(progress));
}

void Connection::Cancel() { session_->Cancel(); }

TransactionStatus Connection::transaction_status() const {
  return static_cast<TransactionStatus>(session_->transaction_status());
}

Prepared::Prepared(std::unique_ptr<PreparedState> state) : state_(std::move(state)) {}
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

absl::StatusOr<Result> Prepared::Run(std::span<const Value> parameters) {
  PlannedStatement& planned = *state_->planned;
  if (!parameters.empty() || !planned.statement().parameters.empty()) {
    std::vector<ExprRef> values;
    for (const Value& value : parameters) values.push_back(ParameterConstant(value));
    ADJOIN_RETURN_IF_ERROR(planned.SetParameters(values));
  }
  ++state_->runs;
  return state_->session->RunPrepared(planned);
}

absl::StatusOr<Result> Prepared::Run(std::initializer_list<Value> parameters) {
  return Run(std::span<const Value>(parameters.begin(), parameters.size()));
}

absl::Status Prepared::Bind(std::string_view name, const Table& table) {
  if (table.impl() == nullptr)
    return SqlError(sqlstate::kInvalidParameterValue, "a table without columns");
  return state_->planned->BindTable(name, table.impl());
}

void Prepared::Reset() { state_->planned->ResetTables(); }

int Prepared::num_parameters() const {
  return static_cast<int>(state_->planned->statement().parameters.size());
}

std::vector<Field> Prepared::result_fields() const {
  const PlannedStatement& planned = *state_->planned;
  std::vector<Field> fields;
  if (!planned.returns_rows()) return fields;
  const std::vector<std::string>& names = planned.statement().result_names;
  const std::vector<TypeId>& types = planned.statement().outputs[0].plan->types;
  for (size_t i = 0; i < names.size(); ++i)
    fields.push_back({names[i], FromEngine(types[i]), false});
  return fields;
}

std::string Prepared::Explain(bool analyze) const {
  PlannedStatement& planned = *state_->planned;
  return planned.has_program() ? ToText(planned.Report(nullptr, nullptr), analyze) : "";
}

Stats Prepared::stats() const {
  PlannedStatement& planned = *state_->planned;
  Stats stats;
  if (planned.has_program()) {
    const ProgramStats& program = planned.program().stats();
    stats.steps = program.steps;
    stats.operators = program.operators;
    stats.base_table_reads = program.base_table_reads;
    stats.contractions = program.contractions;
    stats.arena_bytes = program.arena_bytes;
    stats.bytes_between_steps = program.bytes_between_steps;
  }
  stats.plan_ms = planned.plan_ms();
  stats.plans = planned.plans();
  stats.runs = state_->runs;
  return stats;
}

}  // namespace api
}  // namespace adjoin
