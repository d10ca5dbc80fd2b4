#include "plan/node.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace adjoin {
namespace {

// ---- Identity. One walk over the parts of an operator serves hashing and comparison: each part is
// a flat key of expressions and numbers, in a fixed order.

struct Key {
  std::vector<ExprRef> exprs;
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  void Add(const ExprRef& e) { exprs.push_back(e); }
  void Add(const std::vector<ExprRef>& list) {
    numbers.push_back(static_cast<int64_t>(list.size()));
    for (const ExprRef& e : list) exprs.push_back(e);
  }
  template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void Add(T v) {
    numbers.push_back(static_cast<int64_t>(v));
  }
  void Add(const std::vector<int>& list) {
    numbers.push_back(static_cast<int64_t>(list.size()));
    numbers.insert(numbers.end(), list.begin(), list.end());
  }
  void Add(const std::vector<JoinKey>& on) {
    Add(on.size());
    for (const JoinKey& k : on) Add(k.left), Add(k.right), Add(k.null_safe);
  }
  void Add(const std::vector<SortKey>& keys) {
    Add(keys.size());
    for (const SortKey& k : keys) Add(k.expr), Add(k.descending), Add(k.nulls_first);
  }
};

struct KeyMaker {
  Key& key;
  void operator()(const Scan& s) { key.Add(s.table_id), key.texts.push_back(s.table); }
  void operator()(const Values& v) {
    key.Add(v.rows.size());
    for (const auto& row : v.rows) key.Add(row);
    for (TypeId t : v.types) key.Add(t);
  }
  void operator()(const Series& s) { key.Add(s.start), key.Add(s.stop), key.Add(s.step); }
  void operator()(const Filter& f) { key.Add(f.predicate); }
  void operator()(const Project& p) { key.Add(p.exprs); }
  void operator()(const Join& j) { key.Add(j.kind), key.Add(j.keys), key.Add(j.residual); }
  void operator()(const GroupBy& g) {
    key.Add(g.keys);
    for (const Aggregate& a : g.aggregates) {
      key.Add(a.function), key.Add(a.arg), key.Add(a.filter), key.Add(a.distinct), key.Add(a.type);
      key.Add(a.second);
    }
  }
  void operator()(const Window& w) {
    key.Add(w.partition), key.Add(w.order);
    key.Add(w.frame.mode), key.Add(w.frame.start), key.Add(w.frame.end);
    key.Add(w.frame.exclusion), key.Add(w.frame.start_offset), key.Add(w.frame.end_offset);
    for (const WindowCall& c : w.calls)
      key.Add(c.function), key.Add(c.args), key.Add(c.filter), key.Add(c.type);
  }
  void operator()(const Sort& s) { key.Add(s.keys); }
  void operator()(const Limit& l) { key.Add(l.limit), key.Add(l.offset); }
  void operator()(const UnionAll&) {}
  void operator()(const Contraction& c) {
    key.Add(c.on), key.Add(c.mask), key.Add(c.keys.size());
    for (const ContractionKey& k : c.keys) key.Add(k.side), key.Add(k.column);
    key.Add(c.left_factor), key.Add(c.right_factor), key.Add(c.count);
  }
  void operator()(const SparseProduct& p) {
    key.Add(p.on), key.Add(p.keys.size());
    for (const ContractionKey& k : p.keys) key.Add(k.side), key.Add(k.column);
    key.Add(p.left_factors), key.Add(p.right_factors), key.Add(p.sums.size());
    for (const SparseProduct::Sum& s : p.sums) key.Add(s.left), key.Add(s.right);
  }
  void operator()(const SampledProduct& p) {
    key.Add(p.keys), key.Add(p.on_left), key.Add(p.on_right), key.Add(p.between);
    key.Add(p.factor), key.Add(p.left_factor), key.Add(p.right_factor);
  }
  void operator()(const RowId&) {}
  void operator()(const Lookup& l) { key.Add(l.left_keys), key.Add(l.right_keys); }
  void operator()(const Collect& c) {
    key.Add(c.left_key), key.Add(c.right_key), key.Add(c.values);
  }
  void operator()(const Require& r) {
    key.Add(r.what), key.Add(r.columns), key.texts.push_back(r.sqlstate),
        key.texts.push_back(r.message);
  }
  void operator()(const Derivative& d) { key.Add(d.columns); }
  void operator()(const Recursion& r) {
    // Nodes of one planner are equal where they are one.
    key.Add(r.id), key.Add(reinterpret_cast<intptr_t>(r.body.get())), key.Add(r.distinct);
  }
  void operator()(const RecursionInput& r) {
    key.Add(r.id), key.Add(r.input);
    for (TypeId t : r.types) key.Add(t);
  }
};

Key KeyOf(const Operator& op) {
  Key key;
  key.Add(op.index());
  std::visit(KeyMaker{key}, op);
  return key;
}

bool SameKey(const Key& a, const Key& b) {
  return a.numbers == b.numbers && a.texts == b.texts && a.exprs.size() == b.exprs.size() &&
         std::equal(a.exprs.begin(), a.exprs.end(), b.exprs.begin(), SameExpr);
}

// ---- Output columns.

struct Output {
  std::vector<TypeId> types;
  std::vector<std::string> names;
  void Append(const Node& n) {
    types.insert(types.end(), n.types.begin(), n.types.end());
    names.insert(names.end(), n.names.begin(), n.names.end());
  }
  void Append(TypeId type, std::string name = "") {
    types.push_back(type);
    names.push_back(std::move(name));
  }
};

absl::string_view AggregateName(AggregateFunction f) {
  constexpr absl::string_view kNames[] = {
      "count(*)", "count",   "sum",      "avg",        "min",           "max",
      "bool_and", "bool_or", "comoment", "string_agg", "percentile_up", "percentile_down"};
  return kNames[static_cast<int>(f)];
}
absl::string_view WindowName(WindowFunction f) {
  constexpr absl::string_view kNames[] = {
      "count(*)",   "count",    "sum",        "avg",      "min",        "max",
      "row_number", "rank",     "dense_rank", "lag",      "lead",       "first_value",
      "last_value", "bool_and", "bool_or",    "comoment", "string_agg", "percent_rank",
      "cume_dist",  "ntile",    "nth_value"};
  return kNames[static_cast<int>(f)];
}

std::string NameOf(const ExprRef& e, const std::vector<std::string>& names) {
  return e->kind == ExprKind::kColumn && static_cast<size_t>(e->index) < names.size()
             ? names[static_cast<size_t>(e->index)]
             : std::string();
}

struct OutputMaker {
  const std::vector<NodeRef>& inputs;
  Output out;
  const Node& in(int i) const { return *inputs[static_cast<size_t>(i)]; }

  void operator()(const Scan& s) {
    for (const Field& f : s.schema.fields) out.Append(f.type, f.name);
  }
  void operator()(const Values& v) {
    for (TypeId t : v.types) out.Append(t);
  }
  void operator()(const Series& s) { out.Append(s.start->type, "generate_series"); }
  void operator()(const Filter&) { out.Append(in(0)); }
  void operator()(const Project& p) {
    for (const ExprRef& e : p.exprs) out.Append(e->type, NameOf(e, in(0).names));
  }
  void operator()(const Join& j) {
    out.Append(in(0));
    const bool both = j.kind == JoinKind::kInner || j.kind == JoinKind::kLeft ||
                      j.kind == JoinKind::kFull || j.kind == JoinKind::kSingle;
    if (both) out.Append(in(1));
  }
  void operator()(const GroupBy& g) {
    for (const ExprRef& e : g.keys) out.Append(e->type, NameOf(e, in(0).names));
    for (const Aggregate& a : g.aggregates)
      out.Append(a.type, std::string(AggregateName(a.function)));
  }
  void operator()(const Window& w) {
    out.Append(in(0));
    for (const WindowCall& c : w.calls) out.Append(c.type, std::string(WindowName(c.function)));
  }
  void operator()(const Sort&) { out.Append(in(0)); }
  void operator()(const Limit&) { out.Append(in(0)); }
  void operator()(const UnionAll&) { out.Append(in(0)); }
  void operator()(const Contraction& c) {
    for (const ContractionKey& k : c.keys) {
      const size_t column = static_cast<size_t>(k.column);
      out.Append(in(k.side).types[column], in(k.side).names[column]);
    }
    out.Append(c.left_factor->type, "sum");
    if (c.count) out.Append(TypeId::kInt64, "count");
  }
  void operator()(const SparseProduct& p) {
    for (const ContractionKey& k : p.keys) {
      const size_t column = static_cast<size_t>(k.column);
      out.Append(in(k.side).types[column], in(k.side).names[column]);
    }
    for (const SparseProduct::Sum& s : p.sums) {
      if (s.left < 0 && s.right < 0) {
        out.Append(TypeId::kInt64, "count");
      } else {
        const ExprRef& factor = s.left >= 0 ? p.left_factors[static_cast<size_t>(s.left)]
                                            : p.right_factors[static_cast<size_t>(s.right)];
        out.Append(factor->type, "sum");
      }
    }
  }
  void operator()(const SampledProduct& p) {
    for (int c : p.keys)
      out.Append(in(0).types[static_cast<size_t>(c)], in(0).names[static_cast<size_t>(c)]);
    out.Append(p.left_factor->type, "sum");
  }
  void operator()(const RowId&) {
    out.Append(in(0));
    out.Append(TypeId::kInt64, "rowid");
  }
  void operator()(const Lookup&) { out.Append(in(0)), out.Append(in(1)); }
  void operator()(const Collect& c) {
    out.Append(in(0));
    for (const ExprRef& v : c.values) out.Append(v->type, "sum");
  }
  void operator()(const Require&) { out.Append(in(0)); }
  void operator()(const Derivative& d) {
    out.Append(in(1));
    for (int c : d.columns) {
      const size_t column = static_cast<size_t>(c);
      out.Append(in(1).types[column], absl::StrCat("d", in(1).names[column]));
    }
  }
  void operator()(const Recursion&) { out.Append(in(0)); }
  void operator()(const RecursionInput& r) {
    for (TypeId t : r.types) out.Append(t);
  }
};

// ---- Text.

std::string JoinNames(JoinKind kind) {
  constexpr absl::string_view kNames[] = {
      "", " left", " full", " semi", " anti", " null-aware anti", " single"};
  return std::string(kNames[static_cast<int>(kind)]);
}

std::vector<std::string> BothNames(const Node& n) {
  std::vector<std::string> names = n.inputs[0]->names;
  names.insert(names.end(), n.inputs[1]->names.begin(), n.inputs[1]->names.end());
  return names;
}

std::string List(const std::vector<ExprRef>& exprs, const std::vector<std::string>& names) {
  return absl::StrJoin(exprs, ", ", [&](std::string* out, const ExprRef& e) {
    absl::StrAppend(out, ToString(e, names));
  });
}

std::string KeyList(const std::vector<JoinKey>& keys, const Node& n, size_t left = 0,
                    size_t right = 1) {
  return absl::StrJoin(keys, ", ", [&](std::string* out, const JoinKey& k) {
    absl::StrAppend(out, ToString(k.left, n.inputs[left]->names), k.null_safe ? " <=> " : " = ",
                    ToString(k.right, n.inputs[right]->names));
  });
}

std::string SortList(const std::vector<SortKey>& keys, const std::vector<std::string>& names) {
  return absl::StrJoin(keys, ", ", [&](std::string* out, const SortKey& k) {
    absl::StrAppend(out, ToString(k.expr, names), k.descending ? " DESC" : "");
    if (k.nulls_first != k.descending)
      absl::StrAppend(out, k.nulls_first ? " NULLS FIRST" : " NULLS LAST");
  });
}

std::string FrameText(const Frame& f, const std::vector<std::string>& names) {
  constexpr absl::string_view kModes[] = {"ROWS", "RANGE", "GROUPS"};
  const auto bound = [&](FrameBound b, const ExprRef& offset) -> std::string {
    switch (b) {
      case FrameBound::kUnboundedPreceding:
        return "UNBOUNDED PRECEDING";
      case FrameBound::kPreceding:
        return absl::StrCat(ToString(offset, names), " PRECEDING");
      case FrameBound::kCurrentRow:
        return "CURRENT ROW";
      case FrameBound::kFollowing:
        return absl::StrCat(ToString(offset, names), " FOLLOWING");
      case FrameBound::kUnboundedFollowing:
        return "UNBOUNDED FOLLOWING";
    }
    return "";
  };
  return absl::StrCat(kModes[static_cast<int>(f.mode)], " BETWEEN ", bound(f.start, f.start_offset),
                      " AND ", bound(f.end, f.end_offset));
}

struct Describer {
  const Node& n;
  const std::vector<std::string>& in() const { return n.inputs[0]->names; }

  std::string operator()(const Scan& s) const { return absl::StrCat("Scan[", s.table, "]"); }
  std::string operator()(const Values& v) const {
    return absl::StrCat("Values[", v.rows.size(), " rows]");
  }
  std::string operator()(const Series& s) const {
    return absl::StrCat("Series[", List({s.start, s.stop, s.step}, {}), "]");
  }
  std::string operator()(const Filter& f) const {
    return absl::StrCat("Filter[", ToString(f.predicate, in()), "]");
  }
  std::string operator()(const Project& p) const {
    std::string out;
    for (size_t i = 0; i < p.exprs.size(); ++i) {
      const std::string text = ToString(p.exprs[i], in());
      absl::StrAppend(&out, i > 0 ? ", " : "");
      if (!n.names[i].empty() && n.names[i] != text) absl::StrAppend(&out, n.names[i], " = ");
      absl::StrAppend(&out, text);
    }
    return absl::StrCat("Project[", out, "]");
  }
  std::string operator()(const Join& j) const {
    std::string out = absl::StrCat("Join", JoinNames(j.kind), "[", KeyList(j.keys, n));
    if (j.residual != nullptr) {
      absl::StrAppend(&out, j.keys.empty() ? "" : "; ", ToString(j.residual, BothNames(n)));
    }
    return out + "]";
  }
  std::string operator()(const GroupBy& g) const {
    std::string out = absl::StrCat("GroupBy[", List(g.keys, in()));
    for (size_t i = 0; i < g.aggregates.size(); ++i) {
      const Aggregate& a = g.aggregates[i];
      absl::StrAppend(&out, i > 0 ? ", " : g.keys.empty() ? "" : "; ");
      if (a.arg == nullptr) {
        absl::StrAppend(&out, "count(*)");
      } else {
        absl::StrAppend(&out, AggregateName(a.function), "(", a.distinct ? "DISTINCT " : "",
                        ToString(a.arg, in()), a.second == nullptr ? "" : ", ",
                        a.second == nullptr ? "" : ToString(a.second, in()), ")");
      }
      if (a.filter != nullptr) absl::StrAppend(&out, " FILTER (", ToString(a.filter, in()), ")");
    }
    return out + "]";
  }
  std::string operator()(const Window& w) const {
    std::string out = "Window[";
    for (size_t i = 0; i < w.calls.size(); ++i) {
      const WindowCall& c = w.calls[i];
      absl::StrAppend(&out, i > 0 ? ", " : "");
      absl::StrAppend(&out,
                      c.function == WindowFunction::kCountStar
                          ? std::string("count(*)")
                          : absl::StrCat(WindowName(c.function), "(", List(c.args, in()), ")"));
      if (c.filter != nullptr) absl::StrAppend(&out, " FILTER (", ToString(c.filter, in()), ")");
    }
    if (!w.partition.empty()) absl::StrAppend(&out, "; partition ", List(w.partition, in()));
    if (!w.order.empty())
      absl::StrAppend(&out, "; order ", SortList(w.order, in()), "; ", FrameText(w.frame, in()));
    return out + "]";
  }
  std::string operator()(const Sort& s) const {
    return absl::StrCat("Sort[", SortList(s.keys, in()), "]");
  }
  std::string operator()(const Limit& l) const {
    return absl::StrCat("Limit[", l.limit == nullptr ? "all" : ToString(l.limit),
                        l.offset == nullptr ? "" : absl::StrCat(" offset ", ToString(l.offset)),
                        "]");
  }
  std::string operator()(const UnionAll&) const { return "UnionAll"; }
  std::string operator()(const Contraction& c) const {
    std::string keys = absl::StrJoin(c.keys, ", ", [&](std::string* out, const ContractionKey& k) {
      absl::StrAppend(out,
                      n.inputs[static_cast<size_t>(k.side)]->names[static_cast<size_t>(k.column)]);
    });
    std::string out =
        absl::StrCat("Contraction[sum(", keys, ") = SUM ", ToString(c.left_factor, in()), " * ",
                     ToString(c.right_factor, n.inputs[1]->names), "; ", KeyList(c.on, n));
    if (c.mask != nullptr) absl::StrAppend(&out, "; ", ToString(c.mask, BothNames(n)));
    return absl::StrCat(out, c.count ? "; count" : "", "]");
  }
  std::string operator()(const SparseProduct& p) const {
    std::string out = "SparseProduct[";
    for (const ContractionKey& k : p.keys) {
      const auto& names = n.inputs[static_cast<size_t>(k.side)]->names;
      absl::StrAppend(&out, names[static_cast<size_t>(k.column)], ", ");
    }
    for (const SparseProduct::Sum& s : p.sums) {
      std::vector<std::string> factors;
      if (s.left >= 0)
        factors.push_back(ToString(p.left_factors[static_cast<size_t>(s.left)], in()));
      if (s.right >= 0)
        factors.push_back(
            ToString(p.right_factors[static_cast<size_t>(s.right)], n.inputs[1]->names));
      absl::StrAppend(&out, factors.empty() ? "COUNT(*)" : "SUM ", absl::StrJoin(factors, " * "),
                      ", ");
    }
    out.resize(out.size() - 2);
    return absl::StrCat(out, "; ", KeyList(p.on, n), "]");
  }
  std::string operator()(const SampledProduct& p) const {
    std::string out = "SampledProduct[";
    for (int c : p.keys) absl::StrAppend(&out, in()[static_cast<size_t>(c)], ", ");
    absl::StrAppend(&out, "SUM ");
    if (p.factor != nullptr) absl::StrAppend(&out, ToString(p.factor, in()), " * ");
    return absl::StrCat(out, ToString(p.left_factor, n.inputs[1]->names), " * ",
                        ToString(p.right_factor, n.inputs[2]->names), "; ", KeyList(p.on_left, n),
                        "; ", KeyList(p.on_right, n, 0, 2), "; ", KeyList(p.between, n, 1, 2), "]");
  }
  std::string operator()(const RowId&) const { return "RowId"; }
  std::string operator()(const Lookup& l) const {
    return absl::StrCat("Lookup[", List(l.left_keys, in()), " <=> ",
                        List(l.right_keys, n.inputs[1]->names), "]");
  }
  std::string operator()(const Collect& c) const {
    return absl::StrCat("Collect[", in()[static_cast<size_t>(c.left_key)], " <- ",
                        n.inputs[1]->names[static_cast<size_t>(c.right_key)], "; ",
                        List(c.values, n.inputs[1]->names), "]");
  }
  std::string operator()(const Require& r) const {
    if (r.what == Require::What::kOneRow) return "Require[one row]";
    if (r.what == Require::What::kAtMostOneRow) return "Require[at most one row]";
    return absl::StrCat("Require[unique ",
                        absl::StrJoin(r.columns, ", ",
                                      [&](std::string* out, int c) {
                                        absl::StrAppend(out, in()[static_cast<size_t>(c)]);
                                      }),
                        "]");
  }
  std::string operator()(const Derivative& d) const {
    return absl::StrCat("Derivative[",
                        absl::StrJoin(d.columns, ", ",
                                      [&](std::string* out, int c) {
                                        absl::StrAppend(out,
                                                        n.inputs[1]->names[static_cast<size_t>(c)]);
                                      }),
                        "]");
  }
  std::string operator()(const Recursion& r) const {
    return absl::StrCat("Recursion", r.id, r.distinct ? "[distinct]" : "");
  }
  std::string operator()(const RecursionInput& r) const {
    return r.input == 0 ? absl::StrCat("WorkingTable[", r.id, "]")
                        : absl::StrCat("RecursionInput[", r.id, ", ", r.input, "]");
  }
};

}  // namespace

struct Planner::Interned {
  absl::flat_hash_map<uint64_t, std::vector<NodeRef>> nodes;
  int next_id = 0;
};

Planner::Planner() : interned_(std::make_unique<Interned>()) {}
Planner::~Planner() = default;

void Planner::NumberFrom(int id) { interned_->next_id = id; }

NodeRef Planner::Make(Operator op, std::vector<NodeRef> inputs, std::vector<std::string> names) {
  const Key key = KeyOf(op);
  uint64_t hash = absl::HashOf(key.numbers, key.texts);
  for (const ExprRef& e : key.exprs) hash = absl::HashOf(hash, e == nullptr ? 0 : e->hash);
  for (const NodeRef& input : inputs) hash = absl::HashOf(hash, input.get());

  std::vector<NodeRef>& bucket = interned_->nodes[hash];
  for (const NodeRef& candidate : bucket) {
    if (candidate->inputs == inputs && SameKey(KeyOf(candidate->op), key)) return candidate;
  }
  OutputMaker maker{inputs, {}};
  std::visit(maker, op);
  auto node = std::make_shared<Node>();
  node->op = std::move(op);
  node->inputs = std::move(inputs);
  node->types = std::move(maker.out.types);
  node->names = std::move(maker.out.names);
  for (size_t i = 0; i < names.size() && i < node->names.size(); ++i) {
    if (!names[i].empty()) node->names[i] = std::move(names[i]);
  }
  node->hash = hash;
  node->id = interned_->next_id++;
  bucket.push_back(node);
  return node;
}

std::string ToString(const std::vector<NodeRef>& roots, const std::vector<std::string>& headings,
                     const std::function<std::string(const Node&)>& note) {
  std::string out;
  absl::flat_hash_set<const Node*> printed;
  std::vector<std::pair<const Node*, int>> stack;
  for (size_t r = 0; r < roots.size(); ++r) {
    if (r < headings.size()) absl::StrAppend(&out, headings[r]);
    stack.emplace_back(roots[r].get(), 0);
    while (!stack.empty()) {
      const auto [node, depth] = stack.back();
      stack.pop_back();
      out.append(2 * static_cast<size_t>(std::min(depth, 40)), ' ');
      if (!printed.insert(node).second && !node->inputs.empty()) {
        absl::StrAppend(&out, "^", node->id, "\n");
        continue;
      }
      absl::StrAppend(&out, std::visit(Describer{*node}, node->op), "  (", node->id, ")",
                      note == nullptr ? "" : note(*node), "\n");
      if (const auto* recursion = std::get_if<Recursion>(&node->op))
        stack.emplace_back(recursion->body.get(), depth + 1);
      for (size_t i = node->inputs.size(); i-- > 0;)
        stack.emplace_back(node->inputs[i].get(), depth + 1);
    }
  }
  return out;
}

std::string ToString(const NodeRef& root) { return ToString(std::vector<NodeRef>{root}, {}); }

bool IsWholePartition(const Window& w) { return IsWholePartition(w.frame, w.order.empty()); }

std::string DescribeOperator(const Node& node) { return std::visit(Describer{node}, node.op); }

NodeRef OverReplacements(const NodeRef& node, const Replacements& replacements, Planner& planner) {
  std::vector<NodeRef> inputs;
  bool changed = false;
  for (const NodeRef& input : node->inputs) {
    inputs.push_back(replacements.at(input.get()));
    changed |= inputs.back() != input;
  }
  return changed ? planner.Make(node->op, std::move(inputs), node->names) : node;
}

std::vector<NodeRef> TopologicalOrder(const std::vector<NodeRef>& roots) {
  std::vector<NodeRef> order;
  absl::flat_hash_set<const Node*> done;
  std::vector<std::pair<NodeRef, size_t>> stack;
  for (const NodeRef& root : roots) {
    if (done.contains(root.get())) continue;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->inputs.size()) {
        const NodeRef input = node->inputs[next++];
        if (!done.contains(input.get())) stack.emplace_back(input, 0);
      } else {
        if (done.insert(node.get()).second) order.push_back(node);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace adjoin
