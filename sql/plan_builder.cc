// The plan builder writes SQL: each plan is one WITH part, so that names, types and errors are the
// binder's, and a plan read several times is one node of the bound DAG.
#include <charconv>
#include <cmath>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "adjoin/plan.h"

namespace adjoin::api {

namespace internal {

using PlanPtr = std::shared_ptr<const PlanNode>;

// SQL text with holes for the names of plans.
struct Fragment {
  std::vector<std::variant<std::string, PlanPtr>> pieces;
  Fragment& operator<<(std::string_view text) {
    if (!pieces.empty() && std::holds_alternative<std::string>(pieces.back())) {
      std::get<std::string>(pieces.back()) += text;
    } else {
      pieces.emplace_back(std::string(text));
    }
    return *this;
  }
  Fragment& operator<<(const PlanPtr& plan) {
    pieces.emplace_back(plan);
    return *this;
  }
  Fragment& operator<<(const Fragment& other) {
    for (const auto& piece : other.pieces) {
      if (const auto* text = std::get_if<std::string>(&piece)) {
        *this << std::string_view(*text);
      } else {
        pieces.push_back(piece);
      }
    }
    return *this;
  }
};

struct ExprNode {
  Fragment sql;
};
struct PlanNode {
  std::string table;  // Scan: read by name; else empty
  Fragment sql;
};

}  // namespace internal

namespace {

using internal::Fragment;
using internal::PlanNode;
using internal::PlanPtr;

std::string Quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (char c : text) out.append(c == quote ? 2 : 1, c);
  return out += quote;
}
std::string QuoteName(std::string_view name) { return Quoted(name, '"'); }
std::string QuoteText(std::string_view text) { return Quoted(text, '\''); }

Expr MakeExpr(Fragment sql) {
  return Expr(std::make_shared<internal::ExprNode>(internal::ExprNode{std::move(sql)}));
}
Expr MakeExpr(std::string_view sql) {
  Fragment fragment;
  fragment << sql;
  return MakeExpr(std::move(fragment));
}
Plan MakePlan(Fragment sql) {
  return Plan(std::make_shared<PlanNode>(PlanNode{"", std::move(sql)}));
}

Expr Binary(const Expr& a, std::string_view op, const Expr& b) {
  Fragment sql;
  sql << "(" << a.node()->sql << op << b.node()->sql << ")";
  return MakeExpr(std::move(sql));
}

std::string DoubleText(double value) {
  if (!std::isfinite(value) || (value == 0 && std::signbit(value))) {
    const char* name = std::isnan(value) ? "NaN"
                       : value == 0      ? "-0"
                       : value > 0       ? "Infinity"
                                         : "-Infinity";
    return absl::StrCat("CAST('", name, "' AS double precision)");
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof(digits), std::abs(value)).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return value < 0 ? absl::StrCat("(-", text, ")") : text;
}

std::string IntegerText(int64_t value) {
  if (value == INT64_MIN) return "CAST('-9223372036854775808' AS bigint)";
  return value < 0 ? absl::StrCat("(", value, ")") : absl::StrCat(value);
}

void AppendList(Fragment& sql, const std::vector<Expr>& exprs) {
  for (size_t i = 0; i < exprs.size(); ++i) sql << (i > 0 ? ", " : "") << exprs[i].node()->sql;
}
void AppendColumns(Fragment& sql, const std::vector<Named>& columns, bool first = true) {
  for (const Named& column : columns) {
    sql << (first ? "" : ", ") << column.expr.node()->sql << " AS " << QuoteName(column.name);
    first = false;
  }
}
void AppendOrder(Fragment& sql, const std::vector<SortKey>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    sql << (i > 0 ? ", " : "") << keys[i].expr.node()->sql << (keys[i].descending ? " DESC" : "");
  }
}
std::string QuoteNames(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ",
                       [](std::string* out, const std::string& name) { *out += QuoteName(name); });
}

// Gives each plan below the roots a name and a WITH part, inputs first, equal texts once.
// Iterative: chains are long.
class SqlWriter {
 public:
  void Visit(const Fragment& root) {
    struct Item {
      PlanPtr plan;
      bool inputs_done;
    };
    std::vector<Item> stack;
    const auto push_inputs = [&](const Fragment& sql) {
      for (size_t i = sql.pieces.size(); i-- > 0;) {
        const auto* plan = std::get_if<PlanPtr>(&sql.pieces[i]);
        if (plan != nullptr && !names_.contains(plan->get())) stack.push_back({*plan, false});
      }
    };
    push_inputs(root);
    while (!stack.empty()) {
      const Item item = stack.back();
      stack.pop_back();
      if (names_.contains(item.plan.get())) continue;
      if (!item.plan->table.empty()) {
        names_[item.plan.get()] = QuoteName(item.plan->table);
      } else if (item.inputs_done) {
        Name(*item.plan);
      } else {
        stack.push_back({item.plan, true});
        push_inputs(item.plan->sql);
      }
    }
  }
  std::string Text(const Fragment& sql) const {
    std::string out;
    for (const auto& piece : sql.pieces) {
      if (const auto* text = std::get_if<std::string>(&piece)) {
        out += *text;
      } else {
        out += names_.at(std::get<PlanPtr>(piece).get());
      }
    }
    return out;
  }
  std::vector<std::string>& parts() { return parts_; }

 private:
  void Name(const PlanNode& plan) {
    std::string text = Text(plan.sql);
    const auto [it, added] =
        name_of_text_.try_emplace(text, absl::StrCat("adjoin_", parts_.size() + 1));
    if (added) parts_.push_back(absl::StrCat(it->second, " AS (", text, ")"));
    names_[&plan] = it->second;
  }
  absl::flat_hash_map<const PlanNode*, std::string> names_;
  absl::flat_hash_map<std::string, std::string> name_of_text_;
  std::vector<std::string> parts_;
};

std::string WithParts(const std::vector<std::string>& parts) {
  return parts.empty() ? "" : absl::StrCat("WITH ", absl::StrJoin(parts, ",\n     "), "\n");
}

Fragment UpdateSql(const Update& update) {
  Fragment sql;
  sql << "UPDATE " << QuoteName(update.table) << " SET ";
  for (size_t i = 0; i < update.set.size(); ++i) {
    sql << (i > 0 ? ", " : "") << QuoteName(update.set[i].name) << " = "
        << update.set[i].expr.node()->sql;
  }
  return sql;
}

Plan Derivative(std::string_view function, const Plan& f, const Plan& wrt,
                const std::vector<std::string>& columns, const Plan* cotangent) {
  Fragment sql;
  sql << "SELECT *";
  for (const std::string& column : columns) {
    sql << ", " << function << "(" << f.node() << ", " << QuoteName(column);
    if (cotangent != nullptr) sql << ", " << cotangent->node();
    sql << ") AS " << QuoteName(absl::StrCat("d_", column));
  }
  sql << " FROM " << wrt.node();
  return MakePlan(std::move(sql));
}

}  // namespace

Expr::Expr(double value) : Expr(MakeExpr(DoubleText(value))) {}
Expr::Expr(int value) : Expr(MakeExpr(IntegerText(value))) {}
Expr::Expr(int64_t value) : Expr(MakeExpr(IntegerText(value))) {}

Expr Col(std::string_view name) { return MakeExpr(QuoteName(name)); }
Expr Left(std::string_view name) { return MakeExpr(absl::StrCat("l.", QuoteName(name))); }
Expr Right(std::string_view name) { return MakeExpr(absl::StrCat("r.", QuoteName(name))); }
Expr Text(std::string_view value) { return MakeExpr(QuoteText(value)); }
Expr Bool(bool value) { return MakeExpr(value ? "TRUE" : "FALSE"); }
Expr Null() { return MakeExpr("NULL"); }
Expr Param(int number) { return MakeExpr(absl::StrCat("$", number)); }

Expr operator+(const Expr& a, const Expr& b) { return Binary(a, " + ", b); }
Expr operator-(const Expr& a, const Expr& b) { return Binary(a, " - ", b); }
Expr operator*(const Expr& a, const Expr& b) { return Binary(a, " * ", b); }
Expr operator/(const Expr& a, const Expr& b) { return Binary(a, " / ", b); }
Expr operator%(const Expr& a, const Expr& b) { return Binary(a, " % ", b); }
Expr operator==(const Expr& a, const Expr& b) { return Binary(a, " = ", b); }
Expr operator!=(const Expr& a, const Expr& b) { return Binary(a, " <> ", b); }
Expr operator<(const Expr& a, const Expr& b) { return Binary(a, " < ", b); }
Expr operator<=(const Expr& a, const Expr& b) { return Binary(a, " <= ", b); }
Expr operator>(const Expr& a, const Expr& b) { return Binary(a, " > ", b); }
Expr operator>=(const Expr& a, const Expr& b) { return Binary(a, " >= ", b); }
Expr operator&&(const Expr& a, const Expr& b) { return Binary(a, " AND ", b); }
Expr operator||(const Expr& a, const Expr& b) { return Binary(a, " OR ", b); }
Expr operator-(const Expr& a) {
  Fragment sql;
  sql << "(- " << a.node()->sql << ")";
  return MakeExpr(std::move(sql));
}
Expr operator!(const Expr& a) {
  Fragment sql;
  sql << "(NOT " << a.node()->sql << ")";
  return MakeExpr(std::move(sql));
}

Expr Call(std::string_view function, const std::vector<Expr>& args) {
  Fragment sql;
  sql << function << "(";
  AppendList(sql, args);
  sql << ")";
  return MakeExpr(std::move(sql));
}
Expr Exp(const Expr& x) { return Call("exp", {x}); }
Expr Log(const Expr& x) { return Call("ln", {x}); }
Expr Sqrt(const Expr& x) { return Call("sqrt", {x}); }
Expr Tanh(const Expr& x) { return Call("tanh", {x}); }
Expr StopGradient(const Expr& x) { return Call("stop_gradient", {x}); }
Expr Sum(const Expr& x) { return Call("sum", {x}); }
Expr Avg(const Expr& x) { return Call("avg", {x}); }
Expr Min(const Expr& x) { return Call("min", {x}); }
Expr Max(const Expr& x) { return Call("max", {x}); }
Expr Count(const Expr& x) { return Call("count", {x}); }
Expr CountStar() { return MakeExpr("count(*)"); }

Expr Cast(const Expr& x, Type type) {
  Fragment sql;
  sql << "CAST(" << x.node()->sql << " AS " << TypeName(type) << ")";
  return MakeExpr(std::move(sql));
}
Expr IsNull(const Expr& x) {
  Fragment sql;
  sql << "(" << x.node()->sql << " IS NULL)";
  return MakeExpr(std::move(sql));
}
Expr Case(const std::vector<std::pair<Expr, Expr>>& branches, const Expr& otherwise) {
  if (branches.empty()) return otherwise;
  Fragment sql;
  sql << "CASE";
  for (const auto& [condition, value] : branches) {
    sql << " WHEN " << condition.node()->sql << " THEN " << value.node()->sql;
  }
  sql << " ELSE " << otherwise.node()->sql << " END";
  return MakeExpr(std::move(sql));
}
Expr Over(const Expr& aggregate, const Window& window) {
  Fragment sql;
  sql << aggregate.node()->sql << " OVER (";
  if (!window.partition.empty()) sql << "PARTITION BY ";
  AppendList(sql, window.partition);
  if (!window.order.empty()) sql << " ORDER BY ";
  AppendOrder(sql, window.order);
  sql << " " << window.frame << ")";
  return MakeExpr(std::move(sql));
}
Expr Gradient(const Plan& f, std::string_view column) {
  Fragment sql;
  sql << "grad(" << f.node() << ", " << QuoteName(column) << ")";
  return MakeExpr(std::move(sql));
}

Plan Plan::Scan(std::string_view table) {
  return Plan(std::make_shared<PlanNode>(PlanNode{std::string(table), {}}));
}
Plan Plan::Series(int64_t start, int64_t stop, std::string name) {
  Fragment sql;
  sql << absl::StrCat("SELECT * FROM generate_series(CAST(", IntegerText(start),
                      " AS bigint), CAST(", IntegerText(stop), " AS bigint)) AS s(",
                      QuoteName(name), ")");
  return MakePlan(std::move(sql));
}
Plan Plan::Filter(const Expr& predicate) const {
  Fragment sql;
  sql << "SELECT * FROM " << node_ << " WHERE " << predicate.node()->sql;
  return MakePlan(std::move(sql));
}
Plan Plan::Project(const std::vector<Named>& columns) const {
  Fragment sql;
  sql << "SELECT ";
  AppendColumns(sql, columns);
  sql << " FROM " << node_;
  return MakePlan(std::move(sql));
}
Plan Plan::With(const std::vector<Named>& columns) const {
  Fragment sql;
  sql << "SELECT *";
  AppendColumns(sql, columns, false);
  sql << " FROM " << node_;
  return MakePlan(std::move(sql));
}
Plan Plan::Join(const Plan& right, JoinKind kind, const Expr& on,
                const std::vector<Named>& columns) const {
  static constexpr const char* kWords[] = {" JOIN ", " LEFT JOIN ", " FULL JOIN ", " CROSS JOIN "};
  Fragment sql;
  sql << "SELECT ";
  if (columns.empty()) sql << "*";
  AppendColumns(sql, columns);
  sql << " FROM " << node_ << " AS l" << kWords[static_cast<int>(kind)] << right.node() << " AS r";
  if (kind != JoinKind::kCross) sql << " ON " << on.node()->sql;
  return MakePlan(std::move(sql));
}
Plan Plan::JoinUsing(const Plan& right, const std::vector<std::string>& keys, JoinKind kind) const {
  static constexpr const char* kWords[] = {" JOIN ", " LEFT JOIN ", " FULL JOIN ", " JOIN "};
  Fragment sql;
  sql << "SELECT * FROM " << node_ << " AS l" << kWords[static_cast<int>(kind)] << right.node()
      << " AS r USING (" << QuoteNames(keys) << ")";
  return MakePlan(std::move(sql));
}
Plan Plan::GroupBy(const std::vector<std::string>& keys,
                   const std::vector<Named>& aggregates) const {
  if (keys.empty()) return Aggregate(aggregates);
  Fragment sql;
  sql << "SELECT " << QuoteNames(keys);
  AppendColumns(sql, aggregates, false);
  sql << " FROM " << node_ << " GROUP BY " << QuoteNames(keys);
  return MakePlan(std::move(sql));
}
Plan Plan::Aggregate(const std::vector<Named>& aggregates) const { return Project(aggregates); }
Plan Plan::Distinct() const {
  Fragment sql;
  sql << "SELECT DISTINCT * FROM " << node_;
  return MakePlan(std::move(sql));
}
Plan Plan::Sort(const std::vector<SortKey>& keys) const {
  Fragment sql;
  sql << "SELECT * FROM " << node_ << " ORDER BY ";
  AppendOrder(sql, keys);
  return MakePlan(std::move(sql));
}
Plan Plan::Limit(int64_t rows, int64_t offset) const {
  Fragment sql;
  sql << "SELECT * FROM " << node_ << absl::StrCat(" LIMIT ", rows, " OFFSET ", offset);
  return MakePlan(std::move(sql));
}
Plan Plan::UnionAll(const Plan& other) const {
  Fragment sql;
  sql << "SELECT * FROM " << node_ << " UNION ALL SELECT * FROM " << other.node();
  return MakePlan(std::move(sql));
}
Plan Plan::Grad(const Plan& f, const Plan& wrt, const std::vector<std::string>& columns) {
  return Derivative("grad", f, wrt, columns, nullptr);
}
Plan Plan::Vjp(const Plan& f, const Plan& wrt, const std::vector<std::string>& columns,
               const Plan& cotangent) {
  return Derivative("vjp", f, wrt, columns, &cotangent);
}

std::string Plan::ToSql() const {
  SqlWriter writer;
  writer.Visit(node_->sql);
  const std::string last = node_->table.empty()
                               ? writer.Text(node_->sql)
                               : absl::StrCat("SELECT * FROM ", QuoteName(node_->table));
  return absl::StrCat(WithParts(writer.parts()), last);
}

std::string ToSql(const std::vector<Update>& updates) {
  SqlWriter writer;
  std::vector<std::string> texts;
  for (const Update& update : updates) {
    const Fragment sql = UpdateSql(update);
    writer.Visit(sql);
    texts.push_back(writer.Text(sql));
  }
  for (size_t i = 0; i + 1 < texts.size(); ++i) {
    writer.parts().push_back(absl::StrCat("adjoin_u", i + 1, " AS (", texts[i], ")"));
  }
  return absl::StrCat(WithParts(writer.parts()), texts.back());
}

}  // namespace adjoin::api
