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
};

// Rows in row-major order of the axes, those where `mask` is true. Cells outside the mask hold
// anything.
struct GridRelation {
  std::vector<int64_t> extents;
  AxisArray mask;  // none: every coordinate has its row
  std::vector<GridColumn> columns;
};

// What a program assumes of an input table; checked whenever another table takes its place.
struct Guard {
  enum class Kind : uint8_t { kGrid, kOneRow, kNoNulls, kInRange } kind;
  uint64_t table_id = 0;
  int column = -1;
  GridShape shape;            // kGrid
  int64_t low = 0, high = 0;  // kInRange: every value in [low, high), none NULL
};
bool Holds(const Guard& guard, const Table& table);

class GridLowering {
 public:
  GridLowering(ArrayGraph& graph, const absl::flat_hash_map<uint64_t, TableRef>& tables)
      : graph_(graph), tables_(tables) {}

  // The relation, or null where the operator or its inputs need the Rows layout. REQUIRES: inputs
  // were lowered before.
  const GridRelation* Lower(const NodeRef& node);
  const GridRelation* Find(const NodeRef& node) const;
  const std::vector<Guard>& guards() const { return guards_; }
  int contractions() const { return contractions_; }

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
  Maybe LowerCollect(const Node& n, const Collect& c);
  Maybe LowerContraction(const Node& n, const Contraction& c);
  std::optional<GridRelation> JoinRelations(const GridRelation& left, const GridRelation& right,
                                            const std::vector<JoinKey>& keys, bool keep_left_rows,
                                            Placement* placement = nullptr);
  static void PermuteAxes(GridRelation& r, const std::vector<int>& order);

  // grid_aggregate.cc
  AxisArray Reduce(const GridRelation& r, ReduceOp op, const AxisArray& a,
                   const std::vector<int>& kept);
  AxisArray Count(const GridRelation& r, const AxisArray& ok, const std::vector<int>& kept);
  std::optional<Typed> ReduceAggregate(const GridRelation& r, const Aggregate& aggregate,
                                       const std::vector<int>& kept, bool grouped);
  Maybe LowerGroupBy(const Node& n, const GroupBy& g);
  Maybe LowerWindow(const Node& n, const Window& w);
  // Gives `out` the kept axes of `r`; returns where each axis of `r` went (-1: nowhere).
  static std::vector<int> KeepAxes(const GridRelation& r, std::vector<int> kept, GridRelation& out);
  std::optional<std::vector<int>> KeyAxes(const GridRelation& r, const std::vector<ExprRef>& keys);

  // grid.cc
  Maybe LowerScan(const Node& n, const Scan& s);
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
  const absl::flat_hash_map<uint64_t, TableRef>& tables_;
  absl::flat_hash_map<int, ZeroOutside> zero_outside_;  // by array
  absl::flat_hash_map<const Node*, std::optional<GridRelation>> relations_;
  std::vector<Guard> guards_;
  int contractions_ = 0;
};

}  // namespace adjoin
