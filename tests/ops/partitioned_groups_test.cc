// Group-bys of many groups: cut into parts they give what one table gives, bit for bit.
#include "ops/partitioned_groups.h"

#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

#include "gtest/gtest.h"
#include "ops/hash_aggregate.h"
#include "ops/pipeline_run.h"
#include "ops/scan.h"

namespace adjoin {
namespace {

constexpr PipelineOptions kOptions = {.batch_rows = 64, .morsel_rows = 1024};
const std::vector<TypeId> kTypes = {TypeId::kText, TypeId::kInt64, TypeId::kFloat64, TypeId::kBool};

// Text, an integer, a double and a condition, some of them NULL. Rows from `repeated` on are of
// `few` keys alone.
TableRef MakeTable(uint64_t seed, int64_t n, int64_t repeated, int64_t few) {
  std::mt19937_64 random(seed);
  const auto budget = std::make_shared<MemoryBudget>();
  std::vector<ColumnBuilder> builders;
  for (TypeId type : kTypes) builders.emplace_back(type, budget);
  Schema schema;
  for (TypeId type : kTypes) schema.fields.push_back({"c", type});
  for (int64_t r = 0; r < n; ++r) {
    const auto key =
        static_cast<int64_t>(random() % static_cast<uint64_t>(r < repeated ? 100 * n : few));
    const auto null_or = [&](Value value) {
      return random() % 17 == 0 ? Value() : std::move(value);
    };
    EXPECT_TRUE(builders[0].Append(null_or(Value::Text("t" + std::to_string(key % 701)))).ok());
    EXPECT_TRUE(builders[1].Append(null_or(Value::Int(key - 50 * n))).ok());
    const double x = static_cast<double>(random()) / 1e9 - 1e9;
    EXPECT_TRUE(builders[2].Append(null_or(Value::Float(x))).ok());
    EXPECT_TRUE(builders[3].Append(null_or(Value::Bool(random() % 3 != 0))).ok());
  }
  std::vector<ColumnRef> columns;
  for (ColumnBuilder& builder : builders) columns.push_back(*builder.Finish());
  return Table::MakeUnchecked(std::move(schema), std::move(columns), n);
}

// Text is computed where `computes`: it has no codes then.
HashAggregateSpec MakeSpec(bool computes) {
  HashAggregateSpec spec;
  ExprBuilder builder;
  std::vector<ExprBuilder::Id> inputs;
  for (size_t c = 0; c < kTypes.size(); ++c)
    inputs.push_back(builder.Input(static_cast<int>(c), kTypes[c]));
  std::vector<ExprBuilder::Id> outputs = inputs;
  if (computes) {
    const ExprBuilder::Id other = builder.Constant(Value::Text("t0"), TypeId::kText);
    outputs[0] = builder.Coalesce(inputs[0], other);
  }
  for (ExprBuilder::Id output : outputs) builder.Output(output);
  spec.exprs = std::move(builder).Build();
  spec.num_keys = 2;
  const auto add = [&](AggregateKind kind, TypeId result, int arg, int filter = -1,
                       int second = -1) {
    AggregateSpec aggregate;
    aggregate.kind = kind, aggregate.result = result;
    aggregate.arg = arg, aggregate.filter = filter, aggregate.second = second;
    spec.aggregates.push_back(aggregate);
  };
  add(AggregateKind::kSum, TypeId::kFloat64, 2);
  add(AggregateKind::kAvg, TypeId::kFloat64, 2, /*filter=*/3);
  add(AggregateKind::kCountStar, TypeId::kInt64, -1);
  add(AggregateKind::kCount, TypeId::kInt64, 2);
  add(AggregateKind::kMin, TypeId::kText, 0);
  add(AggregateKind::kMax, TypeId::kFloat64, 2);
  add(AggregateKind::kComoment, TypeId::kFloat64, 2);
  add(AggregateKind::kStringAgg, TypeId::kText, 0, -1, 0);
  for (int k = 0; k < spec.num_keys; ++k)
    spec.schema.fields.push_back({"k", kTypes[static_cast<size_t>(k)]});
  for (const AggregateSpec& aggregate : spec.aggregates)
    spec.schema.fields.push_back({"a", aggregate.result});
  spec.sample_rows = 256;
  return spec;
}

absl::StatusOr<TableRef> Aggregate(const HashAggregateSpec& spec,
                                   const std::vector<TableRef>& tables, TaskPool* pool,
                                   int64_t limit = INT64_MAX) {
  RunState run;
  run.relations = tables;
  run.pool = pool;
  run.budget = std::make_shared<MemoryBudget>(limit);
  std::vector<Branch> branches;
  for (size_t t = 0; t < tables.size(); ++t) {
    RelationRef relation;
    relation.slot = static_cast<int>(t);
    branches.push_back({std::make_shared<ScanSource>(relation, std::vector<int>{0, 1, 2, 3}), {}});
  }
  return RunInMemory(branches, HashAggregate(spec), run, kOptions);
}

std::string Cell(const Column& column, int64_t row) {
  if (column.is_null(row)) return "NULL";
  if (column.type() == TypeId::kText) return std::string(column.text(row));
  uint64_t bits = 0;
  std::memcpy(&bits, column.values<uint64_t>() + row, sizeof(bits));
  return std::to_string(bits);
}

void ExpectSame(const Table& a, const Table& b) {
  ASSERT_EQ(a.num_rows(), b.num_rows());
  ASSERT_EQ(a.num_columns(), b.num_columns());
  for (int c = 0; c < a.num_columns(); ++c) {
    for (int64_t r = 0; r < a.num_rows(); ++r)
      ASSERT_EQ(Cell(*a.column(c), r), Cell(*b.column(c), r)) << "column " << c << ", row " << r;
  }
}

TEST(PartitionedGroupsTest, GiveTheGroupsOrderAndBitsOfOneTable) {
  TaskPool pool(3);
  const TableRef unique = MakeTable(1, 40000, 40000, 1);
  const TableRef half = MakeTable(2, 40000, 20000, 500);
  const TableRef few = MakeTable(3, 20000, 0, 40);
  for (bool computes : {false, true}) {
    const HashAggregateSpec spec = MakeSpec(computes);
    for (const std::vector<TableRef>& tables : {std::vector<TableRef>{unique},
                                                {half},
                                                {few},
                                                {few, unique, half, few},
                                                {unique, few, unique}}) {
      const absl::StatusOr<TableRef> one = Aggregate(spec, tables, nullptr);
      const absl::StatusOr<TableRef> parts = Aggregate(spec, tables, &pool);
      ASSERT_TRUE(one.ok() && parts.ok()) << one.status() << parts.status();
      ExpectSame(**one, **parts);
    }
  }
}

// COUNT(*) by a plain map; and that rows were kept at all, by what the budget saw.
TEST(PartitionedGroupsTest, CountEveryRowOnce) {
  TaskPool pool(2);
  const TableRef table = MakeTable(4, 30000, 25000, 300);
  const absl::StatusOr<TableRef> groups = Aggregate(MakeSpec(false), {table}, &pool);
  ASSERT_TRUE(groups.ok());
  std::unordered_map<std::string, int64_t> counts;
  for (int64_t r = 0; r < table->num_rows(); ++r)
    ++counts[Cell(*table->column(0), r) + "," + Cell(*table->column(1), r)];
  ASSERT_EQ((*groups)->num_rows(), std::ssize(counts));
  for (int64_t g = 0; g < (*groups)->num_rows(); ++g) {
    const std::string key = Cell(*(*groups)->column(0), g) + "," + Cell(*(*groups)->column(1), g);
    EXPECT_EQ((*groups)->column(4)->values<int64_t>()[g], counts[key]) << key;
  }
}

TEST(PartitionedGroupsTest, PassTheBudgetOn) {
  TaskPool pool(2);
  const TableRef table = MakeTable(5, 40000, 40000, 1);
  // Less than the first slab of rows, and less than all.
  for (int64_t limit : {int64_t{3} << 20, int64_t{33} << 20}) {
    const absl::StatusOr<TableRef> groups = Aggregate(MakeSpec(false), {table}, &pool, limit);
    EXPECT_EQ(groups.status().code(), absl::StatusCode::kResourceExhausted) << limit;
  }
  EXPECT_TRUE(Aggregate(MakeSpec(false), {table}, &pool).ok());
}

}  // namespace
}  // namespace adjoin
