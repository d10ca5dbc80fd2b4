// Logical plans: one hash-consed DAG of relational operators over columns by position.
//
// Every operator keeps its input's row order unless it says otherwise, so a relation's rows have
// positions. Derivatives rest on that: RowId makes the position a column, Collect sums by it,
// Lookup fetches by a unique key.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/table.h"
#include "ops/functions.h"
#include "plan/expr.h"

namespace adjoin {

struct Node;
using NodeRef = std::shared_ptr<const Node>;

// Rows of a base table at the statement's snapshot. Output: every column of the table, in order.
struct Scan {
  std::string table;
  uint64_t table_id = 0;  // the catalog's; a dropped and recreated table is another
  Schema schema;
};
// Literal rows (VALUES, SELECT without FROM has one row of no columns).
struct Values {
  std::vector<std::vector<ExprRef>> rows;  // constants or parameters (no columns)
  std::vector<TypeId> types;
};
// generate_series(start, stop, step): one column; arguments are column-free. BIGINT or INTEGER.
struct Series {
  ExprRef start, stop, step;
};
struct Filter {
  ExprRef predicate;  // kept where TRUE
};
struct Project {
  std::vector<ExprRef> exprs;
};
enum class JoinKind : uint8_t {
  kInner,
  kLeft,
  kFull,  // output: left columns, then right columns (NULLs where unmatched)
  kSemi,
  kAnti,           // output: left columns
  kNullAwareAnti,  // NOT IN: no row where a comparison is NULL; one key, first in `keys`
  kSingle,         // scalar subquery: as kLeft; error 21000 where a left row matches two
};
struct JoinKey {
  ExprRef left, right;     // over the left's, the right's own columns; equal types
  bool null_safe = false;  // IS NOT DISTINCT FROM
};
// Output order: left row order, matches of one left row in right row order (kFull: unmatched right
// rows last).
struct Join {
  JoinKind kind = JoinKind::kInner;
  std::vector<JoinKey> keys;  // none: cross
  ExprRef residual;           // over left columns then right columns; null: TRUE
};
using AggregateFunction = AggregateKind;
struct Aggregate {
  AggregateFunction function;
  ExprRef arg;     // null for kCountStar
  ExprRef filter;  // null: every row
  bool distinct = false;
  TypeId type;               // result
  ExprRef second = nullptr;  // of kComoment, kStringAgg and percentiles
};
// Output: keys, then aggregates; groups in first-seen order. No keys: one row, also over no rows.
struct GroupBy {
  std::vector<ExprRef> keys;
  std::vector<Aggregate> aggregates;
};
struct SortKey {
  ExprRef expr;
  bool descending = false;
  bool nulls_first = false;
};
using WindowFunction = WindowKind;
using FrameMode = WindowFrameMode;
using FrameBound = WindowFrameBound;
using FrameExclusion = WindowFrameExclusion;
// Offsets have the same value in every row: they read no columns but those of scalar subqueries.
// BIGINT, or for distances along the one ORDER BY key as WindowFrameSpec has them; null: none.
struct Frame : WindowFrameShape {
  ExprRef start_offset, end_offset;
};
struct WindowCall {
  WindowFunction function;
  // lag/lead: value, offset, default (default may be absent: NULL). kNtile and kNthValue end with a
  // positive number.
  std::vector<ExprRef> args;
  ExprRef filter;
  TypeId type;
};
// Output: input's columns, then one a call; input's rows in input's order. Ties are ordered by row
// position.
struct Window {
  std::vector<ExprRef> partition;
  std::vector<SortKey> order;
  Frame frame;
  std::vector<WindowCall> calls;
};
bool IsWholePartition(const Window& w);  // every row's frame is its whole partition
struct Sort {
  std::vector<SortKey> keys;  // stable
};
struct Limit {
  ExprRef limit, offset;  // column-free; null: none
};
struct UnionAll {};  // inputs have equal types
// out(keys) = SUM(left * right): a product over matching pairs, recognised from Join + GroupBy.
// Never writes the pairs. Output: keys, then the sum (NULL where every product is NULL), then
// COUNT(*) of pairs where `count`. Groups in first-seen order of pairs (left row order, then
// right). No keys: one row.
struct ContractionKey {
  int side;  // 0 left, 1 right
  int column;
};
struct Contraction {
  std::vector<JoinKey> on;
  ExprRef
      mask;  // over left columns then right columns, reading only `on` columns and keys; null: none
  std::vector<ContractionKey> keys;
  ExprRef left_factor;   // over left columns
  ExprRef right_factor;  // over right columns; same type
  bool count = false;
};
// Sums of products over the pairs of an inner join, by group, as the products of sparse matrices
// that they are: made when the program is, of a GroupBy or a Contraction
// (rules/sparse_products.cc). Output: keys, then the sums (NULL where every product is NULL).
// Groups in first-seen order of the left's keys, then of the right's; sums in the order of pairs.
struct SparseProduct {
  std::vector<JoinKey> on;
  std::vector<ContractionKey> keys;                  // of the left at least one
  std::vector<ExprRef> left_factors, right_factors;  // of one type: REAL or DOUBLE PRECISION
  struct Sum {
    int left = -1, right = -1;  // factors; -1: 1. Without either: COUNT(*)
  };
  std::vector<Sum> sums;
};
// Sums of products of rows of inputs 1 and 2, where those meet, at the positions that rows of input
// 0, the sample, name: made when the program is, of a Contraction of a join
// (rules/sampled_products.cc). Output: keys, then the sum (NULL where every product is NULL).
// Groups in first-seen order of the sample's rows that have a pair.
struct SampledProduct {
  std::vector<int> keys;                   // the sample's columns
  std::vector<JoinKey> on_left, on_right;  // of the sample with input 1, with input 2
  std::vector<JoinKey> between;            // of input 1 with input 2
  ExprRef factor;                          // over the sample; null: 1
  ExprRef left_factor, right_factor;       // over inputs 1 and 2; all REAL or DOUBLE PRECISION
};
// Input's columns, then BIGINT "row id": distinct for each row, ascending.
struct RowId {};
// For each left row the right row with equal keys (NULL-safe), NULLs where none. REQUIRES: right
// unique on its keys. Output: left columns, then right columns; left's rows in order.
struct Lookup {
  std::vector<ExprRef> left_keys, right_keys;
};
// For each left row the sums over right rows whose `right_key` equals its `left_key` (a row id,
// unique on the left). NULL values add nothing; NULL where nothing was added. Output: left columns,
// then one sum a value (type of value).
struct Collect {
  int left_key;
  int right_key;
  std::vector<ExprRef> values;  // over right's columns
};
// Input's rows; an error of `sqlstate` with `message` where the input breaks the promise.
// `columns`: rows distinct on these; no columns: exactly one row, or (at_most) at most one.
struct Require {
  enum class What : uint8_t { kUnique, kOneRow, kAtMostOneRow } what;
  std::vector<int> columns;
  std::string sqlstate, message;
};
// The derivative of input 0 (one row and column unless a cotangent is given) by float columns of
// input 1, which must be a node that input 0 reads. Input 2, where given: the cotangent, rows
// matched to input 0 by its leading columns. Output: input 1's columns, then one gradient a column.
// ad::ResolveDerivatives replaces it before optimisation.
struct Derivative {
  std::vector<int> columns;
  std::vector<int> positions;  // of each column in the SQL text, for errors; not part of identity
};

// WITH RECURSIVE: the rows of input 0, then those that `body` makes of them, then what it makes of
// those, until it makes none. `distinct`: of rows that were there before it makes nothing. The body
// is no input: it reads this node's inputs as RecursionInputs and no other relation, so that every
// pass over a plan sees what a recursion depends on.
struct Recursion {
  int id;  // of the statement's recursions
  NodeRef body;
  bool distinct = false;
};
// In the body of recursion `id`: input 0 is its working table, what the body is run on; others are
// the inputs of that number.
struct RecursionInput {
  int id;
  int input;
  std::vector<TypeId> types;
};

using Operator = std::variant<Scan, Values, Series, Filter, Project, Join, GroupBy, Window, Sort,
                              Limit, UnionAll, Contraction, SparseProduct, SampledProduct, RowId,
                              Lookup, Collect, Require, Derivative, Recursion, RecursionInput>;

struct Node {
  Operator op;
  std::vector<NodeRef> inputs;
  std::vector<TypeId> types;       // of the output columns
  std::vector<std::string> names;  // for people; not part of identity
  uint64_t hash = 0;
  int id = 0;  // order of making within its Planner
  int width() const { return static_cast<int>(types.size()); }
};

// Makes nodes: equal ones (operator, expressions, inputs) are one pointer. Not thread-safe; one a
// statement.
class Planner {
 public:
  Planner();
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  // `names` labels the output; missing ones are derived from the inputs. REQUIRES: expressions fit
  // the inputs.
  NodeRef Make(Operator op, std::vector<NodeRef> inputs, std::vector<std::string> names = {});
  // Nodes made from now on have ids from `id` on: those of a plan that another planner began.
  void NumberFrom(int id);

 private:
  struct Interned;
  std::unique_ptr<Interned> interned_;
};

// One line a node, children indented, a node read again as "^id": what EXPLAIN prints and plan
// tests compare.
std::string ToString(const NodeRef& root);
// The same of several plans that share nodes; `headings` (may be shorter) stand before them.
// `note`, where it is set, is what a node's line ends in.
std::string ToString(const std::vector<NodeRef>& roots, const std::vector<std::string>& headings,
                     const std::function<std::string(const Node&)>& note = nullptr);
std::string DescribeOperator(const Node& node);  // the line of one node, without its id
// The nodes below the roots, inputs before readers, each once. Iterative: plans may be very deep.
std::vector<NodeRef> TopologicalOrder(const std::vector<NodeRef>& roots);

// By node: what stands in its place.
using Replacements = absl::flat_hash_map<const Node*, NodeRef>;
// The node over what stands in its inputs' places: itself where that is the inputs. REQUIRES: every
// input has something.
NodeRef OverReplacements(const NodeRef& node, const Replacements& replacements, Planner& planner);

// What a statement does with its plans. All read one snapshot; all effects are applied together at
// the end, or none.
struct ResultSink {};  // the statement's rows
struct InsertSink {
  uint64_t table_id;
  std::string table;
};                   // plan gives every column in table order
struct UpdateSink {  // plan gives row id of the Scan, then new values of `columns`
  uint64_t table_id;
  std::string table;
  std::vector<int> columns;
};
struct DeleteSink {
  uint64_t table_id;
  std::string table;
};  // plan gives row ids
using Sink = std::variant<ResultSink, InsertSink, UpdateSink, DeleteSink>;
// Moments that a run knows: when its transaction, its statement and the run itself began.
enum class ClockTime : uint8_t { kTransaction, kStatement, kRun };
inline constexpr int kClockTimes = 3;

struct Statement {
  struct Output {
    Sink sink;
    NodeRef plan;
  };
  std::vector<Output> outputs;  // result first where there is one
  std::vector<TypeId> parameters;
  // Where given: the parameters from this number on are the moments of ClockTime, as TIMESTAMPs in
  // UTC. They are of the run, so that no plan holds them.
  std::optional<int> first_clock;
  std::vector<std::string> result_names;
};

}  // namespace adjoin
