#include "engine/catalog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "engine/status.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// Counts what the in-place path promises not to do. Not inlined: g++ takes free() after new for a
// mistake.
[[gnu::noinline]] void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size); p != nullptr) return p;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace adjoin {
namespace {

const Schema kSchema = {{{"i", TypeId::kInt64}, {"v", TypeId::kFloat64}}, {0}};

ColumnRef Doubles(int64_t n, double value) {
  ColumnBuilder builder(TypeId::kFloat64, std::make_shared<MemoryBudget>());
  for (int64_t i = 0; i < n; ++i) EXPECT_TRUE(builder.Append(Value::Float(value)).ok());
  return *builder.Finish();
}

TableRef MakeTable(int64_t n, double value) {
  ColumnBuilder keys(TypeId::kInt64, std::make_shared<MemoryBudget>());
  for (int64_t i = 0; i < n; ++i) EXPECT_TRUE(keys.Append(Value::Int(i)).ok());
  return *Table::Make(kSchema, {*keys.Finish(), Doubles(n, value)}, n,
                      std::make_shared<MemoryBudget>());
}

uint64_t AddTable(Catalog& catalog, std::string_view name, double value) {
  const auto writer = catalog.BeginWrite();
  const uint64_t id = *writer->CreateTable(name, MakeTable(3, value));
  writer->Commit();
  return id;
}

double FirstValue(const TableRef& table) { return table->value(0, 1).as_float(); }

TEST(CatalogTest, CommitsOrDiscardsAsAWhole) {
  Catalog catalog;
  {
    const auto writer = catalog.BeginWrite();
    ASSERT_TRUE(writer->CreateTable("t", MakeTable(2, 1)).ok());
    EXPECT_NE(writer->state().Find("t"), nullptr);
    EXPECT_EQ(catalog.Snapshot()->Find("t"), nullptr);
  }
  EXPECT_EQ(catalog.Snapshot()->Find("t"), nullptr);
  const uint64_t id = AddTable(catalog, "t", 1);
  const auto before = catalog.Snapshot();
  {
    const auto writer = catalog.BeginWrite();
    writer->Replace(id, MakeTable(5, 2));
    ASSERT_TRUE(writer->CreateTable("u", MakeTable(1, 1)).ok());
    writer->Commit();
    ASSERT_TRUE(writer->DropTable("u").ok());  // not committed
  }
  EXPECT_EQ(before->table(id)->num_rows(), 3);
  EXPECT_EQ(before->Find("u"), nullptr);
  const auto after = catalog.Snapshot();
  EXPECT_EQ(after->table(id)->num_rows(), 5);
  EXPECT_EQ(after->Names(), (std::vector<std::string>{"t", "u"}));
  EXPECT_EQ(after->Tables({id, 999}).size(), 1u);
}

TEST(CatalogTest, DroppedIdsAreNotUsedAgain) {
  Catalog catalog;
  const uint64_t first = AddTable(catalog, "t", 1);
  {
    const auto writer = catalog.BeginWrite();
    ASSERT_TRUE(writer->DropTable("t").ok());
    writer->Commit();
  }
  EXPECT_NE(AddTable(catalog, "t", 1), first);
  EXPECT_EQ(catalog.Snapshot()->table(first), nullptr);
}

std::string Describe(const absl::Status& status) {
  return SqlStateOf(status) + " " + std::string(status.message()) + "|" + DetailOf(status) + "|" +
         HintOf(status);
}

TEST(CatalogTest, ErrorsInPostgreSqlsWords) {
  Catalog catalog;
  AddTable(catalog, "t", 1);
  const auto writer = catalog.BeginWrite();
  EXPECT_EQ(Describe(writer->CreateTable("t", MakeTable(1, 1)).status()),
            "42P07 relation \"t\" already exists||");
  EXPECT_EQ(Describe(writer->DropTable("x")), "42P01 table \"x\" does not exist||");
  EXPECT_EQ(Describe(writer->DropView("x")), "42P01 view \"x\" does not exist||");
  EXPECT_EQ(Describe(writer->DropView("t")),
            "42809 \"t\" is not a view||Use DROP TABLE to remove a table.");
  ASSERT_TRUE(writer->CreateView("v", {"SELECT * FROM t", {"i", "v"}, {"t"}}).ok());
  ASSERT_TRUE(writer->CreateView("w", {"SELECT * FROM v", {"i", "v"}, {"v"}}).ok());
  EXPECT_EQ(Describe(writer->CreateView("v", {})), "42P07 relation \"v\" already exists||");
  EXPECT_EQ(Describe(writer->CreateView("t", {}, true)), "42809 \"t\" is not a view||");
  EXPECT_EQ(Describe(writer->DropTable("v")),
            "42809 \"v\" is not a table||Use DROP VIEW to remove a view.");
  EXPECT_EQ(
      Describe(writer->DropTable("t")),
      "2BP01 cannot drop table t because other objects depend on it|view v depends on table t\n"
      "view w depends on view v|Use DROP ... CASCADE to drop the dependent objects too.");
  ASSERT_TRUE(writer->CreateView("w", {"SELECT 1", {"one"}, {}}, true).ok());
  EXPECT_EQ(writer->state().Find("w")->view->query, "SELECT 1");
  ASSERT_TRUE(writer->DropTable("t", true).ok());
  EXPECT_EQ(writer->state().Names(), (std::vector<std::string>{"w"}));
}

TEST(CatalogTest, OneWriterAtATime) {
  Catalog catalog;
  const uint64_t id = AddTable(catalog, "t", 0);
  auto writer = catalog.BeginWrite();
  EXPECT_EQ(catalog.TryBeginWrite(), nullptr);
  std::vector<ColumnSwap> swaps = {{id, 1, Doubles(3, 5)}};
  EXPECT_FALSE(catalog.SwapColumns(absl::MakeSpan(swaps)));
  writer.reset();
  EXPECT_NE(catalog.TryBeginWrite(), nullptr);

  // Lost updates would leave a smaller sum.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto mine = catalog.BeginWrite();
        mine->Replace(id, MakeTable(3, FirstValue(mine->state().table(id)) + 1));
        mine->Commit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(FirstValue(catalog.Snapshot()->table(id)), 200);
}

TEST(CatalogTest, SwapsInPlaceWithoutAllocating) {
  Catalog catalog;
  const uint64_t id = AddTable(catalog, "t", 1);
  const Table* table = catalog.Snapshot()->table(id).get();
  const uint64_t version = table->version();
  std::vector<ColumnSwap> swaps = {{id, 1, Doubles(3, 2)}};
  const int64_t before = allocations;
  ASSERT_TRUE(catalog.SwapColumns(absl::MakeSpan(swaps)));
  EXPECT_EQ(allocations, before);
  const auto snapshot = catalog.Snapshot();
  EXPECT_EQ(snapshot->table(id).get(), table);
  EXPECT_EQ(FirstValue(snapshot->table(id)), 2);
  EXPECT_NE(snapshot->table(id)->version(), version);
  EXPECT_TRUE(snapshot->table(id)->grid().has_value());
  EXPECT_EQ(swaps[0].column->value(0), Value::Float(1));  // the old column, to be written next time
}

TEST(CatalogTest, SwapLeavesSnapshotsAlone) {
  Catalog catalog;
  const uint64_t id = AddTable(catalog, "t", 1);
  const uint64_t other = AddTable(catalog, "u", 10);
  const auto whole = catalog.Snapshot();
  std::vector<ColumnSwap> swaps = {{id, 1, Doubles(3, 2)}, {other, 1, Doubles(3, 20)}};
  ASSERT_TRUE(catalog.SwapColumns(absl::MakeSpan(swaps)));
  EXPECT_EQ(FirstValue(whole->table(id)), 1);
  EXPECT_EQ(FirstValue(whole->table(other)), 10);
  const TableRef held = catalog.Snapshot()->table(id);
  swaps[0].column = Doubles(3, 3);
  ASSERT_TRUE(catalog.SwapColumns(absl::MakeSpan(swaps)));
  EXPECT_EQ(FirstValue(held), 2);
  EXPECT_EQ(FirstValue(catalog.Snapshot()->table(id)), 3);
  EXPECT_EQ(FirstValue(catalog.Snapshot()->table(other)),
            10);  // the swap gave back what was there before
  std::vector<ColumnSwap> gone = {{id, 1, Doubles(3, 4)}, {999, 1, Doubles(3, 4)}};
  EXPECT_FALSE(catalog.SwapColumns(absl::MakeSpan(gone)));
  EXPECT_EQ(FirstValue(catalog.Snapshot()->table(id)), 3);
}

TEST(CatalogTest, WriterSwapsItsOwnVersion) {
  Catalog catalog;
  const uint64_t id = AddTable(catalog, "t", 1);
  {
    const auto writer = catalog.BeginWrite();
    std::vector<ColumnSwap> swaps = {{id, 1, Doubles(3, 2)}};
    writer->SwapColumns(absl::MakeSpan(swaps));
    const Table* mine = writer->state().table(id).get();
    swaps[0].column = Doubles(3, 3);
    writer->SwapColumns(absl::MakeSpan(swaps));
    EXPECT_EQ(writer->state().table(id).get(), mine);
    EXPECT_EQ(FirstValue(writer->state().table(id)), 3);
    EXPECT_EQ(FirstValue(catalog.Snapshot()->table(id)), 1);
  }
  EXPECT_EQ(FirstValue(catalog.Snapshot()->table(id)), 1);
}

TEST(CatalogTest, RefreshTakesCurrentVersions) {
  Catalog catalog;
  const uint64_t id = AddTable(catalog, "t", 1);
  absl::flat_hash_map<uint64_t, TableRef> tables = catalog.Snapshot()->Tables({id});
  AddTable(catalog, "u", 1);
  {
    const auto writer = catalog.BeginWrite();
    writer->Replace(id, MakeTable(3, 7));
    writer->Commit();
  }
  const int64_t before = allocations;
  EXPECT_TRUE(catalog.Refresh(tables));
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(FirstValue(tables.at(id)), 7);
  tables.emplace(999, nullptr);
  EXPECT_FALSE(catalog.Refresh(tables));
}

TEST(CatalogTest, ReadersSeeWholeCommitsWhileColumnsSwap) {
  Catalog catalog;
  const uint64_t a = AddTable(catalog, "a", 0);
  const uint64_t b = AddTable(catalog, "b", 0);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      const auto state = catalog.Snapshot();
      EXPECT_EQ(FirstValue(state->table(a)), FirstValue(state->table(b)));
    }
  });
  for (int i = 1; i <= 2000; ++i) {
    std::vector<ColumnSwap> swaps = {{a, 1, Doubles(3, i)}, {b, 1, Doubles(3, i)}};
    ASSERT_TRUE(catalog.SwapColumns(absl::MakeSpan(swaps)));
  }
  stop = true;
  reader.join();
  EXPECT_EQ(FirstValue(catalog.Snapshot()->table(a)), 2000);
}

}  // namespace
}  // namespace adjoin
