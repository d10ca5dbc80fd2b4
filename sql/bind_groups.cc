#include "sql/bind_groups.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/bind_aggregate.h"
#include "sql/bind_expr.h"

namespace adjoin {
namespace {

constexpr size_t kMostSets = 4096;  // PostgreSQL's limits
constexpr size_t kMostCubeElements = 12;

using Sets = std::vector<std::vector<int>>;

std::vector<int> Union(std::vector<int> a, const std::vector<int>& b) {
  for (int key : b) {
    if (std::find(a.begin(), a.end(), key) == a.end()) a.push_back(key);
  }
  return a;
}

class GroupClauseBinder {
 public:
  GroupClauseBinder(BindState& state, const KeyBinder& bind_key)
      : state_(state), bind_key_(bind_key) {}

  // The items stand for the combinations of one set of each.
  absl::StatusOr<GroupClause> Bind(const Json& clause, bool distinct) {
    Sets all = {{}};
    for (const Json& item : clause) {
      ADJOIN_ASSIGN_OR_RETURN(const Sets sets, SetsOf(item));
      if (all.size() * sets.size() > kMostSets) return TooMany(item);
      Sets combined;
      for (const std::vector<int>& a : all) {
        for (const std::vector<int>& b : sets) combined.push_back(Union(a, b));
      }
      all = std::move(combined);
    }
    if (distinct) RemoveEqual(all);
    out_.sets = std::move(all);
    return std::move(out_);
  }

 private:
  absl::Status TooMany(const Json& item) const {
    return state_.Error("54001",
                        absl::StrCat("too many grouping sets present (maximum ", kMostSets, ")"),
                        LocationOf(*Unwrap(item).body));
  }

  static void RemoveEqual(Sets& sets) {
    Sets kept;
    for (const std::vector<int>& set : sets) {
      const bool known = std::any_of(kept.begin(), kept.end(), [&](const std::vector<int>& k) {
        return std::is_permutation(k.begin(), k.end(), set.begin(), set.end());
      });
      if (!known) kept.push_back(set);
    }
    sets = std::move(kept);
  }

  // One key, or those of a list in parentheses.
  absl::StatusOr<std::vector<int>> KeysOf(const Json& item) {
    const auto [tag, body] = Unwrap(item);
    const bool is_list = tag == "RowExpr" && TextOf(*body, "row_format") == "COERCE_IMPLICIT_CAST";
    std::vector<int> out;
    if (is_list) {
      for (const Json& arg : ListOf(*body, "args")) {
        ADJOIN_ASSIGN_OR_RETURN(const std::vector<int> keys, KeysOf(arg));
        out = Union(std::move(out), keys);
      }
      return out;
    }
    ADJOIN_ASSIGN_OR_RETURN(ExprRef key, bind_key_(item));
    const auto known = std::find_if(out_.keys.begin(), out_.keys.end(),
                                    [&](const ExprRef& k) { return SameExpr(k, key); });
    const auto number = static_cast<int>(known - out_.keys.begin());
    if (known == out_.keys.end()) out_.keys.push_back(std::move(key));
    return std::vector<int>{number};
  }

  absl::StatusOr<Sets> SetsOf(const Json& item) {
    const auto [tag, body] = Unwrap(item);
    if (tag != "GroupingSet") {
      ADJOIN_ASSIGN_OR_RETURN(std::vector<int> keys, KeysOf(item));
      return Sets{std::move(keys)};
    }
    const std::string kind = TextOf(*body, "kind");
    const Json& content = ListOf(*body, "content");
    if (kind == "GROUPING_SET_EMPTY") return Sets{{}};
    Sets out;
    if (kind == "GROUPING_SET_SETS") {
      for (const Json& part : content) {
        ADJOIN_ASSIGN_OR_RETURN(const Sets sets, SetsOf(part));
        out.insert(out.end(), sets.begin(), sets.end());
        if (out.size() > kMostSets) return TooMany(item);
      }
      return out;
    }
    std::vector<std::vector<int>> elements;
    for (const Json& part : content) {
      ADJOIN_ASSIGN_OR_RETURN(std::vector<int> keys, KeysOf(part));
      elements.push_back(std::move(keys));
    }
    if (kind == "GROUPING_SET_ROLLUP") {
      std::vector<int> prefix;
      out.push_back(prefix);
      for (const std::vector<int>& element : elements)
        out.push_back(prefix = Union(std::move(prefix), element));
      std::reverse(out.begin(), out.end());
      return out;
    }
    if (elements.size() > kMostCubeElements) {
      return state_.Error("54011",
                          absl::StrCat("CUBE is limited to ", kMostCubeElements, " elements"),
                          LocationOf(*body));
    }
    for (size_t absent = 0; absent < size_t{1} << elements.size(); ++absent) {
      std::vector<int>& set = out.emplace_back();
      for (size_t e = 0; e < elements.size(); ++e) {
        const size_t bit = size_t{1} << (elements.size() - 1 - e);
        if ((absent & bit) == 0) set = Union(std::move(set), elements[e]);
      }
    }
    return out;
  }

  BindState& state_;
  const KeyBinder& bind_key_;
  GroupClause out_;
};

}  // namespace

absl::StatusOr<GroupClause> BindGroupClause(BindState& state, const Json& clause, bool distinct,
                                            const KeyBinder& bind_key) {
  return GroupClauseBinder(state, bind_key).Bind(clause, distinct);
}

absl::StatusOr<ExprRef> BindGrouping(BindState& state, const Json& body, const Context& context) {
  const int location = LocationOf(body);
  const Json& args = ListOf(body, "args");
  ADJOIN_RETURN_IF_ERROR(CheckAggregatePlace(state, context, "grouping operations", location));
  if (args.size() > 31)
    return state.Error("54023", "GROUPING must have fewer than 32 arguments", location);
  GroupingCall call{state.NewPlaceholder(), {}};
  for (const Json& arg : args) {
    ADJOIN_ASSIGN_OR_RETURN(Typed value, BindExpr(state, arg, context));
    call.args.push_back(std::move(value));
  }
  context.level->groupings.push_back(std::move(call));
  return ParameterExpr(context.level->groupings.back().placeholder, TypeId::kInt32);
}

}  // namespace adjoin
