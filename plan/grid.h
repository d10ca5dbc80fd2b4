// Relations in the Grid layout: a domain of axes, and columns as arrays over some of them.
//
// Lowering a logical operator onto grids writes nothing: joins unify axes, columns that do not vary
// along an axis stay without it, and only reductions, products, gathers and maps become arrays.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/array.h"
#include "plan/guard.h"
#include "plan/node.h"
#include "plan/program.h"

namespace adjoin {

// An array over axes of a relation: array axis k is the relation's axis axes[k].
struct AxisArray {
  int id = -1;  // -1: none
  std::vector<int> axes;
  bool none() const { return id < 0; }
};

inline bool HasAxis(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

struct GridColumn {
  enum class Kind : uint8_t {
    kNone,
    kCoordinate,
    kArray,
    kRowId
  } kind = Kind::kNone;  // kNone: not on grids (text)
  TypeId type = TypeId::kInt64;
  int axis = -1;  // kCoordinate: origin + index along it
  int64_t origin = 0;
  AxisArray value;  // kArray
  AxisArray valid;  // none: no NULLs
  // kRowId: the row of another relation, by its axes: at `origin` + index along `axis` here, or at
  // `value` - origin (absolute coordinates less the relation's own origin).
  struct Part {
    int axis = -1;
    AxisArray index;     // where axis is -1
    int64_t origin = 0;  // axis: position = index + origin; index: position = value - origin
    int64_t extent = 0;
  };
  std::vector<Part> parts;
  // Of a table's rows, or of the distinct values of its TEXT dim: what index i along `axis` is for
  // is value i of `values`. TEXT has no other form. The columns `identify` together tell the
  // indices apart; none of them: not even all.
  struct Key {
    int axis = -1;
    ColumnValues values;
    std::vector<int> identify;
  };
  std::optional<Key> key;
};

// Rows in row-major order of the axes, those where `mask` is true. Cells outside the mask hold
// anything.
struct GridRelation {
  std::vector<int64_t> extents;
  AxisArray mask;  // none: every coordinate has its row
  std::vector<GridColumn> columns;
};

// What is lowered besides grid tables.
struct GridSources {
  bool keyed_tables = false;  // that are no grids, by axes that have keys instead of coordinates
  bool series = false;
};

// Whether the roots do nothing but compute rows of boxes, so that series among them may be axes.
// Other statements stream them: they may need few of a series' rows.
bool MakesBoxes(const std::vector<NodeRef>& roots);

class GridLowering {
 public:
  GridLowering(ArrayGraph& graph, const TablesById& tables, GridSources sources,
               std::shared_ptr<MemoryBudget> budget, ColumnCache* cache)
      : graph_(graph),
        tables_(tables),
        sources_(sources),
        budget_(std::move(budget)),
        cache_(cache) {}

  // The relation, or null where the operator or its inputs need the Rows layout. REQUIRES: inputs
  // were lowered before.
  const GridRelation* Lower(const NodeRef& node);
  const GridRelation* Find(const NodeRef& node) const;
  bool has_keyed_tables() const { return has_keyed_tables_; }
  bool has_series() const { return has_series_; }
  // Whether all of these are grids with a row at every coordinate.
  bool HasBoxes(const std::vector<NodeRef>& roots) const;
  const std::vector<Guard>& guards() const { return guards_; }
  const std::vector<GuardState>& guard_states() const { return guard_states_; }
  int contractions() const { return contractions_; }
  // The guard's number, the same for an equal one; -1 where it does not hold.
  int AddGuard(Guard guard);

  // The column as an array, whatever its kind; none for kNone.
  AxisArray ToArray(const GridRelation& r, const GridColumn& column);

 private:
  friend struct GridLowerer;
  struct Typed {  // an expression's value over a relation
    AxisArray value, valid;
  };
  using Maybe = std::optional<GridRelation>;

  // grid_expression.cc
  std::optional<Typed> Translate(const GridRelation& r, const ExprRef& expr);
  std::optional<Typed> TranslateCall(const GridRelation& r, const Expr& e);
  std::optional<Typed> TranslateSelecting(const GridRelation& r, const Expr& e);
  AxisArray Map(const GridRelation& r, ScalarOp op, TypeId type,
                const std::vector<AxisArray>& args);
  AxisArray Cast(const GridRelation& r, const AxisArray& a, TypeId type);
  AxisArray And(const GridRelation& r, const AxisArray& a, const AxisArray& b);  // none is TRUE
  AxisArray Or(const GridRelation& r, const AxisArray& a, const AxisArray& b);
  AxisArray Not(const GridRelation& r, const AxisArray& a);
  AxisArray Select(const GridRelation& r, const AxisArray& condition, const AxisArray& a,
                   const AxisArray& b);
  AxisArray Constant(Value v, TypeId type) { return {graph_.Constant(std::move(v), type), {}}; }
  AxisArray True() { return Constant(Value::Bool(true), TypeId::kBool); }
  // Drops a mask that is true everywhere.
  AxisArray Simplify(const AxisArray& mask);
  TypeId TypeOf(const AxisArray& a) const { return graph_.node(a.id).type; }

  // grid_integers.cc
  // Of an integer array's values; that of its type where unknown.
  IntegerRange RangeOfArray(int id);
  IntegerRange FindRange(int id);
  // Whether an operation, or a cast, that may raise an error does not on these arguments.
  bool StaysInRange(ScalarOp op, TypeId type, const std::vector<AxisArray>& args);
  bool CastStaysInRange(TypeId type, const AxisArray& arg);

  // grid_join.cc
  struct Placement;  // where the right relation's axes went
  std::optional<Placement> Unify(GridRelation& left, const GridRelation& right,
                                 const std::vector<std::pair<int, int>>& keys, bool keep_left_rows);
  AxisArray Place(const GridRelation& joined, const Placement& p, const GridRelation& right,
                  const AxisArray& a);
  GridColumn PlaceColumn(const GridRelation& joined, const Placement& p, const GridRelation& right,
                         const GridColumn& c);
  Maybe LowerJoin(const Node& n, const Join& j);
  Maybe LowerLookup(const Node& n, const Lookup& l);
  Maybe LowerContraction(const Node& n, const Contraction& c);
  std::optional<GridRelation> JoinRelations(const GridRelation& left, const GridRelation& right,
                                            const std::vector<JoinKey>& keys, bool keep_left_rows,
                                            Placement* placement = nullptr);
  std::optional<AxisArray> PositionsAlong(const GridColumn::Key& keys,
                                          const GridColumn::Key& labels);
  static void RenameAxes(GridColumn& column, const std::vector<int>& to);
  static void PermuteAxes(GridRelation& r, const std::vector<int>& order);

  // grid_scatter.cc
  struct ScatterTarget {  // where an output axis comes from
    int axis = -1;
    AxisArray index;  // where axis is -1, less `origin`
    int64_t origin = 0;
  };
  struct KeyDomain {
    AxisArray index;
    int64_t origin = 0, extent = 0;
    GridColumn column;  // the key along the new axis, which has the number of the old
  };
  AxisArray ScatterTo(const GridRelation& r, const AxisArray& v,
                      const std::vector<ScatterTarget>& targets,
                      const std::vector<int64_t>& extents);
  std::optional<KeyDomain> DomainOf(const GridColumn& column);
  bool IsCovered(const GridColumn::Key& key, const KeyDomain& domain);
  Maybe ScatterGroups(const GridRelation& g, size_t at);
  Maybe LowerCollect(const Node& n, const Collect& c);

  // grid_aggregate.cc
  AxisArray Reduce(const GridRelation& r, ReduceOp op, const AxisArray& a,
                   const std::vector<int>& kept);
  AxisArray Count(const GridRelation& r, const AxisArray& ok, const std::vector<int>& kept);
  std::optional<Typed> ReduceAggregate(const GridRelation& r, const Aggregate& aggregate,
                                       const std::vector<int>& kept, bool grouped);
  Maybe LowerGroupBy(const Node& n, const GroupBy& g);
  Maybe LowerWindow(const Node& n, const Window& w);
  // The axes whose indices the columns tell apart, in the columns' order.
  static std::vector<int> NamedAxes(const GridRelation& r, const std::vector<int>& columns);
  // Gives `out` the kept axes of `r`; returns where each axis of `r` went (-1: nowhere).
  static std::vector<int> KeepAxes(const GridRelation& r, std::vector<int> kept, GridRelation& out);
  // The axes to keep for these keys. `scattered`: the key, if any, that does not tell the rows of
  // its axis apart, so that groups by every row are to be added up by ScatterGroups.
  struct GroupAxes {
    std::vector<int> kept;
    std::optional<size_t> scattered;
  };
  std::optional<GroupAxes> FindGroupAxes(const GridRelation& r, const std::vector<ExprRef>& keys);
  std::optional<std::vector<int>> KeyAxes(const GridRelation& r, const std::vector<ExprRef>& keys);

  // grid_scan.cc
  Maybe LowerScan(const Node& n, const Scan& s);
  Maybe ScanKeyed(uint64_t id, const Table& table);
  static void KeyByColumns(uint64_t id, const Table& table, GridRelation& r);
  GridRelation ScanColumns(uint64_t id, const Table& table, std::vector<int64_t> extents);
  GridRelation ScanRows(uint64_t id, const Table& table);
  std::optional<GridRelation> ScanBox(uint64_t id, const Table& table);
  AxisArray ComputedInput(int guard, TypeId type, std::vector<int64_t> shape,
                          std::vector<int> axes);

  // grid_series.cc
  Maybe LowerSeries(const Node& n, const Series& s);
  Maybe LowerCountedValues(const Node& n, const Values& v);
  Maybe MakeAxis(TypeId type, int64_t first, int64_t last);

  // grid.cc
  std::optional<GridColumn> CastCoordinate(const GridRelation& r, const ExprRef& e);
  Maybe LowerValues(const Node& n, const Values& v);
  Maybe LowerProject(const Node& n, const Project& p);
  Maybe LowerFilter(const Node& n, const Filter& f);
  const GridRelation& in(const Node& n, size_t i) const { return *Find(n.inputs[i]); }

  // Where a scattered array is 0 whatever was scattered: outside of a mask, whose axes are these of
  // its own.
  struct ZeroOutside {
    int mask;
    std::vector<int> axes;
  };

  ArrayGraph& graph_;
  const TablesById& tables_;
  const GridSources sources_;
  const std::shared_ptr<MemoryBudget> budget_;
  ColumnCache* const cache_;
  bool has_keyed_tables_ = false, has_series_ = false;
  absl::flat_hash_map<int, ZeroOutside> zero_outside_;  // by array
  absl::flat_hash_map<const Node*, std::optional<GridRelation>> relations_;
  absl::flat_hash_map<int, IntegerRange> ranges_;  // by array
  std::vector<Guard> guards_;
  std::vector<GuardState> guard_states_;
  int contractions_ = 0;
};

}  // namespace adjoin
