// What the rules share, inline and store decide, on small graphs by hand.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plan/array_steps.h"

namespace adjoin {
namespace {

constexpr int64_t kCells = 1000;

class ArrayRulesTest : public testing::Test {
 protected:
  int Input(ArrayGraph& graph) {
    ArrayNode n;
    n.op = ArrayOp::kInput;
    n.shape = {kCells};
    n.table_id = 1;
    return graph.Add(std::move(n));
  }
  int Map(ArrayGraph& graph, ScalarOp op, const std::vector<int>& arrays) {
    ArrayNode n;
    n.op = ArrayOp::kMap;
    n.shape = {kCells};
    n.scalar = op;
    for (int array : arrays) n.operands.push_back({array, {0}});
    return graph.Add(std::move(n));
  }
  // Sums over the cells: what they read is a region's, or a step's, to compute.
  int Sum(ArrayGraph& graph, int array) {
    ArrayNode n;
    n.op = ArrayOp::kReduce;
    n.space = {kCells};
    n.operands = {{array, {0}}};
    return graph.Add(std::move(n));
  }
  static std::string RuleText(const ArrayProgram& program, const std::string& rule) {
    for (const RuleReport& report : program.rules) {
      if (report.rule == rule) return report.did;
    }
    return "";
  }
  static ArrayProgram Compile(const ArrayGraph& graph, const std::vector<int>& roots,
                              const PlanOptions& options) {
    return CompileArrays(graph, roots, roots.size(), options, 0);
  }
};

TEST_F(ArrayRulesTest, EqualArraysAreOne) {
  for (bool share : {true, false}) {
    ArrayGraph graph(share);
    const int input = Input(graph);
    EXPECT_EQ(Input(graph), input);  // a table's column is one in any case
    const int sum = Map(graph, ScalarOp::kAdd, {input, input});
    EXPECT_EQ(Map(graph, ScalarOp::kAdd, {input, input}) == sum, share);
    EXPECT_EQ(graph.found_again(sum), share ? 1 : 0);
  }
}

TEST_F(ArrayRulesTest, WhatSeveralReadIsStoredByWhatItCosts) {
  // An exponential and a negation, each read by two.
  ArrayGraph graph;
  const int input = Input(graph);
  const int costly = Map(graph, ScalarOp::kExp, {input});
  const int cheap = Map(graph, ScalarOp::kNegate, {input});
  std::vector<int> roots;
  for (int value : {costly, cheap}) {
    roots.push_back(Map(graph, ScalarOp::kMultiply, {value, input}));
    roots.push_back(Map(graph, ScalarOp::kSubtract, {value, input}));
  }
  PlanOptions options;
  options.stack = RuleUse::kOff;
  EXPECT_EQ(RuleText(Compile(graph, roots, options), "store"),
            "1 values stored, 1 computed by each reader");
  options.store = RuleUse::kOff;
  EXPECT_EQ(RuleText(Compile(graph, roots, options), "store"),
            "0 values stored, 2 computed by each reader");
  options.store = RuleUse::kForce;
  EXPECT_EQ(RuleText(Compile(graph, roots, options), "store"),
            "2 values stored, 0 computed by each reader");
  options.store = RuleUse::kOff;
  options.inline_maps = false;  // nothing is computed inside a reader
  const ArrayProgram program = Compile(graph, roots, options);
  EXPECT_EQ(program.steps.size(), 6u);
  EXPECT_EQ(RuleText(program, "inline"), "");
}

TEST_F(ArrayRulesTest, WhatIsReadOnceIsComputedInsideItsReader) {
  ArrayGraph graph;
  const int costly = Map(graph, ScalarOp::kExp, {Input(graph)});
  const std::vector<int> roots = {Sum(graph, costly)};
  PlanOptions options;
  const ArrayProgram program = Compile(graph, roots, options);
  EXPECT_EQ(program.steps.size(), 1u);
  EXPECT_THAT(RuleText(program, "inline"), testing::HasSubstr("1 values inside their readers"));
  options.inline_maps = false;
  EXPECT_EQ(Compile(graph, roots, options).steps.size(), 2u);
}

TEST_F(ArrayRulesTest, StepsArePredictedByTheirWork) {
  ArrayGraph graph;
  const std::vector<int> roots = {Map(graph, ScalarOp::kExp, {Input(graph)})};
  PlanOptions options;
  options.costs = {};
  options.costs.call = 500;
  options.costs.exp = 3;
  options.costs.copy_l1 = 2;
  const ArrayProgram program = Compile(graph, roots, options);
  ASSERT_EQ(program.predicted_us.size(), 1u);
  // A call, 1000 exponentials, and 8 KB read and written (rounded up to whole cache lines).
  EXPECT_NEAR(program.predicted_us[0], 0.5 + 3 + 2, 0.1);
}

}  // namespace
}  // namespace adjoin
