// Random plans on the engine, under every configuration, against the reference interpreter.
#include "tests/reference/random_plan.h"

#include <cstdlib>
#include <set>

#include "gtest/gtest.h"
#include "tests/reference/engine_run.h"

namespace adjoin::reference {
namespace {

// ADJOIN_SEEDS=FROM,COUNT runs others than the usual seeds.
std::pair<uint64_t, uint64_t> Seeds() {
  const char* seeds = std::getenv("ADJOIN_SEEDS");
  if (seeds == nullptr) return {1, 150};
  char* end = nullptr;
  const uint64_t from = std::strtoull(seeds, &end, 10);
  return {from, *end == ',' ? std::strtoull(end + 1, nullptr, 10) : 1};
}

// The generator must reach every operator, or the comparison says little.
TEST(RandomPlanTest, ReachesEveryOperator) {
  std::set<size_t> seen;
  std::set<JoinKind> joins;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const RandomPlan plan(seed, 12);
    for (const NodeRef& node : TopologicalOrder({plan.root().node})) {
      seen.insert(node->op.index());
      if (const auto* join = std::get_if<Join>(&node->op)) joins.insert(join->kind);
    }
  }
  // All but Derivative, RecursionInput, which stands in bodies alone, and SparseProduct and
  // SampledProduct, which programs make.
  EXPECT_EQ(seen.size(), std::variant_size_v<Operator> - 4);
  EXPECT_EQ(joins.size(), 7u);
}

// Each operator right above tables: what is wrong here is wrong in the operator.
TEST(RandomPlanTest, SingleOperators) {
  const auto [from, count] = Seeds();
  int failures = 0;
  for (uint64_t seed = from; seed < from + 2 * count && failures < 5; ++seed) {
    RandomPlan plan(1000000 + seed, 1);
    const std::string fault = CheckOnEngine(plan.root().node, plan.tables(), plan.root().rows);
    failures += !fault.empty();
    EXPECT_TRUE(fault.empty()) << "seed " << seed << ", " << fault;
  }
}

TEST(RandomPlanTest, DeepPlans) {
  const auto [from, count] = Seeds();
  int failures = 0;
  for (uint64_t seed = from; seed < from + count && failures < 5; ++seed) {
    RandomPlan plan(seed, 5 + static_cast<int>(seed % 20));
    const std::string fault = CheckOnEngine(plan.root().node, plan.tables(), plan.root().rows);
    failures += !fault.empty();
    EXPECT_TRUE(fault.empty()) << "seed " << seed << ", " << fault;
  }
}

}  // namespace
}  // namespace adjoin::reference
