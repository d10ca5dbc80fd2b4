#include "sql/planned_statement.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ad/derivatives.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/cardinality.h"
#include "plan/rules.h"
#include "plan/scalar_functions.h"
#include "sql/binder.h"

namespace adjoin {
namespace {

bool WritesTable(const Statement& statement, uint64_t id) {
  return std::any_of(
      statement.outputs.begin(), statement.outputs.end(), [&](const Statement::Output& output) {
        return std::visit(
            [&](const auto& sink) {
              if constexpr (std::is_same_v<std::decay_t<decltype(sink)>, ResultSink>) {
                return false;
              } else {
                return sink.table_id == id;
              }
            },
            output.sink);
      });
}

// "Update t"; empty where rows are returned.
std::string DescribeSink(const Sink& sink) {
  if (const auto* update = std::get_if<UpdateSink>(&sink))
    return absl::StrCat("Update ", update->table);
  if (const auto* insert = std::get_if<InsertSink>(&sink))
    return absl::StrCat("Insert into ", insert->table);
  if (const auto* erase = std::get_if<DeleteSink>(&sink))
    return absl::StrCat("Delete from ", erase->table);
  return "";
}

// Whether `table` may be read where `scan` reads its base table.
absl::Status CheckStandIn(const Table& table, const Scan& scan) {
  const std::vector<Field>& fields = table.schema().fields;
  bool same = fields.size() == scan.schema.fields.size() && table.schema().dims == scan.schema.dims;
  for (size_t i = 0; same && i < fields.size(); ++i) {
    const Field& field = scan.schema.fields[i];
    same = fields[i].name == field.name && fields[i].type == field.type &&
           (field.modifier.precision == 0 || fields[i].modifier == field.modifier);
    if (same && field.not_null && table.column(static_cast<int>(i))->has_nulls()) {
      return SqlError(sqlstate::kNotNullViolation,
                      absl::StrCat("null value in column \"", field.name, "\" of relation \"",
                                   scan.table, "\" violates not-null constraint"));
    }
  }
  if (same) return absl::OkStatus();
  return SqlError(sqlstate::kDatatypeMismatch, absl::StrCat("the table bound to \"", scan.table,
                                                            "\" has other columns or another key"));
}

}  // namespace

const CatalogEntry* RecordingCatalog::Find(std::string_view name) const {
  const CatalogEntry* entry = state_.Find(name);
  const auto known = std::find_if(lookups_.begin(), lookups_.end(),
                                  [&](const Lookup& lookup) { return lookup.name == name; });
  if (known == lookups_.end()) {
    Lookup lookup{std::string(name), 0, nullptr};
    if (entry != nullptr) {
      lookup.id = entry->id;
      lookup.view = entry->view;
    }
    lookups_.push_back(std::move(lookup));
  }
  return entry;
}

std::optional<CatalogTable> RecordingCatalog::FindTable(std::string_view name) const {
  const CatalogEntry* entry = Find(name);
  if (entry == nullptr || entry->is_view()) return std::nullopt;
  return CatalogTable{entry->id, entry->table->schema()};
}

std::optional<StoredView> RecordingCatalog::FindView(std::string_view name) const {
  const CatalogEntry* entry = Find(name);
  if (entry == nullptr || !entry->is_view()) return std::nullopt;
  return StoredView{entry->view->query, entry->view->columns};
}

PlannedStatement::PlannedStatement(nlohmann::json tree, std::string text,
                                   std::vector<std::optional<TypeId>> parameter_types)
    : tree_(std::move(tree)),
      text_(std::move(text)),
      parameter_types_(std::move(parameter_types)) {}

TableRef PlannedStatement::TableFor(const CatalogState& catalog, const Scan& scan) const {
  const auto stand_in = bound_by_name_.find(scan.table);
  return stand_in != bound_by_name_.end() ? stand_in->second : catalog.table(scan.table_id);
}

std::optional<GridShape> PlannedStatement::ShapeOf(const CatalogState& catalog, const Scan& scan) {
  const TableRef table = TableFor(catalog, scan);
  std::optional<GridShape> shape = table == nullptr ? std::nullopt : table->grid();
  shapes_[scan.table_id] = shape;
  return shape;
}

bool PlannedStatement::OrdersHold() const {
  const auto table = [&](uint64_t id) -> const Table* {
    const auto it = state_.tables.find(id);
    return it == state_.tables.end() ? nullptr : it->second.get();
  };
  // An order of joins is good for other numbers of rows, too, if they are not far off.
  const auto far = [](int64_t a, int64_t b) { return a > 8 * b + 1000; };
  return std::all_of(shapes_.begin(), shapes_.end(),
                     [&](const auto& noted) {
                       const Table* now = table(noted.first);
                       return now == nullptr || now->grid() == noted.second;
                     }) &&
         std::all_of(rows_.begin(), rows_.end(), [&](const auto& noted) {
           const Table* now = table(noted.first);
           return now == nullptr ||
                  !(far(now->num_rows(), noted.second) || far(noted.second, now->num_rows()));
         });
}

bool PlannedStatement::IsCurrent(const CatalogState& catalog, const Settings& settings) const {
  if (!bound_ || weak_real_ != settings.weak_real || contraction_ != settings.plan.contraction ||
      join_order_ != settings.plan.join_order) {
    return false;
  }
  return std::all_of(lookups_.begin(), lookups_.end(), [&](const RecordingCatalog::Lookup& lookup) {
    const CatalogEntry* entry = catalog.Find(lookup.name);
    return entry == nullptr ? lookup.id == 0 : lookup.id == entry->id && lookup.view == entry->view;
  });
}

absl::Status PlannedStatement::Bind(const CatalogState& catalog, const Settings& settings) {
  bound_ = false;
  program_.reset();
  weak_real_ = settings.weak_real;
  contraction_ = settings.plan.contraction;
  join_order_ = settings.plan.join_order;
  relations_.clear();
  RecordingCatalog recording(catalog);
  BindOptions options;
  options.weak_real = settings.weak_real;
  options.text = text_;
  options.parameter_types = parameter_types_;
  options.relations = &relations_;
  auto planner = std::make_unique<Planner>();
  ADJOIN_ASSIGN_OR_RETURN(Statement statement, adjoin::Bind(tree_, recording, options, *planner));
  stages_.clear();
  AddStage("Bound:", statement);
  shapes_.clear();
  rows_.clear();
  const adjoin::ShapeOf shape_of = [&](const Scan& scan) { return ShapeOf(catalog, scan); };
  ApplyRules(&statement, *planner, settings.plan, shape_of);
  AddStage("Products recognised:", statement);
  OrderJoins(&statement, *planner, settings.plan, shape_of, [&](const Scan& scan) {
    TableRef table = TableFor(catalog, scan);
    if (table != nullptr) rows_[scan.table_id] = table->num_rows();
    return table;
  });
  AddStage("Joins ordered:", statement);
  ADJOIN_RETURN_IF_ERROR(ResolveDerivatives(&statement, *planner));
  AddStage("Derivatives taken:", statement);
  statement_ = std::move(statement);
  planner_ = std::move(planner);
  lookups_ = recording.TakeLookups();
  bound_ = true;
  return CollectTables();
}

void PlannedStatement::AddStage(std::string_view heading, const Statement& statement) {
  std::vector<NodeRef> plans;
  for (const Statement::Output& output : statement.outputs) plans.push_back(output.plan);
  if (stages_.empty() || stages_.back().plans != plans)
    stages_.push_back({heading, std::move(plans)});
}

PlanReport PlannedStatement::Report(const CatalogState* catalog, const RunProfile* profile) const {
  PlanReport report{stages_, {}, program_.get(), program_->rules(), {}, profile, plan_ms_};
  if (report.stages.back().plans != program_->plans())
    report.stages.push_back({"Sparse products and join filters:", program_->plans()});
  for (const Statement::Output& output : statement_.outputs)
    report.sinks.push_back(DescribeSink(output.sink));
  if (catalog == nullptr) return report;
  Cardinality cardinality([&](const Scan& scan) { return TableFor(*catalog, scan); });
  for (const NodeRef& node : TopologicalOrder(program_->plans()))
    report.estimated_rows[node->id] = cardinality.Rows(node);
  return report;
}

absl::Status PlannedStatement::CollectTables() {
  scanned_.clear();
  state_.tables.clear();
  std::vector<NodeRef> roots;
  for (const Statement::Output& output : statement_.outputs) {
    roots.push_back(output.plan);
    std::visit(
        [&](const auto& sink) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(sink)>, ResultSink>)
            state_.tables[sink.table_id];
        },
        output.sink);
  }
  for (const NodeRef& node : TopologicalOrder(roots)) {
    const auto* scan = std::get_if<Scan>(&node->op);
    if (scan == nullptr) continue;
    scanned_[scan->table] = scan;
    state_.tables[scan->table_id];
  }
  return ApplyBoundTables();
}

absl::Status PlannedStatement::ApplyBoundTables() {
  bound_tables_.clear();
  for (const auto& [name, table] : bound_by_name_) {
    const auto it = scanned_.find(name);
    if (it == scanned_.end()) {
      return SqlError(sqlstate::kUndefinedTable,
                      absl::StrCat("the statement reads no base table \"", name, "\""));
    }
    ADJOIN_RETURN_IF_ERROR(CheckStandIn(*table, *it->second));
    if (WritesTable(statement_, it->second->table_id)) {
      return SqlError(sqlstate::kFeatureNotSupported,
                      absl::StrCat("binding table \"", name,
                                   "\", which the statement writes, is not supported"));
    }
    bound_tables_[it->second->table_id] = table;
  }
  return absl::OkStatus();
}

bool PlannedStatement::Refresh(const CatalogState& catalog) {
  for (auto& [id, table] : state_.tables) {
    const auto bound = bound_tables_.find(id);
    table = bound != bound_tables_.end() ? bound->second : catalog.table(id);
    if (table == nullptr) return false;
  }
  return true;
}

absl::Status PlannedStatement::Prepare(const CatalogState& catalog, const Settings& settings,
                                       const std::shared_ptr<MemoryBudget>& budget,
                                       ColumnCache* cache) {
  const auto start = std::chrono::steady_clock::now();
  bool planned = false;
  if (!IsCurrent(catalog, settings) || !Refresh(catalog) || !OrdersHold()) {
    ADJOIN_RETURN_IF_ERROR(Bind(catalog, settings));
    if (!Refresh(catalog))
      return SqlError(sqlstate::kInternalError, "a table has left the catalog");
  }
  PlanOptions options = settings.plan;
  if (budget->limit() <= too_little_for_sparse_) options.sparse = RuleUse::kOff;
  if (program_ == nullptr || !(options_ == options) ||
      !program_->Fits(state_.tables, budget, cache)) {
    program_.reset();
    options_ = options;
    ADJOIN_ASSIGN_OR_RETURN(program_,
                            Program::Compile(statement_, state_.tables, options_, budget, cache));
    planned = true;
  }
  if (planned) {
    ++plans_;
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    plan_ms_ = elapsed.count();
  }
  return absl::OkStatus();
}

bool PlannedStatement::DropSparseProducts(int64_t memory_limit) {
  const std::vector<NodeRef> nodes = TopologicalOrder(program_->plans());
  if (std::none_of(nodes.begin(), nodes.end(), [](const NodeRef& node) {
        return std::holds_alternative<SparseProduct>(node->op) ||
               std::holds_alternative<SampledProduct>(node->op);
      })) {
    return false;
  }
  too_little_for_sparse_ = std::max(too_little_for_sparse_, memory_limit);
  return true;
}

bool PlannedStatement::returns_rows() const {
  return !statement_.outputs.empty() &&
         std::holds_alternative<ResultSink>(statement_.outputs[0].sink);
}

bool PlannedStatement::writes() const {
  return std::any_of(statement_.outputs.begin(), statement_.outputs.end(),
                     [](const Statement::Output& output) {
                       return !std::holds_alternative<ResultSink>(output.sink);
                     });
}

std::string_view PlannedStatement::verb() const {
  static constexpr std::string_view kVerbs[] = {"SELECT", "INSERT", "UPDATE", "DELETE"};
  return kVerbs[statement_.outputs[0].sink.index()];
}

absl::Status PlannedStatement::BindTable(std::string_view name, TableRef table) {
  const std::string key(name);
  TableRef& slot = bound_by_name_[key];
  std::swap(slot, table);
  absl::Status status = ApplyBoundTables();
  if (status.ok()) return status;
  // As before the call: what was bound then fits.
  if (table == nullptr) {
    bound_by_name_.erase(key);
  } else {
    slot = std::move(table);
  }
  ADJOIN_RETURN_IF_ERROR(ApplyBoundTables());
  return status;
}

void PlannedStatement::ResetTables() {
  bound_by_name_.clear();
  bound_tables_.clear();
}

void PlannedStatement::ReleaseTables() {
  for (auto& [id, table] : state_.tables) table.reset();
}

void PlannedStatement::ReleaseMemory() {
  if (program_ != nullptr) program_->ReleaseMemory(state_);
}

void PlannedStatement::SetClock(const ClockTimes& times) {
  if (!statement_.first_clock.has_value()) return;
  state_.parameters.resize(static_cast<size_t>(*statement_.first_clock));
  for (Timestamp time : times) state_.parameters.push_back(Value::Int(time.microseconds));
}

absl::Status PlannedStatement::SetParameters(const std::vector<ExprRef>& values) {
  const std::vector<TypeId>& types = statement_.parameters;
  if (values.size() != types.size()) {
    return SqlError("08P01", absl::StrCat("wrong number of parameters: expected ", types.size(),
                                          " but got ", values.size()));
  }
  state_.parameters.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    ADJOIN_ASSIGN_OR_RETURN(const ExprRef cast, ResolveCast(values[i], types[i]));
    if (cast->kind != ExprKind::kConstant) {
      return SqlError(sqlstate::kInternalError,
                      absl::StrCat("parameter $", i + 1, " is no constant"));
    }
    state_.parameters[i] = cast->constant;
  }
  return absl::OkStatus();
}

}  // namespace adjoin
