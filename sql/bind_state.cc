#include "sql/bind_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/row_functions.h"
#include "sql/parse.h"

namespace adjoin {
namespace {

// Operators nested in one another. Each takes about 2 KiB of stack to bind.
constexpr int kMaxNesting = 1400;

absl::StatusOr<ExprRef> MapLeavesMemo(const ExprRef& expr, const LeafMap& f,
                                      absl::flat_hash_map<const Expr*, ExprRef>& memo) {
  if (expr->kind == ExprKind::kColumn || expr->kind == ExprKind::kParameter) return f(expr);
  if (expr->args.empty()) return expr;
  if (auto it = memo.find(expr.get()); it != memo.end()) return it->second;
  std::vector<ExprRef> args;
  args.reserve(expr->args.size());
  bool changed = false;
  for (const ExprRef& arg : expr->args) {
    ADJOIN_ASSIGN_OR_RETURN(ExprRef mapped, MapLeavesMemo(arg, f, memo));
    changed |= mapped != arg;
    args.push_back(std::move(mapped));
  }
  ExprRef out = changed ? CallExpr(expr->function, std::move(args), expr->type) : expr;
  memo.emplace(expr.get(), out);
  return out;
}

}  // namespace

BindState::BindState(const CatalogView& catalog_view, const BindOptions& bind_options,
                     Planner& statement_planner, const Json* statement)
    : catalog(catalog_view),
      options(bind_options),
      planner(statement_planner),
      statement_(statement) {
  for (const auto& type : options.parameter_types) parameters_.push_back({type, -1, true});
}

std::optional<int> BindState::Position(int location) const {
  if (location < 0 || in_view()) return std::nullopt;
  return CharacterPosition(options.text, location);
}

absl::Status BindState::Error(std::string_view sqlstate, std::string_view message,
                              int location) const {
  return SqlError(sqlstate, message, Position(location));
}

absl::Status BindState::ErrorWithDetail(std::string_view sqlstate, std::string_view message,
                                        std::string_view detail, std::string_view hint,
                                        int location) const {
  return SqlErrorWithDetail(sqlstate, message, detail, hint, Position(location));
}

absl::Status BindState::NotSupported(std::string_view construct, int location) const {
  return Error(sqlstate::kFeatureNotSupported, std::string(construct) + " is not supported",
               location);
}

absl::Status BindState::At(absl::Status status, int location) const {
  const std::optional<int> position = Position(location);
  return position.has_value() ? WithPosition(std::move(status), *position) : status;
}

ExprRef BindState::OuterReference(const Level& level, const ExprRef& expr) {
  for (const auto& [placeholder, outer] : outers_) {
    if (outer.level == level.id && SameExpr(outer.expr, expr))
      return ParameterExpr(placeholder, expr->type);
  }
  const int placeholder = NewPlaceholder();
  outers_.emplace(placeholder, Outer{level.id, expr});
  return ParameterExpr(placeholder, expr->type);
}

const BindState::Outer* BindState::FindOuter(int placeholder) const {
  const auto it = outers_.find(placeholder);
  return it == outers_.end() ? nullptr : &it->second;
}

std::optional<TypeId> BindState::parameter_type(int index) const {
  const size_t i = static_cast<size_t>(index);
  return i < parameters_.size() ? parameters_[i].type : std::nullopt;
}

void BindState::UseParameter(int index, int location) {
  const size_t i = static_cast<size_t>(index);
  if (i >= parameters_.size()) parameters_.resize(i + 1);
  parameters_[i].used = true;
  if (parameters_[i].location < 0) parameters_[i].location = location;
}

void BindState::SetParameterType(int index, TypeId type) {
  parameters_[static_cast<size_t>(index)].type = type;
}

absl::StatusOr<std::vector<TypeId>> BindState::ParameterTypes() const {
  std::vector<TypeId> out;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].type.has_value()) {
      return Error(sqlstate::kIndeterminateDatatype,
                   absl::StrCat("could not determine data type of parameter $", i + 1),
                   parameters_[i].location);
    }
    out.push_back(*parameters_[i].type);
  }
  return out;
}

absl::StatusOr<ExprRef> BindState::Clock(ClockTime time) {
  const auto number = static_cast<int>(time);
  if (options.times.has_value()) {
    const Timestamp now = (*options.times)[static_cast<size_t>(number)];
    return ConstantExpr(Value::Int(now.microseconds), TypeId::kTimestamp);
  }
  if (statement_ == nullptr) return NotSupported("a function of the clock here");
  if (!first_clock_.has_value())
    first_clock_ = std::max(HighestParameter(*statement_), static_cast<int>(parameters_.size()));
  return ParameterExpr(*first_clock_ + number, TypeId::kTimestamp);
}

ExprRef BindState::ExactOf(const ExprRef& expr) const {
  const auto it = exact_.find(expr);
  return it == exact_.end() ? nullptr : it->second;
}

void BindState::NoteExact(const ExprRef& expr, ExprRef exact) {
  exact_.insert_or_assign(expr, std::move(exact));
}

bool BindState::Reads(const NodeRef& f, const NodeRef& relation) {
  const auto [it, is_new] = reads_.try_emplace(f);
  if (is_new) {
    for (const NodeRef& node : TopologicalOrder({f})) it->second.insert(node.get());
  }
  return it->second.contains(relation.get());
}

int BindState::StartOfBound(const Json& node) {
  const auto start_of = [this](const Json& operand) {
    const auto it = starts_.find(&operand);
    return it == starts_.end() ? StartOf(operand) : it->second;
  };
  const int start = LeftmostStart(node, start_of);
  starts_.emplace(&node, start);
  return start;
}

void BindState::NoteRelation(std::string_view name) const {
  if (options.relations == nullptr || in_view()) return;
  std::vector<std::string>& names = *options.relations;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

absl::Status BindState::Nesting::Check() const {
  if (state_.nesting_ <= kMaxNesting) return absl::OkStatus();
  return SqlError(sqlstate::kStatementTooComplex, "stack depth limit exceeded");
}

absl::StatusOr<ExprRef> Coerce(BindState& state, const Typed& value, TypeId target) {
  if (value.unknown && value.expr->kind == ExprKind::kParameter) {
    const std::optional<TypeId> known = state.parameter_type(value.expr->index);
    if (!known.has_value()) state.SetParameterType(value.expr->index, target);
    return state.At(ResolveCast(ParameterExpr(value.expr->index, known.value_or(target)), target),
                    value.location);
  }
  return CastAt(state, value, target, value.location);
}

absl::StatusOr<ExprRef> CastAt(BindState& state, const Typed& value, TypeId target, int location) {
  const ExprRef exact = target == TypeId::kDecimal ? state.ExactOf(value.expr) : nullptr;
  absl::StatusOr<ExprRef> cast = ResolveCast(exact != nullptr ? exact : value.expr, target);
  // PostgreSQL finds a typed constant out of range only when it runs the cast, and then has no
  // position.
  const bool at_run_time =
      !cast.ok() && !value.unknown && SqlStateOf(cast.status()) == sqlstate::kNumericOutOfRange;
  return at_run_time ? std::move(cast) : state.At(std::move(cast), location);
}

ExprRef WithModifier(ExprRef value, NumericModifier modifier) {
  if (modifier.precision == 0) return value;
  const auto integer = [](int v) { return ConstantExpr(Value::Int(v), TypeId::kInt32); };
  const std::optional<TypeId> types[] = {TypeId::kDecimal, TypeId::kInt32, TypeId::kInt32};
  return CallRowFunction(FindRowFunction("numeric", types),
                         {std::move(value), integer(modifier.precision), integer(modifier.scale)});
}

absl::StatusOr<ExprRef> Settle(BindState& state, const Typed& value) {
  if (!value.unknown) return value.expr;
  return Coerce(state, value, TypeId::kText);
}

absl::StatusOr<ExprRef> Condition(BindState& state, const Typed& value,
                                  std::string_view construct) {
  if (value.unknown) return Coerce(state, value, TypeId::kBool);
  if (value.expr->type == TypeId::kBool) return value.expr;
  return state.Error(
      sqlstate::kDatatypeMismatch,
      absl::StrCat("argument of ", ToAbsl(construct), " must be type boolean, not type ",
                   ToAbsl(TypeName(value.expr->type))),
      value.location);
}

absl::StatusOr<ExprRef> MapLeaves(const ExprRef& expr, const LeafMap& f) {
  absl::flat_hash_map<const Expr*, ExprRef> memo;
  return MapLeavesMemo(expr, f, memo);
}

bool HasPlaceholder(const ExprRef& expr) {
  bool found = false;
  const auto look = [&](const ExprRef& leaf) -> absl::StatusOr<ExprRef> {
    found |= IsPlaceholder(*leaf);
    return leaf;
  };
  static_cast<void>(MapLeaves(expr, look));
  return found;
}

}  // namespace adjoin
