#include "tests/reference/interpreter.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "tests/reference/accumulator.h"
#include "tests/reference/window.h"

namespace adjoin::reference {
namespace {

using Index = std::map<Row, std::vector<size_t>, RowLess>;

bool HasNull(const Row& row) {
  return std::any_of(row.begin(), row.end(), [](const Value& v) { return v.is_null(); });
}

Row Concat(const Row& a, const Row& b) {
  Row out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// Keys of every row of `rows`.
absl::StatusOr<std::vector<Row>> EvaluateAll(const std::vector<ExprRef>& exprs, const Rows& rows,
                                             const std::vector<Value>& params) {
  Evaluator evaluator(exprs, &params);
  std::vector<Row> out;
  for (const Row& row : rows) {
    evaluator.SetRow(&row);
    ADJOIN_ASSIGN_OR_RETURN(Row values, evaluator.GetAll());
    out.push_back(std::move(values));
  }
  return out;
}

// What the bodies of the recursions around a node read, by recursion and number of the input.
using RecursionInputs = std::map<std::pair<int, int>, const Rows*>;
absl::StatusOr<std::vector<Rows>> InterpretWithin(const std::vector<NodeRef>& roots,
                                                  const std::map<uint64_t, TableRef>& tables,
                                                  const std::vector<Value>& params,
                                                  const RecursionInputs& recursion_inputs);

// Evaluates one node over its inputs' rows.
class NodeEvaluator {
 public:
  NodeEvaluator(const Node& node, std::vector<const Rows*> inputs,
                const std::map<uint64_t, TableRef>& tables, const std::vector<Value>& params,
                const RecursionInputs& recursion_inputs)
      : node_(node),
        inputs_(std::move(inputs)),
        tables_(tables),
        params_(params),
        recursion_inputs_(recursion_inputs) {}

  absl::StatusOr<Rows> operator()(const Scan& scan) {
    const auto table = tables_.find(scan.table_id);
    if (table == tables_.end())
      return SqlError(sqlstate::kInternalError, absl::StrCat("no table ", scan.table));
    return RowsOf(*table->second);
  }

  absl::StatusOr<Rows> operator()(const Values& values) {
    const Row none;
    Rows out;
    for (const auto& exprs : values.rows) {
      Evaluator evaluator(exprs, &params_);
      evaluator.SetRow(&none);
      ADJOIN_ASSIGN_OR_RETURN(Row row, evaluator.GetAll());
      out.push_back(std::move(row));
    }
    return out;
  }

  absl::StatusOr<Rows> operator()(const Series& series) {
    const Row none;
    Evaluator evaluator({series.start, series.stop, series.step}, &params_);
    evaluator.SetRow(&none);
    ADJOIN_ASSIGN_OR_RETURN(Row args, evaluator.GetAll());
    if (series.step == nullptr) args[2] = Value::Int(1);
    Rows out;
    if (HasNull(args)) return out;
    const __int128 start = args[0].as_int(), stop = args[1].as_int(), step = args[2].as_int();
    if (step == 0) return SqlError(sqlstate::kInvalidParameterValue, "step size cannot equal zero");
    for (__int128 i = start; step > 0 ? i <= stop : i >= stop; i += step) {
      out.push_back({Value::Int(static_cast<int64_t>(i))});
    }
    return out;
  }

  absl::StatusOr<Rows> operator()(const Filter& filter) {
    Evaluator predicate({filter.predicate}, &params_);
    Rows out;
    for (const Row& row : input(0)) {
      predicate.SetRow(&row);
      ADJOIN_ASSIGN_OR_RETURN(const bool keep, predicate.IsTrue(0));
      if (keep) out.push_back(row);
    }
    return out;
  }

  absl::StatusOr<Rows> operator()(const Project& project) {
    return EvaluateAll(project.exprs, input(0), params_);
  }

  absl::StatusOr<Rows> operator()(const Join& join) {
    if (join.kind == JoinKind::kNullAwareAnti) return NullAwareAnti(join);
    std::vector<std::vector<size_t>> matches;
    ADJOIN_RETURN_IF_ERROR(MatchAll(join.keys, join.residual, matches));
    const Row right_nulls(node_.inputs[1]->types.size()), left_nulls(node_.inputs[0]->types.size());
    std::vector<bool> right_matched(input(1).size(), false);
    Rows out;
    for (size_t l = 0; l < input(0).size(); ++l) {
      const Row& left = input(0)[l];
      const bool any = !matches[l].empty();
      if (join.kind == JoinKind::kSemi || join.kind == JoinKind::kAnti) {
        if (any == (join.kind == JoinKind::kSemi)) out.push_back(left);
        continue;
      }
      if (join.kind == JoinKind::kSingle && matches[l].size() > 1) {
        return SqlError(sqlstate::kCardinalityViolation,
                        "more than one row returned by a subquery used as an expression");
      }
      for (size_t r : matches[l]) {
        right_matched[r] = true;
        out.push_back(Concat(left, input(1)[r]));
      }
      if (!any && join.kind != JoinKind::kInner) out.push_back(Concat(left, right_nulls));
    }
    for (size_t r = 0; join.kind == JoinKind::kFull && r < input(1).size(); ++r) {
      if (!right_matched[r]) out.push_back(Concat(left_nulls, input(1)[r]));
    }
    return out;
  }

  absl::StatusOr<Rows> operator()(const GroupBy& group_by) {
    std::vector<Row> keys;
    ADJOIN_ASSIGN_OR_RETURN(keys, EvaluateAll(group_by.keys, input(0), params_));
    std::vector<ExprRef> args, seconds, filters;
    for (const Aggregate& a : group_by.aggregates) {
      args.push_back(a.arg);
      seconds.push_back(a.second);
      filters.push_back(a.filter);
    }
    Evaluator arg(args, &params_), second(seconds, &params_), filter(filters, &params_);
    std::map<Row, size_t, RowLess> groups;
    Rows group_keys;
    std::vector<std::vector<Accumulator>> accumulators;
    const auto add_group = [&](const Row& key) {
      group_keys.push_back(key);
      accumulators.push_back(NewAccumulators(group_by));
    };
    if (group_by.keys.empty()) {
      groups[{}] = 0;
      add_group({});
    }
    for (size_t r = 0; r < input(0).size(); ++r) {
      const auto [group, is_new] = groups.try_emplace(keys[r], group_keys.size());
      if (is_new) add_group(keys[r]);
      arg.SetRow(&input(0)[r]);
      second.SetRow(&input(0)[r]);
      filter.SetRow(&input(0)[r]);
      for (size_t a = 0; a < args.size(); ++a) {
        ADJOIN_ASSIGN_OR_RETURN(const bool pass, filter.IsTrue(static_cast<int>(a)));
        if (!pass) continue;
        ADJOIN_ASSIGN_OR_RETURN(const Value value, arg.Get(static_cast<int>(a)));
        ADJOIN_ASSIGN_OR_RETURN(const Value other, second.Get(static_cast<int>(a)));
        accumulators[group->second][a].Add(value, other);
      }
    }
    for (size_t g = 0; g < group_keys.size(); ++g)
      ADJOIN_RETURN_IF_ERROR(AppendResults(accumulators[g], group_keys[g]));
    return group_keys;
  }

  absl::StatusOr<Rows> operator()(const Window& window) {
    return EvaluateWindow(window, input(0), params_);
  }

  absl::StatusOr<Rows> operator()(const Sort& sort) {
    std::vector<ExprRef> exprs;
    for (const SortKey& key : sort.keys) exprs.push_back(key.expr);
    std::vector<Row> keys;
    ADJOIN_ASSIGN_OR_RETURN(keys, EvaluateAll(exprs, input(0), params_));
    std::vector<size_t> order(input(0).size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return CompareSortKeys(sort.keys, keys[a], keys[b]) < 0;
    });
    Rows out;
    for (size_t row : order) out.push_back(input(0)[row]);
    return out;
  }

  absl::StatusOr<Rows> operator()(const Limit& limit) {
    const Row none;
    Evaluator evaluator({limit.limit, limit.offset}, &params_);
    evaluator.SetRow(&none);
    ADJOIN_ASSIGN_OR_RETURN(Row args, evaluator.GetAll());
    if (!args[0].is_null() && args[0].as_int() < 0) {
      return SqlError(sqlstate::kInvalidRowCountInLimit, "LIMIT must not be negative");
    }
    if (!args[1].is_null() && args[1].as_int() < 0) {
      return SqlError(sqlstate::kInvalidRowCountInOffset, "OFFSET must not be negative");
    }
    const int64_t rows = static_cast<int64_t>(input(0).size());
    const int64_t first = args[1].is_null() ? 0 : std::min(args[1].as_int(), rows);
    const int64_t count =
        args[0].is_null() ? rows - first : std::min(args[0].as_int(), rows - first);
    return Rows(input(0).begin() + first, input(0).begin() + first + count);
  }

  absl::StatusOr<Rows> operator()(const UnionAll&) {
    Rows out;
    for (const Rows* rows : inputs_) out.insert(out.end(), rows->begin(), rows->end());
    return out;
  }

  absl::StatusOr<Rows> operator()(const Contraction& c) {
    std::vector<std::vector<size_t>> matches;
    ADJOIN_RETURN_IF_ERROR(MatchAll(c.on, c.mask, matches));
    std::vector<Row> left_factors, right_factors;
    ADJOIN_ASSIGN_OR_RETURN(left_factors, EvaluateAll({c.left_factor}, input(0), params_));
    ADJOIN_ASSIGN_OR_RETURN(right_factors, EvaluateAll({c.right_factor}, input(1), params_));
    struct Group {
      Accumulator sum;
      int64_t pairs = 0;
    };
    const TypeId type = c.left_factor->type, sum_type = node_.types[c.keys.size()];
    std::map<Row, size_t, RowLess> numbers;
    std::vector<Group> groups;
    Rows out;
    const auto group_of = [&](const Row& key) -> Group& {
      const auto [group, is_new] = numbers.try_emplace(key, groups.size());
      if (is_new) {
        groups.push_back({Accumulator(AggregateFunction::kSum, type, sum_type)});
        out.push_back(key);
      }
      return groups[group->second];
    };
    if (c.keys.empty()) group_of({});
    for (size_t l = 0; l < input(0).size(); ++l) {
      for (size_t r : matches[l]) {
        Row key;
        for (const ContractionKey& k : c.keys) {
          key.push_back(input(k.side)[k.side == 0 ? l : r][static_cast<size_t>(k.column)]);
        }
        Group& group = group_of(key);
        ++group.pairs;
        ADJOIN_ASSIGN_OR_RETURN(const Value product,
                                Product(type, left_factors[l][0], right_factors[r][0]));
        group.sum.Add(product);
      }
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      ADJOIN_ASSIGN_OR_RETURN(Value sum, groups[g].sum.Result());
      out[g].push_back(std::move(sum));
      if (c.count) out[g].push_back(Value::Int(groups[g].pairs));
    }
    return out;
  }

  absl::StatusOr<Rows> operator()(const RowId&) {
    Rows out = input(0);
    for (size_t r = 0; r < out.size(); ++r) out[r].push_back(Value::Int(static_cast<int64_t>(r)));
    return out;
  }

  absl::StatusOr<Rows> operator()(const Lookup& lookup) {
    std::vector<Row> left_keys, right_keys;
    ADJOIN_ASSIGN_OR_RETURN(left_keys, EvaluateAll(lookup.left_keys, input(0), params_));
    ADJOIN_ASSIGN_OR_RETURN(right_keys, EvaluateAll(lookup.right_keys, input(1), params_));
    std::map<Row, size_t, RowLess> rows;
    for (size_t r = 0; r < right_keys.size(); ++r) {
      if (!rows.try_emplace(right_keys[r], r).second) {
        return SqlError(sqlstate::kInternalError,
                        "the right side of a Lookup is not unique on its keys");
      }
    }
    const Row nulls(node_.inputs[1]->types.size());
    Rows out;
    for (size_t l = 0; l < left_keys.size(); ++l) {
      const auto match = rows.find(left_keys[l]);
      out.push_back(Concat(input(0)[l], match == rows.end() ? nulls : input(1)[match->second]));
    }
    return out;
  }

  absl::StatusOr<Rows> operator()(const Collect& collect) {
    std::vector<Row> values;
    ADJOIN_ASSIGN_OR_RETURN(values, EvaluateAll(collect.values, input(1), params_));
    std::map<Row, size_t, RowLess> rows;
    std::vector<std::vector<Accumulator>> sums;
    for (size_t l = 0; l < input(0).size(); ++l) {
      if (!rows.try_emplace({input(0)[l][static_cast<size_t>(collect.left_key)]}, l).second) {
        return SqlError(sqlstate::kInternalError, "the left key of a Collect is not unique");
      }
      std::vector<Accumulator>& of_row = sums.emplace_back();
      for (const ExprRef& v : collect.values)
        of_row.emplace_back(AggregateFunction::kSum, v->type, v->type);
    }
    for (size_t r = 0; r < input(1).size(); ++r) {
      const Value& key = input(1)[r][static_cast<size_t>(collect.right_key)];
      const auto row = rows.find({key});
      if (key.is_null() || row == rows.end()) continue;
      for (size_t v = 0; v < values[r].size(); ++v) sums[row->second][v].Add(values[r][v]);
    }
    Rows out = input(0);
    for (size_t l = 0; l < out.size(); ++l) ADJOIN_RETURN_IF_ERROR(AppendResults(sums[l], out[l]));
    return out;
  }

  absl::StatusOr<Rows> operator()(const Require& require) {
    const Rows& rows = input(0);
    bool holds = true;
    if (require.what == Require::What::kOneRow) holds = rows.size() == 1;
    if (require.what == Require::What::kAtMostOneRow) holds = rows.size() <= 1;
    if (require.what == Require::What::kUnique) {
      std::map<Row, size_t, RowLess> seen;
      for (const Row& row : rows) {
        Row key;
        for (int c : require.columns) key.push_back(row[static_cast<size_t>(c)]);
        holds = seen.try_emplace(key, 0).second && holds;
      }
    }
    if (!holds) return SqlError(require.sqlstate, require.message);
    return rows;
  }

  // The working table is run through the body until nothing comes out.
  absl::StatusOr<Rows> operator()(const Recursion& recursion) {
    std::set<Row, RowLess> seen;
    Rows out, working = input(0);
    while (true) {
      Rows fresh;
      for (Row& row : working) {
        if (!recursion.distinct || seen.insert(row).second) fresh.push_back(std::move(row));
      }
      if (fresh.empty()) return out;
      out.insert(out.end(), fresh.begin(), fresh.end());
      RecursionInputs inner = recursion_inputs_;
      inner[{recursion.id, 0}] = &fresh;
      for (size_t i = 1; i < inputs_.size(); ++i)
        inner[{recursion.id, static_cast<int>(i)}] = inputs_[i];
      ADJOIN_ASSIGN_OR_RETURN(std::vector<Rows> made,
                              InterpretWithin({recursion.body}, tables_, params_, inner));
      working = std::move(made[0]);
    }
  }

  absl::StatusOr<Rows> operator()(const RecursionInput& read) {
    return *recursion_inputs_.at({read.id, read.input});
  }

  absl::StatusOr<Rows> operator()(const SparseProduct&) {
    return SqlError(sqlstate::kInternalError, "plans are run as they were before programs");
  }
  absl::StatusOr<Rows> operator()(const SampledProduct&) {
    return SqlError(sqlstate::kInternalError, "plans are run as they were before programs");
  }
  absl::StatusOr<Rows> operator()(const Derivative&) {
    return SqlError(sqlstate::kInternalError,
                    "a Derivative must be resolved before it is interpreted");
  }

 private:
  const Rows& input(int i) const { return *inputs_[static_cast<size_t>(i)]; }

  std::vector<Accumulator> NewAccumulators(const GroupBy& group_by) const {
    std::vector<Accumulator> out;
    for (const Aggregate& a : group_by.aggregates) {
      out.emplace_back(a.function, a.arg == nullptr ? TypeId::kInt64 : a.arg->type, a.type,
                       a.distinct);
    }
    return out;
  }

  static absl::Status AppendResults(const std::vector<Accumulator>& accumulators, Row& row) {
    for (const Accumulator& a : accumulators) {
      ADJOIN_ASSIGN_OR_RETURN(Value value, a.Result());
      row.push_back(std::move(value));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Value> Product(TypeId type, const Value& a, const Value& b) {
    if (a.is_null() || b.is_null()) return Value();
    if (a.is_int()) return CheckedInt(static_cast<__int128>(a.as_int()) * b.as_int(), type);
    return RoundTo(type, Value::Float(a.as_float() * b.as_float()));
  }

  // For each left row, the right rows in order whose keys are equal and for which `condition`
  // holds.
  absl::Status MatchAll(const std::vector<JoinKey>& keys, const ExprRef& condition,
                        std::vector<std::vector<size_t>>& matches) {
    std::vector<ExprRef> left_exprs, right_exprs;
    for (const JoinKey& key : keys) {
      left_exprs.push_back(key.left);
      right_exprs.push_back(key.right);
    }
    std::vector<Row> left_keys, right_keys;
    ADJOIN_ASSIGN_OR_RETURN(left_keys, EvaluateAll(left_exprs, input(0), params_));
    ADJOIN_ASSIGN_OR_RETURN(right_keys, EvaluateAll(right_exprs, input(1), params_));
    const auto matchable = [&](const Row& values) {
      for (size_t k = 0; k < keys.size(); ++k) {
        if (values[k].is_null() && !keys[k].null_safe) return false;
      }
      return true;
    };
    Index index;
    for (size_t r = 0; r < right_keys.size(); ++r) {
      if (matchable(right_keys[r])) index[right_keys[r]].push_back(r);
    }
    Evaluator residual({condition}, &params_);
    matches.resize(left_keys.size());
    for (size_t l = 0; l < left_keys.size(); ++l) {
      if (!matchable(left_keys[l])) continue;
      const auto candidates = index.find(left_keys[l]);
      if (candidates == index.end()) continue;
      for (size_t r : candidates->second) {
        residual.SetRow(&input(0)[l], &input(1)[r]);
        ADJOIN_ASSIGN_OR_RETURN(const bool match, residual.IsTrue(0));
        if (match) matches[l].push_back(r);
      }
    }
    return absl::OkStatus();
  }

  // left.key NOT IN (right.key of the rows that the other keys and the residual leave).
  absl::StatusOr<Rows> NullAwareAnti(const Join& join) {
    std::vector<std::vector<size_t>> matches;
    const std::vector<JoinKey> others(join.keys.begin() + 1, join.keys.end());
    ADJOIN_RETURN_IF_ERROR(MatchAll(others, join.residual, matches));
    std::vector<Row> left_keys, right_keys;
    ADJOIN_ASSIGN_OR_RETURN(left_keys, EvaluateAll({join.keys[0].left}, input(0), params_));
    ADJOIN_ASSIGN_OR_RETURN(right_keys, EvaluateAll({join.keys[0].right}, input(1), params_));
    Rows out;
    for (size_t l = 0; l < input(0).size(); ++l) {
      const Value& a = left_keys[l][0];
      const bool dropped = std::any_of(matches[l].begin(), matches[l].end(), [&](size_t r) {
        const Value& b = right_keys[r][0];
        return a.is_null() || b.is_null() || CompareValues(a, b) == 0;
      });
      if (!dropped) out.push_back(input(0)[l]);
    }
    return out;
  }

  const Node& node_;
  std::vector<const Rows*> inputs_;
  const std::map<uint64_t, TableRef>& tables_;
  const std::vector<Value>& params_;
  const RecursionInputs& recursion_inputs_;
};

absl::StatusOr<std::vector<Rows>> InterpretWithin(const std::vector<NodeRef>& roots,
                                                  const std::map<uint64_t, TableRef>& tables,
                                                  const std::vector<Value>& params,
                                                  const RecursionInputs& recursion_inputs) {
  const std::vector<NodeRef> order = TopologicalOrder(roots);
  absl::flat_hash_map<const Node*, int> readers;
  for (const NodeRef& root : roots) ++readers[root.get()];
  for (const NodeRef& node : order) {
    for (const NodeRef& input : node->inputs) ++readers[input.get()];
  }
  std::map<const Node*, Rows> results;
  for (const NodeRef& node : order) {
    std::vector<const Rows*> inputs;
    for (const NodeRef& input : node->inputs) inputs.push_back(&results.at(input.get()));
    ADJOIN_ASSIGN_OR_RETURN(
        Rows rows,
        std::visit(NodeEvaluator(*node, inputs, tables, params, recursion_inputs), node->op));
    results[node.get()] = std::move(rows);
    for (const NodeRef& input : node->inputs) {
      if (--readers[input.get()] == 0) results.erase(input.get());
    }
  }
  std::vector<Rows> out;
  for (const NodeRef& root : roots) out.push_back(results.at(root.get()));
  return out;
}

}  // namespace

bool RowLess::operator()(const Row& a, const Row& b) const {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].is_null() || b[i].is_null()) {
      if (a[i].is_null() != b[i].is_null()) return b[i].is_null();
      continue;
    }
    const int order = CompareValues(a[i], b[i]);
    if (order != 0) return order < 0;
  }
  return a.size() < b.size();
}

Rows RowsOf(const Table& table) {
  Rows rows(static_cast<size_t>(table.num_rows()));
  for (int64_t r = 0; r < table.num_rows(); ++r) {
    for (int c = 0; c < table.num_columns(); ++c)
      rows[static_cast<size_t>(r)].push_back(table.value(r, c));
  }
  return rows;
}

absl::StatusOr<TableRef> TableOf(const Schema& schema, const Rows& rows, const std::string& name) {
  const auto budget = std::make_shared<MemoryBudget>();
  std::vector<ColumnRef> columns;
  for (size_t c = 0; c < schema.fields.size(); ++c) {
    ColumnBuilder builder(schema.fields[c].type, budget);
    for (const Row& row : rows) ADJOIN_RETURN_IF_ERROR(builder.Append(row[c]));
    ADJOIN_ASSIGN_OR_RETURN(ColumnRef column, builder.Finish());
    columns.push_back(std::move(column));
  }
  return Table::Make(schema, std::move(columns), static_cast<int64_t>(rows.size()), budget, name);
}

absl::StatusOr<std::vector<Rows>> InterpretAll(const std::vector<NodeRef>& roots,
                                               const std::map<uint64_t, TableRef>& tables,
                                               const std::vector<Value>& params) {
  return InterpretWithin(roots, tables, params, {});
}

absl::StatusOr<Rows> Interpret(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                               const std::vector<Value>& params) {
  ADJOIN_ASSIGN_OR_RETURN(std::vector<Rows> all, InterpretAll({root}, tables, params));
  return std::move(all[0]);
}

}  // namespace adjoin::reference
