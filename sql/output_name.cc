#include "sql/output_name.h"

#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "engine/text.h"

namespace adjoin {
namespace {

// How good a name is: a type's gives way to one from inside a CASE.
enum class Strength { kNone, kWeak, kStrong };
struct Name {
  std::string text;
  Strength strength = Strength::kNone;
};

Name Find(const Json& node);

Name FindInSubquery(const Json& sublink) {
  const std::string type = TextOf(sublink, "subLinkType");
  if (type == "EXISTS_SUBLINK") return {"exists", Strength::kStrong};
  if (type == "ARRAY_SUBLINK") return {"array", Strength::kStrong};
  if (type != "EXPR_SUBLINK") return {};
  const Json* select = &FieldOf(FieldOf(sublink, "subselect"), "SelectStmt");
  while (Has(*select, "larg")) select = &FieldOf(*select, "larg");  // of a UNION
  const Json& targets = ListOf(*select, "targetList");
  if (targets.empty()) return {};
  const Json& target = FieldOf(targets[0], "ResTarget");
  if (const std::string name = TextOf(target, "name"); !name.empty())
    return {name, Strength::kStrong};
  return Find(FieldOf(target, "val"));
}

// "current_date" of SVFOP_CURRENT_DATE, "localtimestamp" of SVFOP_LOCALTIMESTAMP_N.
std::string KeywordName(std::string_view op) {
  op.remove_prefix(std::string_view("SVFOP_").size());
  if (op.ends_with("_N")) op.remove_suffix(2);
  return absl::AsciiStrToLower(ToAbsl(op));
}

Name Find(const Json& node) {
  const auto [tag, body] = Unwrap(node);
  const auto strong = [](std::string text) { return Name{std::move(text), Strength::kStrong}; };
  if (tag == "ColumnRef") {
    const Json& last = ListOf(*body, "fields").back();
    return Unwrap(last).tag == "String" ? strong(StringValue(last)) : Name{};
  }
  if (tag == "FuncCall") return strong(LastName(ListOf(*body, "funcname")));
  if (tag == "A_Expr" && TextOf(*body, "kind") == "AEXPR_NULLIF") return strong("nullif");
  if (tag == "CoalesceExpr") return strong("coalesce");
  if (tag == "MinMaxExpr")
    return strong(TextOf(*body, "op") == "IS_GREATEST" ? "greatest" : "least");
  if (tag == "SQLValueFunction") return strong(KeywordName(TextOf(*body, "op")));
  if (tag == "GroupingFunc") return strong("grouping");
  if (tag == "RowExpr") return strong("row");
  if (tag == "SubLink") return FindInSubquery(*body);
  if (tag == "TypeCast") {
    Name inner = Find(FieldOf(*body, "arg"));
    if (inner.strength == Strength::kStrong) return inner;
    return {LastName(ListOf(FieldOf(*body, "typeName"), "names")), Strength::kWeak};
  }
  if (tag == "CaseExpr") {
    Name inner = Find(FieldOf(*body, "defresult"));
    return inner.strength == Strength::kStrong ? inner : Name{"case", Strength::kWeak};
  }
  if (tag == "CollateClause") return Find(FieldOf(*body, "arg"));
  return {};
}

}  // namespace

std::string OutputName(const Json& expression) {
  Name name = Find(expression);
  return name.strength == Strength::kNone ? "?column?" : std::move(name.text);
}

}  // namespace adjoin
