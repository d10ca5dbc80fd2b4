// The plan builder: relational plans as C++ values, with derivatives, instead of SQL text.
//
//   Plan w = Plan::Scan("w"), x = Plan::Scan("x");
//   Plan loss = x.Join(w, JoinKind::kInner, Left("i") == Right("i"), {{"e", Left("v") * Right("v")
//   - Left("y")}})
//                   .Aggregate({{"l", Sum(Col("e") * Col("e"))}});
//   Plan dw = Plan::Grad(loss, w, {"v"});             // w's columns, and "d_v"
//
// Plans and expressions are immutable values: copying copies a pointer. They name tables and
// columns; names and types are checked when a connection prepares the plan, with SQL's errors. A
// plan read several times is planned once. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adjoin/table.h"

namespace adjoin::api {

class Plan;
namespace internal {
struct ExprNode;
struct PlanNode;
}  // namespace internal

// A scalar expression over the columns of a plan. Numbers convert to constants.
class Expr {
 public:
  Expr(double value);   // NOLINT: constants stand for themselves in formulas
  Expr(int value);      // NOLINT
  Expr(int64_t value);  // NOLINT
  Expr(bool) = delete;  // use Bool
  explicit Expr(std::shared_ptr<const internal::ExprNode> node) : node_(std::move(node)) {}
  const std::shared_ptr<const internal::ExprNode>& node() const { return node_; }

 private:
  std::shared_ptr<const internal::ExprNode> node_;
};

Expr Col(std::string_view name);   // a column of the plan at hand
Expr Left(std::string_view name);  // in a join: of its left, its right side
Expr Right(std::string_view name);
Expr Text(std::string_view value);
Expr Bool(bool value);
Expr Null();
Expr Param(int number);  // $1 is Param(1)

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator%(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator&&(const Expr& a, const Expr& b);  // three-valued; both sides may be evaluated
Expr operator||(const Expr& a, const Expr& b);
Expr operator!(const Expr& a);

Expr Call(std::string_view function,
          const std::vector<Expr>& args);  // any SQL function: exp, sqrt, coalesce, ...
Expr Exp(const Expr& x);
Expr Log(const Expr& x);  // natural: SQL's ln
Expr Sqrt(const Expr& x);
Expr Tanh(const Expr& x);
Expr Cast(const Expr& x, Type type);
Expr IsNull(const Expr& x);
Expr Case(const std::vector<std::pair<Expr, Expr>>& branches, const Expr& otherwise);
Expr StopGradient(const Expr& x);

// Aggregates: in Aggregate, GroupBy, or through Over.
Expr Sum(const Expr& x);
Expr Avg(const Expr& x);
Expr Min(const Expr& x);
Expr Max(const Expr& x);
Expr Count(const Expr& x);
Expr CountStar();

struct SortKey {
  Expr expr;
  bool descending = false;
};
struct Window {
  std::vector<Expr> partition;
  std::vector<SortKey> order;
  std::string frame;  // SQL's, e.g. "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"; empty: default
};
Expr Over(const Expr& aggregate,
          const Window& window);  // an aggregate or Call("row_number", {}), "lag", ...

// The derivative of `f` (one row, one column) by `column` of the plan or table at hand: for Project
// and Update.
Expr Gradient(const Plan& f, std::string_view column);

struct Named {
  std::string name;
  Expr expr;
};

enum class JoinKind : uint8_t { kInner, kLeft, kFull, kCross };

// A relation to be computed.
class Plan {
 public:
  static Plan Scan(std::string_view table);  // a base table or a view
  static Plan Series(int64_t start, int64_t stop,
                     std::string name = "i");  // start .. stop, both included

  Plan Filter(const Expr& predicate) const;
  Plan Project(const std::vector<Named>& columns) const;  // exactly these columns
  Plan With(const std::vector<Named>& columns) const;     // all columns, then these
  // Rows of both where `on` holds, over Left and Right. `columns`, over Left and Right too, is the
  // output; none: all of the left's columns, then all of the right's. kCross ignores `on`.
  Plan Join(const Plan& right, JoinKind kind, const Expr& on,
            const std::vector<Named>& columns = {}) const;
  Plan JoinUsing(const Plan& right, const std::vector<std::string>& keys,
                 JoinKind kind = JoinKind::kInner) const;
  Plan GroupBy(const std::vector<std::string>& keys, const std::vector<Named>& aggregates) const;
  Plan Aggregate(const std::vector<Named>& aggregates) const;  // one row
  Plan Distinct() const;
  Plan Sort(const std::vector<SortKey>& keys) const;
  Plan Limit(int64_t rows, int64_t offset = 0) const;
  Plan UnionAll(const Plan& other) const;

  // The derivative of `f` by float columns of `wrt`, a plan or table that f reads: wrt's columns,
  // then "d_<column>" each.
  static Plan Grad(const Plan& f, const Plan& wrt, const std::vector<std::string>& columns);
  // The same for an f of any shape, pulled back along `cotangent`, a relation shaped like f.
  static Plan Vjp(const Plan& f, const Plan& wrt, const std::vector<std::string>& columns,
                  const Plan& cotangent);

  // The plan as one SELECT of PostgreSQL's grammar (with grad and vjp as function calls).
  std::string ToSql() const;

  explicit Plan(std::shared_ptr<const internal::PlanNode> node) : node_(std::move(node)) {}
  const std::shared_ptr<const internal::PlanNode>& node() const { return node_; }

 private:
  std::shared_ptr<const internal::PlanNode> node_;
};

// UPDATE table SET column = expr, ...: expressions over the table's columns, with Gradient by them.
struct Update {
  std::string table;
  std::vector<Named> set;
};

// Updates of one statement as SQL. REQUIRES: not empty.
std::string ToSql(const std::vector<Update>& updates);

}  // namespace adjoin::api
