// Which arrays share a region, on small graphs by hand; and random graphs, compiled and run,
// against their cells computed one by one. Their values are small integers, so that sums are exact
// in any order.
#include "plan/array_regions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "ops/vector.h"
#include "plan/array_epilogues.h"
#include "plan/array_steps.h"

namespace adjoin {
namespace {

using Extents = std::vector<int64_t>;
using Axes = std::vector<int>;

size_t Index(int i) { return static_cast<size_t>(i); }

// ---- Graphs by hand.

class Graph {
 public:
  int Input(Extents shape, TypeId type = TypeId::kFloat64) {
    ArrayNode n;
    n.op = ArrayOp::kInput;
    n.type = type;
    n.shape = std::move(shape);
    n.table_id = 1;
    n.column = inputs_++;
    return Add(n, false);
  }
  int Map(Extents shape, std::vector<ArrayOperand> operands, ScalarOp op = ScalarOp::kAdd,
          bool stored = true) {
    ArrayNode n;
    n.op = ArrayOp::kMap;
    n.shape = std::move(shape);
    n.operands = std::move(operands);
    n.scalar = op;
    return Add(n, stored);
  }
  int Reduce(Extents space, size_t kept, ArrayOperand operand, ReduceOp op = ReduceOp::kSum) {
    ArrayNode n;
    n.op = ArrayOp::kReduce;
    n.shape.assign(space.begin(), space.begin() + static_cast<ptrdiff_t>(kept));
    n.space = std::move(space);
    n.operands = {std::move(operand)};
    n.reduce = op;
    return Add(n, true);
  }
  int Contract(Extents space, size_t kept, ArrayOperand a, ArrayOperand b) {
    ArrayNode n;
    n.op = ArrayOp::kContract;
    n.shape.assign(space.begin(), space.begin() + static_cast<ptrdiff_t>(kept));
    n.space = std::move(space);
    n.operands = {std::move(a), std::move(b)};
    return Add(n, true);
  }
  int Slice(Extents shape, Extents origins, int array) {
    ArrayNode n;
    n.op = ArrayOp::kSlice;
    n.shape = std::move(shape);
    n.origins = std::move(origins);
    Axes all(n.shape.size());
    std::iota(all.begin(), all.end(), 0);
    n.operands = {{array, all}};
    return Add(n, false);
  }
  ArrayPlan Form(bool merge = true) const { return FormRegions(graph_, stored_, merge); }
  ArrayProgram Compile(const std::vector<int>& roots) const {
    return CompileArrays(graph_, roots, 0, {}, 0);
  }
  const ArrayGraph& graph() const { return graph_; }

 private:
  int Add(ArrayNode n, bool stored) {
    const int id = graph_.Add(std::move(n));
    EXPECT_EQ(id, static_cast<int>(stored_.size()));
    stored_.push_back(stored);
    return id;
  }
  ArrayGraph graph_;
  std::vector<bool> stored_;
  int inputs_ = 0;
};

// The region of an array; -1: none.
int RegionOf(const ArrayPlan& plan, int array) {
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const auto& members = plan.regions[r].members;
    if (std::find(members.begin(), members.end(), array) != members.end())
      return static_cast<int>(r);
  }
  return -1;
}

// That each unit runs after those that store what it reads.
void ExpectRuns(const Graph& g, const ArrayPlan& plan, int arrays) {
  std::vector<int> at(Index(arrays), -1);
  for (size_t u = 0; u < plan.units.size(); ++u) {
    const ArrayUnit& unit = plan.units[u];
    if (unit.region < 0) at[Index(unit.array)] = static_cast<int>(u);
    if (unit.region < 0) continue;
    for (int member : plan.regions[Index(unit.region)].members)
      at[Index(member)] = static_cast<int>(u);
  }
  for (int id = 0; id < arrays; ++id) {
    for (const ArrayOperand& o : g.graph().node(id).operands) {
      int from = o.array;
      while (g.graph().node(from).op == ArrayOp::kSlice)
        from = g.graph().node(from).operands[0].array;
      if (at[Index(id)] >= 0) {
        EXPECT_LE(at[Index(from)], at[Index(id)]) << from << " before " << id;
      }
    }
  }
}

// e = exp(x - max), e / sum, over the last axis.
struct Softmax {
  Graph g;
  int x, most, e, sum, out;
  Softmax() {
    x = g.Input({6, 5});
    most = g.Reduce({6, 5}, 1, {x, {0, 1}}, ReduceOp::kMax);
    const int shifted = g.Map({6, 5}, {{x, {0, 1}}, {most, {0}}}, ScalarOp::kSubtract, false);
    e = g.Map({6, 5}, {{shifted, {0, 1}}}, ScalarOp::kExp);
    sum = g.Reduce({6, 5}, 1, {e, {0, 1}});
    out = g.Map({6, 5}, {{e, {0, 1}}, {sum, {0}}}, ScalarOp::kDivide);
  }
};

TEST(FormRegionsTest, SoftmaxIsOneRegion) {
  Softmax s;
  const ArrayPlan plan = s.g.Form();
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].members, (std::vector<int>{s.most, s.e, s.sum, s.out}));
  EXPECT_TRUE(plan.regions[0].has_rows);
  EXPECT_EQ(plan.regions[0].in_row, (std::vector<bool>{false, true}));
  EXPECT_EQ(plan.units.size(), 1u);
  // Only the quotient is read, so it alone is written.
  const ArrayProgram program = s.g.Compile({s.out});
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_TRUE(program.views.contains(s.out));
  for (int id : {s.most, s.e, s.sum}) EXPECT_FALSE(program.views.contains(id)) << id;
  EXPECT_EQ(program.bytes_between_steps, 6 * 5 * 8 + 16);  // whole lines of 64 bytes
  // What else is read is written too.
  EXPECT_TRUE(s.g.Compile({s.out, s.sum}).views.contains(s.sum));
}

TEST(FormRegionsTest, WithoutMergingEachArrayIsAStep) {
  Softmax s;
  const ArrayPlan plan = s.g.Form(false);
  EXPECT_EQ(plan.units.size(), 4u);
  for (const ArrayRegion& region : plan.regions) EXPECT_EQ(region.members.size(), 1u);
  ExpectRuns(s.g, plan, s.out + 1);
}

TEST(FormRegionsTest, LayerNormIsOneRegion) {
  Graph g;
  const int x = g.Input({4, 3, 7}), gain = g.Input({7});
  const int mean = g.Reduce({4, 3, 7}, 2, {x, {0, 1, 2}});
  const int centred = g.Map({4, 3, 7}, {{x, {0, 1, 2}}, {mean, {0, 1}}}, ScalarOp::kSubtract);
  const int square =
      g.Map({4, 3, 7}, {{centred, {0, 1, 2}}, {centred, {0, 1, 2}}}, ScalarOp::kMultiply, false);
  const int variance = g.Reduce({4, 3, 7}, 2, {square, {0, 1, 2}});
  const int deviation = g.Map({4, 3}, {{variance, {0, 1}}}, ScalarOp::kSqrt);
  const int scaled =
      g.Map({4, 3, 7}, {{centred, {0, 1, 2}}, {deviation, {0, 1}}}, ScalarOp::kDivide);
  const int out = g.Map({4, 3, 7}, {{scaled, {0, 1, 2}}, {gain, {2}}}, ScalarOp::kMultiply);
  const ArrayPlan plan = g.Form();
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].members,
            (std::vector<int>{mean, centred, variance, deviation, scaled, out}));
  EXPECT_EQ(plan.regions[0].in_row, (std::vector<bool>{false, false, true}));
}

// Its cells lie apart.
TEST(FormRegionsTest, AReductionOverTheFirstAxisIsNoRegion) {
  Graph g;
  const int x = g.Input({6, 5});
  const int sum = g.Reduce({5, 6}, 1, {x, {1, 0}});
  const int out = g.Map({6, 5}, {{x, {0, 1}}, {sum, {1}}});
  const ArrayPlan plan = g.Form();
  EXPECT_EQ(RegionOf(plan, sum), -1);
  EXPECT_GE(RegionOf(plan, out), 0);
  EXPECT_EQ(plan.units.size(), 2u);
  ExpectRuns(g, plan, out + 1);
}

// y reads a directly and through a product of a: in a's region it would have to run before and
// after the product.
TEST(FormRegionsTest, AProductBetweenTwoMembersKeepsThemApart) {
  Graph g;
  const int x = g.Input({6, 6}), w = g.Input({6, 6});
  const int a = g.Map({6, 6}, {{x, {0, 1}}, {w, {0, 1}}});
  const int product = g.Contract({6, 6, 6}, 2, {a, {0, 2}}, {w, {2, 1}});
  const int y = g.Map({6, 6}, {{a, {0, 1}}, {product, {0, 1}}});
  // Farther round: z reads b of a's region and, through two regions, a.
  const int b = g.Map({6, 6}, {{a, {0, 1}}, {x, {0, 1}}}, ScalarOp::kMultiply);
  const int z = g.Map({6, 6}, {{b, {0, 1}}, {y, {0, 1}}});
  const ArrayPlan plan = g.Form();
  EXPECT_NE(RegionOf(plan, a), RegionOf(plan, y));
  EXPECT_EQ(RegionOf(plan, a), RegionOf(plan, b));
  EXPECT_NE(RegionOf(plan, a), RegionOf(plan, z));
  EXPECT_EQ(RegionOf(plan, y), RegionOf(plan, z));
  ASSERT_EQ(plan.units.size(), 3u);
  ExpectRuns(g, plan, z + 1);
}

// b joins a's region, and brings along that it needs p: so does the product c of a from then on,
// and what reads c cannot join p's region.
TEST(FormRegionsTest, WhatAMemberNeedsIsNeededByTheRegionsReaders) {
  Graph g;
  const int w = g.Input({6, 6}), u = g.Input({6});
  const int p = g.Map({6}, {{u, {0}}, {u, {0}}});
  const int a = g.Map({6, 6}, {{w, {0, 1}}, {w, {0, 1}}});
  const int c = g.Contract({6, 6}, 1, {a, {0, 1}}, {u, {1}});
  const int b = g.Map({6, 6}, {{a, {0, 1}}, {p, {0}}});
  const int q = g.Map({6}, {{p, {0}}, {c, {0}}});
  const ArrayPlan plan = g.Form();
  EXPECT_EQ(RegionOf(plan, a), RegionOf(plan, b));
  EXPECT_NE(RegionOf(plan, p), RegionOf(plan, q));
  EXPECT_EQ(plan.units.size(), 4u);
  ExpectRuns(g, plan, q + 1);
}

TEST(FormRegionsTest, AViewOfAMemberIsNotMerged) {
  Graph g;
  const int x = g.Input({8});
  const int a = g.Map({8}, {{x, {0}}, {x, {0}}});
  const int head = g.Slice({4}, {0}, a), tail = g.Slice({4}, {4}, a);
  const int y = g.Map({4}, {{head, {0}}, {tail, {0}}});
  // A view of its whole, read beside it.
  const int whole = g.Slice({8}, {0}, a);
  const int z = g.Map({8}, {{a, {0}}, {whole, {0}}});
  const ArrayPlan plan = g.Form();
  EXPECT_NE(RegionOf(plan, a), RegionOf(plan, y));
  EXPECT_NE(RegionOf(plan, a), RegionOf(plan, z));
  ExpectRuns(g, plan, z + 1);
}

// x[i] and x[j], and a matrix beside itself turned over.
TEST(FormRegionsTest, PairsOfOneArrayAreNotMergedWithIt) {
  Graph g;
  const int u = g.Input({5}), v = g.Input({5, 5});
  const int x = g.Map({5}, {{u, {0}}, {u, {0}}});
  const int pairs = g.Map({5, 5}, {{x, {0}}, {x, {1}}}, ScalarOp::kSubtract);
  const int m = g.Map({5, 5}, {{v, {0, 1}}, {v, {0, 1}}});
  const int both = g.Map({5, 5}, {{m, {0, 1}}, {m, {1, 0}}});
  const int diagonal = g.Map({5}, {{m, {0, 0}}, {u, {0}}});
  // Through a map that is not stored.
  const int inlined = g.Map({5}, {{x, {0}}, {u, {0}}}, ScalarOp::kMultiply, false);
  const int more = g.Map({5, 5}, {{inlined, {1}}, {x, {0}}});
  const ArrayPlan plan = g.Form();
  EXPECT_NE(RegionOf(plan, x), RegionOf(plan, pairs));
  EXPECT_NE(RegionOf(plan, m), RegionOf(plan, both));
  EXPECT_NE(RegionOf(plan, m), RegionOf(plan, diagonal));
  EXPECT_NE(RegionOf(plan, x), RegionOf(plan, more));
}

TEST(FormRegionsTest, ARegionHasRowsAlongOneSetOfAxes) {
  Graph g;
  const int x = g.Input({6, 5, 4});
  const int a = g.Map({6, 5, 4}, {{x, {0, 1, 2}}, {x, {0, 1, 2}}}, ScalarOp::kMultiply);
  const int last = g.Reduce({6, 5, 4}, 2, {a, {0, 1, 2}});
  const int two = g.Reduce({6, 5, 4}, 1, {a, {0, 1, 2}});
  const ArrayPlan plan = g.Form();
  EXPECT_EQ(RegionOf(plan, a), RegionOf(plan, last));
  EXPECT_GE(RegionOf(plan, two), 0);
  EXPECT_NE(RegionOf(plan, two), RegionOf(plan, a));
  ExpectRuns(g, plan, two + 1);
}

// A reduction fixes its region's rows even where it is over no axes: grown along a row, it would
// add up the row.
TEST(FormRegionsTest, AReductionOverNoAxesHasRowsOfOneCell) {
  Graph g;
  const int x = g.Input({6}), y = g.Input({6, 5});
  const int same = g.Reduce({6}, 1, {x, {0}});
  const int wider = g.Map({6, 5}, {{same, {0}}, {y, {0, 1}}});
  const ArrayPlan plan = g.Form();
  EXPECT_NE(RegionOf(plan, same), RegionOf(plan, wider));
}

TEST(FormRegionsTest, RowsThatAreTooLongAreNoRegion) {
  Graph g;
  const int x = g.Input({2, RowProgram::kLongestRow + 1});
  const int sum = g.Reduce({2, RowProgram::kLongestRow + 1}, 1, {x, {0, 1}});
  // Nor does a region without rows take such in.
  const int short_one = g.Map({2}, {{sum, {0}}, {sum, {0}}});
  const int wide = g.Map({2, RowProgram::kLongestRow + 1}, {{short_one, {0}}, {x, {0, 1}}});
  const ArrayPlan plan = g.Form();
  EXPECT_EQ(RegionOf(plan, sum), -1);
  EXPECT_NE(RegionOf(plan, short_one), RegionOf(plan, wide));
}

// ---- Random graphs.

double Apply(ScalarOp op, const double* a) {
  switch (op) {
    case ScalarOp::kAdd:
      return a[0] + a[1];
    case ScalarOp::kSubtract:
      return a[0] - a[1];
    case ScalarOp::kMultiply:
      return a[0] * a[1];
    case ScalarOp::kGreatest:
      return std::max(a[0], a[1]);
    case ScalarOp::kLeast:
      return std::min(a[0], a[1]);
    case ScalarOp::kNegate:
      return -a[0];
    case ScalarOp::kAbs:
      return std::fabs(a[0]);
    case ScalarOp::kEqual:
      return a[0] == a[1];
    case ScalarOp::kLess:
      return a[0] < a[1];
    case ScalarOp::kAnd:
      return a[0] != 0 && a[1] != 0;
    case ScalarOp::kOr:
      return a[0] != 0 || a[1] != 0;
    case ScalarOp::kNot:
      return a[0] == 0;
    case ScalarOp::kSelect:
      return a[0] != 0 ? a[1] : a[2];
    default:
      return a[0];  // a cast
  }
}

// A graph with the cells of every node beside it, and what a run of it needs.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {
    // An empty table is no grid (plan/grid.cc): no extent is 0.
    const Extents all = {1, 2, 3, 4, 5, 8, 9, 16, 40};
    for (int64_t n = 2 + Below(2); n > 0; --n) pool_.push_back(Of(all));
    state_.parameters = {Value::Float(3), Value()};
    for (int64_t n = 2 + Below(3); n > 0; --n) AddInput(RandomShape(), TypeId::kFloat64, -3, 4);
    AddConstant(Value::Float(static_cast<double>(Below(5)) - 2), TypeId::kFloat64);
    for (int64_t n = 4 + Below(25); n > 0; --n) AddNode();
    for (int64_t n = 1 + Below(4); n > 0; --n)
      roots_.push_back(static_cast<int>(OneIn(2) ? graph_.size() - 1 : Below(graph_.size())));
    roots_.push_back(graph_.size() - 1);
    // The first roots lie outside the arena, where they are no views of anything.
    while (outputs_ < roots_.size() && OneIn(2)) {
      const ArrayOp op = graph_.node(roots_[outputs_]).op;
      if (op == ArrayOp::kInput || op == ArrayOp::kSlice || op == ArrayOp::kIndex) break;
      ++outputs_;
    }
  }

  size_t tilings() const { return tilings_; }
  size_t stages() const { return stages_; }
  size_t stacks() const { return stacks_; }  // steps that are several
  // How many products add to an array from now on.
  int FuseEpilogues() {
    adjoin::FuseEpilogues(roots_, graph_);
    int count = 0;
    for (int id = 0; id < graph_.size(); ++id) count += graph_.node(id).adds ? 1 : 0;
    return count;
  }

  // A stage's parts run in any order.
  void RunBackwards(const ArrayProgram& program, const Stage& stage) {
    for (size_t s = stage.last; s-- > stage.first;) {
      const Step& step = *program.steps[s];
      ASSERT_GT(step.parts(), 0) << step.Describe();
      for (int64_t part = step.parts(); part-- > 0;) step.RunPart(state_, part, 0);
    }
    for (size_t s = stage.last; s-- > stage.first;) program.steps[s]->Finish(state_);
  }

  void RunSteps(const ArrayProgram& program) {
    auto tiling = program.tilings.begin();
    auto stage = program.stages.begin();
    for (size_t s = 0; s < program.steps.size(); ++s) {
      if (tiling != program.tilings.end() && s == tiling->first) {
        ASSERT_TRUE(tiling->Run(program.steps, state_, [](size_t) {}).ok());
        s = tiling++->last - 1;
        continue;
      }
      if (stage != program.stages.end() && s == stage->first) {
        RunBackwards(program, *stage);
        s = stage++->last - 1;
        continue;
      }
      ASSERT_TRUE(program.steps[s]->Run(state_).ok());
    }
  }

  void Check(const PlanOptions& options) {
    const ArrayProgram program = CompileArrays(graph_, roots_, outputs_, options, 0);
    std::vector<std::byte> arena(static_cast<size_t>(program.arena_bytes) + 64, std::byte{0xff});
    state_.bases.assign(1 + program.inputs.size() + outputs_, nullptr);
    state_.bases[0] = arena.data();
    for (const ArrayInput& input : program.inputs)
      state_.bases[Index(input.base)] = inputs_[Index(input.column)].data();
    std::vector<std::vector<std::byte>> outputs;
    for (size_t k = 0; k < outputs_; ++k) {
      const ArrayNode& n = graph_.node(roots_[k]);
      outputs.emplace_back(static_cast<size_t>(CellsOf(n.shape) * VectorWidth(n.type) + 64));
      state_.bases[1 + program.inputs.size() + k] = outputs.back().data();
    }
    for (const ArrayConstant& c : program.constants) {
      ASSERT_EQ(c.type, TypeId::kInt64);
      for (int64_t i = 0; i < c.cells; ++i) {
        const int64_t v = c.origin + i;
        std::memcpy(c.address.In(state_) + i * 8, &v, 8);
      }
    }
    state_.budget = std::make_shared<MemoryBudget>();
    int64_t scratch = 64;
    for (const auto& step : program.steps) scratch = std::max(scratch, step->scratch_bytes());
    auto memory = Buffer::Allocate(scratch, state_.budget);
    ASSERT_TRUE(memory.ok());
    state_.scratch = *memory;
    state_.step_states.clear();
    state_.step_states.resize(program.steps.size());
    for (const auto& step : program.steps) ASSERT_TRUE(step->Prepare(state_).ok());
    for (int run = 0; run < 2; ++run) RunSteps(program);
    tilings_ += program.tilings.size();
    stages_ += program.stages.size();
    for (const auto& step : program.steps) {
      const std::string text = step->Describe();
      const bool is_stack =
          text.find(" stacked") != std::string::npos || text.find(" summed") != std::string::npos;
      stacks_ += is_stack ? 1 : 0;
    }
    for (int root : roots_) {
      ASSERT_TRUE(program.views.contains(root)) << graph_.ToString(root);
      CheckRoot(root, program.views.find(root)->second);
      if (testing::Test::HasFailure()) {
        std::string text;
        for (int id = 0; id < graph_.size(); ++id) text += graph_.ToString(id) + "\n";
        for (const auto& step : program.steps) text += step->Describe() + "\n";
        ADD_FAILURE() << text;
        return;
      }
    }
  }

 private:
  struct Strided {
    int array;
    Extents strides;  // over the space
  };

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Of(const std::vector<T>& from) {
    return from[static_cast<size_t>(Below(std::ssize(from)))];
  }
  const ArrayNode& node(int id) const { return graph_.node(id); }
  Extents RandomShape() {
    Extents shape;
    for (int64_t n = Below(4); n > 0; --n) shape.push_back(Of(pool_));
    return shape;
  }

  void CheckRoot(int root, const ArrayView& view) {
    const ArrayNode& n = node(root);
    const std::byte* at = view.address.In(state_);
    int64_t cell = 0;
    ForEachCell(n.shape, {{root, view.strides}}, [&](const Extents& offset) {
      if (testing::Test::HasFailure()) return;
      double value = 0;
      WithElementType(n.type, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_arithmetic_v<T>) {
          T x;
          std::memcpy(&x, at + offset[0] * int64_t{sizeof(T)}, sizeof(T));
          value = static_cast<double>(x);
        }
      });
      EXPECT_EQ(value, values_[Index(root)][static_cast<size_t>(cell)])
          << graph_.ToString(root) << " cell " << cell;
      ++cell;
    });
  }

  // Calls f(offset of each array) over the space in row-major order.
  template <typename F>
  static void ForEachCell(const Extents& space, const std::vector<Strided>& arrays, F&& f) {
    Extents offset(arrays.size());
    for (int64_t cell = 0, cells = CellsOf(space); cell < cells; ++cell) {
      std::fill(offset.begin(), offset.end(), 0);
      int64_t rest = cell;
      for (size_t k = space.size(); k-- > 0; rest /= space[k]) {
        for (size_t a = 0; a < arrays.size(); ++a)
          offset[a] += rest % space[k] * arrays[a].strides[k];
      }
      f(offset);
    }
  }
  Strided Over(const ArrayOperand& o, size_t rank) const {
    Strided out{o.array, Extents(rank, 0)};
    const Extents& shape = node(o.array).shape;
    int64_t step = 1;
    for (size_t k = shape.size(); k-- > 0; step *= shape[k]) {
      if (o.axes[k] >= 0) out.strides[Index(o.axes[k])] += step;
    }
    return out;
  }

  // Adds the node, unless its cells leave the small integers that doubles add exactly.
  int Add(ArrayNode n, std::vector<double> cells, double magnitude) {
    if (magnitude > 1e9) return -1;
    const int id = graph_.Add(std::move(n));
    if (id == static_cast<int>(values_.size())) values_.push_back(std::move(cells));
    return id;
  }
  static double MagnitudeOf(const std::vector<double>& cells) {
    double most = 0;
    for (double c : cells) most = std::max(most, std::fabs(c));
    return most;
  }

  int AddConstant(Value value, TypeId type) {
    ArrayNode n;
    n.op = ArrayOp::kConstant;
    n.type = type;
    n.constant = value;
    return Add(n, {value.is_bool() ? value.as_bool() : value.as_float()}, 0);
  }

  int AddInput(Extents shape, TypeId type, int64_t low, int64_t high) {
    ArrayNode n;
    n.op = ArrayOp::kInput;
    n.type = type;
    n.shape = std::move(shape);
    n.table_id = 1;
    n.column = static_cast<int>(inputs_.size());
    std::vector<double> cells(static_cast<size_t>(CellsOf(n.shape)));
    std::vector<std::byte> bytes(cells.size() * 8 + 8);
    for (size_t i = 0; i < cells.size(); ++i) {
      const int64_t v = low + Below(high - low);
      cells[i] = static_cast<double>(v);
      std::memcpy(bytes.data() + i * 8,
                  type == TypeId::kInt64 ? static_cast<const void*>(&v) : &cells[i], 8);
    }
    inputs_.push_back(std::move(bytes));
    return Add(n, std::move(cells), 0);
  }

  // An array of the type, the latest more often; -1: there is none.
  int Pick(TypeId type) {
    std::vector<int> fit;
    for (int id = 0; id < graph_.size(); ++id) {
      if (node(id).type == type) fit.push_back(id);
    }
    if (fit.empty()) return -1;
    if (OneIn(2))
      return fit[fit.size() - 1 -
                 static_cast<size_t>(Below(std::min<int64_t>(std::ssize(fit), 3)))];
    return Of(fit);
  }

  // The array's axes along axes of the space of their extents: the same in order where they can be,
  // or any of them. False: the space has none left.
  bool Place(int array, const Extents& space, ArrayOperand* out) {
    *out = {array, {}};
    const bool in_order = !OneIn(4), repeats = OneIn(12);
    std::vector<bool> used(space.size(), false);
    for (int64_t extent : node(array).shape) {
      std::vector<int> fit;
      for (size_t k = 0; k < space.size(); ++k) {
        if (space[k] == extent && (repeats || !used[k])) fit.push_back(static_cast<int>(k));
      }
      if (fit.empty()) return false;
      out->axes.push_back(in_order ? fit[0] : Of(fit));
      used[Index(out->axes.back())] = true;
    }
    return true;
  }
  // One of several tries at an array that fits the space.
  bool PickPlaced(TypeId type, const Extents& space, ArrayOperand* out) {
    for (int tries = 0; tries < 8; ++tries) {
      const int array = Pick(type);
      if (array >= 0 && Place(array, space, out)) return true;
    }
    return false;
  }

  void AddNode() {
    switch (Below(14)) {
      case 0:
        return AddContract();
      case 1:
        return AddGather();
      case 2:
        return AddScatter();
      case 3:
        return AddSlice();
      case 4:
      case 5:
      case 6:
        return AddReduce();
      case 7: {
        if (OneIn(2)) return AddIndices();
        ArrayNode n;
        n.op = ArrayOp::kParameter;
        n.column = static_cast<int>(Below(2));
        n.valid = OneIn(2);
        n.type = n.valid ? TypeId::kBool : TypeId::kFloat64;
        const double cell = n.column == 1 ? 0 : n.valid ? 1 : 3;
        return static_cast<void>(Add(n, {cell}, 0));
      }
      default:
        return AddMap();
    }
  }

  // Two coordinates compared: a staircase.
  void AddIndices() {
    ArrayNode rows, columns;
    rows.op = columns.op = ArrayOp::kIndex;
    rows.type = columns.type = TypeId::kInt64;
    rows.shape = {Of(pool_)};
    columns.shape = {Of(pool_)};
    rows.origins = {Below(3)};
    columns.origins = {0};
    const auto cells = [](const ArrayNode& n) {
      std::vector<double> out(static_cast<size_t>(n.shape[0]));
      std::iota(out.begin(), out.end(), static_cast<double>(n.origins[0]));
      return out;
    };
    const int i = Add(rows, cells(rows), 0), j = Add(columns, cells(columns), 0);
    AddMapOf(ScalarOp::kLess, TypeId::kBool, {rows.shape[0], columns.shape[0]},
             {{j, {1}}, {i, {0}}});
  }

  void AddMap() {
    const bool flags = OneIn(4);
    const int first = Pick(flags && OneIn(2) ? TypeId::kBool : TypeId::kFloat64);
    if (first < 0) return;
    Extents space = node(first).shape;
    if (OneIn(4) && space.size() < 4)
      space.insert(space.begin() + Below(std::ssize(space) + 1), Of(pool_));
    if (CellsOf(space) > 20000) return;
    ArrayOperand a, b, c;
    if (!Place(first, space, &a)) return;
    if (node(first).type == TypeId::kBool) {
      if (OneIn(4)) return AddMapOf(ScalarOp::kNot, TypeId::kBool, space, {a});
      if (OneIn(4)) return AddMapOf(ScalarOp::kCount, TypeId::kFloat64, space, {a});
      if (!PickPlaced(TypeId::kBool, space, &b)) return;
      return AddMapOf(OneIn(2) ? ScalarOp::kAnd : ScalarOp::kOr, TypeId::kBool, space, {a, b});
    }
    if (OneIn(8))
      return AddMapOf(OneIn(2) ? ScalarOp::kNegate : ScalarOp::kAbs, TypeId::kFloat64, space, {a});
    if (!PickPlaced(TypeId::kFloat64, space, &b)) return;
    if (OneIn(2)) std::swap(a, b);
    if (flags)
      return AddMapOf(OneIn(2) ? ScalarOp::kLess : ScalarOp::kEqual, TypeId::kBool, space, {a, b});
    if (OneIn(4) && PickPlaced(TypeId::kBool, space, &c))
      return AddMapOf(ScalarOp::kSelect, TypeId::kFloat64, space, {c, a, b});
    const ScalarOp op = Of<ScalarOp>({ScalarOp::kAdd, ScalarOp::kSubtract, ScalarOp::kMultiply,
                                      ScalarOp::kMultiply, ScalarOp::kGreatest, ScalarOp::kLeast});
    AddMapOf(op, TypeId::kFloat64, space, {a, b});
  }

  void AddMapOf(ScalarOp op, TypeId type, const Extents& space,
                std::vector<ArrayOperand> operands) {
    ArrayNode n;
    n.op = ArrayOp::kMap;
    n.type = type;
    n.shape = space;
    n.scalar = op;
    n.operands = std::move(operands);
    std::vector<Strided> arrays;
    for (const ArrayOperand& o : n.operands) arrays.push_back(Over(o, space.size()));
    std::vector<double> cells;
    ForEachCell(space, arrays, [&](const Extents& offset) {
      double args[3] = {};
      for (size_t a = 0; a < arrays.size(); ++a) args[a] = At(arrays[a], offset[a]);
      cells.push_back(Apply(op, args));
    });
    const double magnitude = MagnitudeOf(cells);
    Add(std::move(n), std::move(cells), magnitude);
  }
  double At(const Strided& array, int64_t offset) const {
    return values_[Index(array.array)][static_cast<size_t>(offset)];
  }

  void AddReduce() {
    const bool flags = OneIn(5);
    const int array = Pick(flags ? TypeId::kBool : TypeId::kFloat64);
    if (array < 0) return;
    const Extents& shape = node(array).shape;
    ArrayNode n;
    n.op = ArrayOp::kReduce;
    n.type = node(array).type;
    Axes axes(shape.size(), -1);
    Extents reduced;
    // The last axes, the first, or any.
    const int64_t which = Below(3), split = Below(std::ssize(shape) + 1);
    for (size_t k = 0; k < shape.size(); ++k) {
      const bool kept = which == 0   ? static_cast<int64_t>(k) < split
                        : which == 1 ? static_cast<int64_t>(k) >= split
                                     : OneIn(2);
      if (!kept) continue;
      axes[k] = static_cast<int>(n.shape.size());
      n.shape.push_back(shape[k]);
    }
    n.space = n.shape;
    for (size_t k = 0; k < shape.size(); ++k) {
      if (axes[k] >= 0) continue;
      axes[k] = static_cast<int>(n.space.size());
      n.space.push_back(shape[k]);
    }
    if (OneIn(8)) n.space.push_back(Of(pool_));  // the same cell several times
    const int64_t times = CellsOf(n.space) / CellsOf(n.shape);
    if (CellsOf(n.space) > 40000) return;
    n.reduce = flags      ? (OneIn(2) ? ReduceOp::kAny : ReduceOp::kAll)
               : OneIn(2) ? ReduceOp::kSum
               : OneIn(2) ? ReduceOp::kMax
                          : ReduceOp::kMin;
    n.operands = {{array, axes}};
    const Strided from = Over(n.operands[0], n.space.size());
    std::vector<double> cells(static_cast<size_t>(CellsOf(n.shape)),
                              n.reduce == ReduceOp::kAll ? 1 : 0);
    int64_t cell = 0;
    ForEachCell(n.space, {from}, [&](const Extents& offset) {
      const double x = At(from, offset[0]);
      double& acc = cells[static_cast<size_t>(cell / times)];
      const bool first = cell++ % times == 0;
      acc = n.reduce == ReduceOp::kSum   ? acc + x
            : n.reduce == ReduceOp::kMax ? (first ? x : std::max(acc, x))
            : n.reduce == ReduceOp::kMin ? (first ? x : std::min(acc, x))
            : n.reduce == ReduceOp::kAny ? (acc != 0 || x != 0)
                                         : (acc != 0 && x != 0);
    });
    Add(std::move(n), std::move(cells),
        MagnitudeOf(values_[Index(array)]) * static_cast<double>(times));
  }

  void AddContract() {
    const int a = Pick(TypeId::kFloat64), b = Pick(TypeId::kFloat64);
    const Extents &x = node(a).shape, &y = node(b).shape;
    // Axes by number: a's, then b's own.
    Axes of_b;
    Extents all = x;
    std::vector<bool> shared(x.size(), false);
    for (int64_t extent : y) {
      int axis = -1;
      for (size_t k = 0; k < x.size(); ++k) {
        if (x[k] == extent && !shared[k] && !OneIn(4)) axis = static_cast<int>(k);
      }
      if (axis >= 0) shared[Index(axis)] = true;
      if (axis < 0) axis = static_cast<int>(all.size()), all.push_back(extent);
      of_b.push_back(axis);
    }
    Axes order;  // kept, then summed ones, of which there is one at least
    for (size_t k = 0; k < all.size(); ++k) order.push_back(static_cast<int>(k));
    std::shuffle(order.begin(), order.end(), random_);
    bool any = false;
    std::vector<bool> summed(all.size(), false);
    for (size_t k = 0; k < x.size(); ++k) {
      if (shared[k] && (!any || OneIn(2))) summed[k] = any = true;
    }
    if (!any || CellsOf(all) > 40000) return;
    std::stable_partition(order.begin(), order.end(),
                          [&](int axis) { return !summed[Index(axis)]; });
    ArrayNode n;
    n.op = ArrayOp::kContract;
    Axes position(all.size());
    for (size_t k = 0; k < order.size(); ++k) {
      position[Index(order[k])] = static_cast<int>(k);
      n.space.push_back(all[Index(order[k])]);
      if (!summed[Index(order[k])]) n.shape.push_back(n.space.back());
    }
    n.operands = {{a, {}}, {b, {}}};
    for (size_t k = 0; k < x.size(); ++k) n.operands[0].axes.push_back(position[k]);
    for (int axis : of_b) n.operands[1].axes.push_back(position[Index(axis)]);
    int sum = -1;
    for (int product = AddProduct(n); product >= 0; product = AddProduct(n)) {
      if (OneIn(2)) sum = AddUpdate(product, OneIn(2) ? sum : -1);
      if (OneIn(2)) roots_.push_back(graph_.size() - 1);
      if (OneIn(2)) return;
      // Another that reads the same array, to be stacked.
      const size_t other = static_cast<size_t>(Below(2));
      const Extents shape = node(n.operands[other].array).shape;
      n.operands[other].array = AddInput(shape, TypeId::kFloat64, -3, 4);
      if (OneIn(2)) std::swap(n.operands[0], n.operands[1]);
    }
  }

  // -1: its cells are too large.
  int AddProduct(ArrayNode n) {
    const size_t rank = n.space.size();
    const std::vector<Strided> arrays = {Over(n.operands[0], rank), Over(n.operands[1], rank)};
    const int64_t times = CellsOf(n.space) / CellsOf(n.shape);
    std::vector<double> cells(static_cast<size_t>(CellsOf(n.shape)), 0);
    int64_t cell = 0;
    ForEachCell(n.space, arrays, [&](const Extents& offset) {
      cells[static_cast<size_t>(cell++ / times)] +=
          At(arrays[0], offset[0]) * At(arrays[1], offset[1]);
    });
    const double magnitude = MagnitudeOf(values_[Index(n.operands[0].array)]) *
                             MagnitudeOf(values_[Index(n.operands[1].array)]) *
                             static_cast<double>(times);
    return Add(std::move(n), std::move(cells), magnitude);
  }

  // x + a product, or x - 3 times it: an epilogue, if nothing else reads the product. `x`: -1: an
  // input. The array; -1: its cells are too large.
  int AddUpdate(int product, int x) {
    const Extents shape = node(product).shape;
    const auto whole = [&](int array) {
      ArrayOperand o{array, {}};
      for (size_t k = 0; k < shape.size(); ++k) o.axes.push_back(static_cast<int>(k));
      return o;
    };
    if (x < 0) x = AddInput(shape, TypeId::kFloat64, -3, 4);
    ArrayOperand term = whole(product);
    if (OneIn(2)) {
      const int three = AddConstant(Value::Float(3), TypeId::kFloat64);
      AddMapOf(ScalarOp::kMultiply, TypeId::kFloat64, shape, {term, {three, {}}});
      term = whole(graph_.size() - 1);
      if (node(term.array).scalar != ScalarOp::kMultiply) return -1;
    }
    const ScalarOp op = OneIn(2) ? ScalarOp::kAdd : ScalarOp::kSubtract;
    AddMapOf(op, TypeId::kFloat64, shape, {whole(x), term});
    const int sum = graph_.size() - 1;
    return node(sum).op == ArrayOp::kMap && node(sum).scalar == op ? sum : -1;
  }

  // One axis of an array by positions along an axis of another extent, or of its own.
  void AddGather() {
    const int source = Pick(TypeId::kFloat64);
    const Extents shape = node(source).shape;
    if (shape.empty() || graph_.node(source).op == ArrayOp::kConstant) return;
    const int at = static_cast<int>(Below(std::ssize(shape)));
    const int64_t extent = Of(pool_), origin = Below(3);
    const int index = AddInput({extent}, TypeId::kInt64, origin, origin + shape[Index(at)]);
    ArrayNode n;
    n.op = ArrayOp::kGather;
    n.shape = shape;
    n.shape[Index(at)] = extent;
    ArrayOperand operand{source, {}};
    for (int k = 0; k < static_cast<int>(shape.size()); ++k)
      operand.axes.push_back(k == at ? -1 : k);
    n.operands = {operand, {index, {at}}};
    n.indexed = {at};
    n.origins = {origin};
    if (CellsOf(n.shape) > 20000) return;
    const Strided direct = Over(operand, shape.size());
    const Strided positions = Over(n.operands[1], shape.size());
    const int64_t step = CellsOf(Extents(shape.begin() + at + 1, shape.end()));
    std::vector<double> cells;
    ForEachCell(n.shape, {direct, positions}, [&](const Extents& offset) {
      const int64_t i = static_cast<int64_t>(At(positions, offset[1])) - origin;
      cells.push_back(At(direct, offset[0] + i * step));
    });
    Add(std::move(n), std::move(cells), 0);
  }

  void AddScatter() {
    const int value = Pick(TypeId::kFloat64);
    const Extents shape = node(value).shape;
    if (shape.empty()) return;
    const int at = static_cast<int>(Below(std::ssize(shape)));
    const int64_t extent = Of(pool_);
    const int index = AddInput({shape[Index(at)]}, TypeId::kInt64, 0, extent);
    ArrayNode n;
    n.op = ArrayOp::kScatter;
    n.space = n.shape = shape;
    n.shape[Index(at)] = extent;
    ArrayOperand operand{value, {}};
    for (int k = 0; k < static_cast<int>(shape.size()); ++k) {
      operand.axes.push_back(k);
      n.kept.push_back(k == at ? -1 : k);
    }
    n.operands = {operand, {index, {at}}};
    n.origins = {0};
    if (CellsOf(n.shape) > 20000) return;
    const Strided from = Over(operand, shape.size());
    const Strided positions = Over(n.operands[1], shape.size());
    Strided to{-1, Extents(shape.size())};
    int64_t step = 1, along = 0;
    for (size_t k = shape.size(); k-- > 0; step *= n.shape[k]) {
      to.strides[k] = step;
      if (static_cast<int>(k) == at) along = step, to.strides[k] = 0;
    }
    std::vector<double> cells(static_cast<size_t>(CellsOf(n.shape)), 0);
    ForEachCell(shape, {from, positions, to}, [&](const Extents& offset) {
      const int64_t i = static_cast<int64_t>(At(positions, offset[1]));
      cells[static_cast<size_t>(offset[2] + i * along)] += At(from, offset[0]);
    });
    Add(std::move(n), std::move(cells),
        MagnitudeOf(values_[Index(value)]) * static_cast<double>(shape[Index(at)]));
  }

  // A part of an array, so that its extents meet those of others.
  void AddSlice() {
    const int array = Pick(TypeId::kFloat64);
    const Extents shape = node(array).shape;
    if (shape.empty()) return;
    ArrayNode n;
    n.op = ArrayOp::kSlice;
    ArrayOperand operand{array, {}};
    Strided from = Over({array,
                         [&] {
                           Axes all(shape.size());
                           std::iota(all.begin(), all.end(), 0);
                           return all;
                         }()},
                        shape.size());
    int64_t first = 0;
    for (size_t k = 0; k < shape.size(); ++k) {
      const int64_t wanted = Of(pool_), extent = wanted <= shape[k] ? wanted : shape[k];
      n.shape.push_back(extent);
      n.origins.push_back(Below(shape[k] - extent + 1));
      first += n.origins.back() * from.strides[k];
      operand.axes.push_back(static_cast<int>(k));
    }
    n.operands = {operand};
    std::vector<double> cells;
    ForEachCell(n.shape, {from},
                [&](const Extents& offset) { cells.push_back(At(from, first + offset[0])); });
    Add(std::move(n), std::move(cells), 0);
  }

  std::mt19937_64 random_;
  Extents pool_;  // few extents, so that arrays meet
  ArrayGraph graph_;
  std::vector<std::vector<double>> values_;     // by array
  std::vector<std::vector<std::byte>> inputs_;  // by column
  std::vector<int> roots_;
  size_t outputs_ = 0;
  RunState state_;
  size_t tilings_ = 0, stages_ = 0, stacks_ = 0;
};

TEST(CompileArraysTest, RandomGraphsHaveTheirCells) {
  size_t tilings = 0, stages = 0, stacks = 0;
  int fused = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph graph(seed);
    for (bool inline_maps : {true, false}) {
      for (int64_t work_mem : {int64_t{256} << 20, int64_t{2048}}) {
        for (RuleUse use : {RuleUse::kOff, RuleUse::kForce}) {
          SCOPED_TRACE(inline_maps ? "inline" : "not inline");
          SCOPED_TRACE(use == RuleUse::kForce ? "tiled, stacked, in stages" : "step by step");
          PlanOptions options;
          options.inline_maps = inline_maps;
          options.work_mem = work_mem;
          options.store = static_cast<RuleUse>(seed % 3);
          options.tile = options.stack = options.stage = use;
          graph.Check(options);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
    fused += graph.FuseEpilogues();
    for (RuleUse use : {RuleUse::kOff, RuleUse::kForce}) {
      SCOPED_TRACE("fused epilogues");
      PlanOptions options;
      options.tile = options.stack = options.stage = use;
      graph.Check(options);
      if (testing::Test::HasFailure()) return;
    }
    tilings += graph.tilings();
    stages += graph.stages();
    stacks += graph.stacks();
  }
  EXPECT_GT(fused, 100);
  EXPECT_GT(tilings, 1000);
  EXPECT_GT(stages, 1000);
  EXPECT_GT(stacks, 500);
}

}  // namespace
}  // namespace adjoin
