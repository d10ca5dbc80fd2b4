#include "ad/chain_rule.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

ExprRef Bool(std::string_view name, std::vector<ExprRef> args) {
  return CallNamed(name, std::move(args), TypeId::kBool);
}

ExprRef When(const ExprRef& condition, const ExprRef& dy) {
  return CaseExpr({condition, dy, NullExpr(dy->type)});
}

// One reverse pass over the expression's DAG: each subexpression once, after all that use it.
class Pass {
 public:
  Pass(const ColumnActivity& activity, ColumnCotangents* out) : activity_(activity), out_(out) {}

  absl::Status Run(const ExprRef& root, const ExprRef& dy) {
    Order(root);
    adjoint_[root.get()] = dy;
    for (size_t i = order_.size(); i-- > 0;) {
      const ExprRef& e = order_[i];
      const ExprRef d = adjoint_[e.get()];
      if (d != nullptr) ADJOIN_RETURN_IF_ERROR(Visit(e, d));
    }
    return absl::OkStatus();
  }

 private:
  bool IsActive(const ExprRef& e) {
    auto it = active_.find(e.get());
    if (it == active_.end()) it = active_.emplace(e.get(), ExprActivity(e, activity_)).first;
    return it->second.active;
  }

  void Order(const ExprRef& e) {
    if (!seen_.insert(e.get()).second) return;
    for (const ExprRef& arg : e->args) Order(arg);
    order_.push_back(e);
  }

  void Give(const ExprRef& arg, const ExprRef& d) {
    if (!IsActive(arg)) return;
    ExprRef& slot = adjoint_[arg.get()];
    slot = AddCotangents(slot, d);
  }

  absl::Status Visit(const ExprRef& e, const ExprRef& d) {
    if (!IsActive(e)) return absl::OkStatus();
    if (const std::string& blocker = active_[e.get()].blocker; !blocker.empty())
      return NoRule(blocker);
    if (e->kind == ExprKind::kColumn) {
      ExprRef& slot = (*out_)[e->index];
      slot = AddCotangents(slot, d);
      return absl::OkStatus();
    }
    switch (e->function->derivative_kind) {
      case DerivativeKind::kFormula:
        for (size_t i = 0; i < e->args.size(); ++i) {
          if (!IsActive(e->args[i])) continue;
          Give(e->args[i], Mul(d, e->function->derivative(e, e->args, static_cast<int>(i))));
        }
        return absl::OkStatus();
      case DerivativeKind::kZero:
        return absl::OkStatus();
      case DerivativeKind::kNone:
        return NoRule(absl::StrCat("the function ", ToAbsl(e->function->name)));
      case DerivativeKind::kSelecting:
        return VisitSelecting(e, d);
    }
    return absl::OkStatus();
  }

  absl::Status VisitSelecting(const ExprRef& e, const ExprRef& d) {
    switch (e->function->null_rule) {
      case NullRule::kCase:
        VisitCase(e, d);
        break;
      case NullRule::kCoalesce:
        VisitCoalesce(e, d);
        break;
      case NullRule::kNullIf:
        Give(e->args[0], When(Bool("is not null", {e}), d));
        break;
      case NullRule::kGreatest:
      case NullRule::kLeast:
        VisitExtreme(e, d);
        break;
      case NullRule::kCast:
      case NullRule::kNearest:
        if (!IsFloat(e->args[0]->type))
          return NoRule(absl::StrCat("a value of type ", ToAbsl(TypeName(e->args[0]->type))));
        Give(e->args[0], NearestTo(d, e->args[0]->type));
        break;
      case NullRule::kAccumulate:
        for (const ExprRef& arg : e->args) Give(arg, When(Bool("is not null", {arg}), d));
        break;
      default:
        break;
    }
    return absl::OkStatus();
  }

  // Branch k gets d where conditions 1..k-1 fail and k holds: the same CASE with d in its place.
  void VisitCase(const ExprRef& e, const ExprRef& d) {
    const ExprRef nothing = NullExpr(d->type);
    for (size_t branch = 1; branch < e->args.size() + 1; branch += 2) {
      const bool is_else = branch + 1 > e->args.size() - 1;
      const size_t value = is_else ? e->args.size() - 1 : branch;
      if (!IsActive(e->args[value])) continue;
      std::vector<ExprRef> args;
      for (size_t c = 0; c + 1 < e->args.size() && c < value; c += 2) {
        args.push_back(e->args[c]);
        args.push_back(c + 1 == value ? d : nothing);
      }
      args.push_back(is_else ? d : nothing);
      Give(e->args[value], args.size() == 1 ? d : CaseExpr(std::move(args)));
    }
  }

  void VisitCoalesce(const ExprRef& e, const ExprRef& d) {
    ExprRef earlier_null;
    for (const ExprRef& arg : e->args) {
      const ExprRef present = Bool("is not null", {arg});
      const ExprRef taken =
          earlier_null == nullptr ? present : Bool("and", {earlier_null, present});
      Give(arg, When(taken, d));
      const ExprRef absent = Bool("is null", {arg});
      earlier_null = earlier_null == nullptr ? absent : Bool("and", {earlier_null, absent});
    }
  }

  // Arguments that attain the result share d evenly (JAX's convention).
  void VisitExtreme(const ExprRef& e, const ExprRef& d) {
    ExprRef count;
    for (const ExprRef& arg : e->args) {
      const ExprRef one =
          CaseExpr({Bool("=", {arg, e}), FloatConst(1, d->type), FloatConst(0, d->type)});
      count = count == nullptr ? one : Add(count, one);
    }
    for (const ExprRef& arg : e->args) Give(arg, When(Bool("=", {arg, e}), Div(d, count)));
  }

  const ColumnActivity& activity_;
  ColumnCotangents* out_;
  std::vector<ExprRef> order_;
  absl::flat_hash_set<const Expr*> seen_;
  absl::flat_hash_map<const Expr*, ExprRef> adjoint_;
  absl::flat_hash_map<const Expr*, Activity> active_;
};

}  // namespace

absl::Status NoRule(const std::string& construct) {
  return SqlError(sqlstate::kNoDerivativeRule,
                  absl::StrCat("cannot differentiate through ", construct));
}

ExprRef AddCotangents(const ExprRef& a, const ExprRef& b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  return Accumulate(a, b);
}

absl::Status Backpropagate(const ExprRef& expr, const ExprRef& dy, const ColumnActivity& activity,
                           ColumnCotangents* cotangents) {
  return Pass(activity, cotangents).Run(expr, dy);
}

}  // namespace adjoin
