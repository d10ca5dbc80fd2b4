#include "engine/arrow.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/status.h"

namespace adjoin {
namespace {

std::shared_ptr<MemoryBudget> Unlimited() { return std::make_shared<MemoryBudget>(); }

const Schema kAllTypes = {{{"b", TypeId::kBool},
                           {"s", TypeId::kInt16},
                           {"i", TypeId::kInt32},
                           {"l", TypeId::kInt64, true},
                           {"f", TypeId::kFloat32},
                           {"g", TypeId::kFloat64},
                           {"t", TypeId::kText},
                           {"d", TypeId::kDate},
                           {"p", TypeId::kTimestamp}},
                          {}};

Value RandomValue(TypeId type, std::mt19937_64& random) {
  const auto v = static_cast<int64_t>(random() % 200) - 100;
  if (type == TypeId::kBool) return Value::Bool(v > 0);
  if (type == TypeId::kText) return Value::Text("text " + std::to_string(v % 5));
  return IsFloat(type) ? Value::Float(static_cast<double>(v) / 4) : Value::Int(v);
}

TableRef RandomTable(int64_t rows) {
  std::mt19937_64 random(static_cast<uint64_t>(rows));
  std::vector<ColumnRef> columns;
  for (const Field& field : kAllTypes.fields) {
    ColumnBuilder builder(field.type, Unlimited());
    for (int64_t r = 0; r < rows; ++r) {
      const bool is_null = !field.not_null && random() % 4 == 0;
      EXPECT_TRUE(builder.Append(is_null ? Value() : RandomValue(field.type, random)).ok());
    }
    columns.push_back(*builder.Finish());
  }
  return Table::MakeUnchecked(kAllTypes, columns, rows);
}

void ExpectSameRows(const Table& a, const Table& b, int64_t b_begin = 0) {
  ASSERT_EQ(a.num_columns(), b.num_columns());
  for (int64_t r = 0; r < a.num_rows(); ++r) {
    for (int c = 0; c < a.num_columns(); ++c)
      ASSERT_EQ(a.value(r, c), b.value(b_begin + r, c)) << r << " " << c;
  }
}

TEST(ArrowTest, RoundTripIsZeroCopyWhereItCan) {
  for (int64_t rows : {0, 1, 7, 8, 1000}) {
    TableRef table = RandomTable(rows);
    auto budget = Unlimited();
    ArrowSchema schema;
    ArrowArray array;
    ASSERT_TRUE(ExportArrow(table, budget, &schema, &array).ok());
    EXPECT_STREQ(schema.format, "+s");
    EXPECT_EQ(schema.n_children, 9);
    EXPECT_STREQ(schema.children[7]->format, "tdD");
    EXPECT_STREQ(schema.children[8]->format, "tsu:");
    EXPECT_STREQ(schema.children[3]->format, "l");
    EXPECT_STREQ(schema.children[3]->name, "l");
    EXPECT_EQ(schema.children[3]->flags, 0);
    EXPECT_EQ(schema.children[5]->flags, ARROW_FLAG_NULLABLE);
    EXPECT_STREQ(schema.children[6]->dictionary->format, "u");
    EXPECT_EQ(array.length, rows);
    EXPECT_EQ(array.children[5]->buffers[1], table->column(5)->data());
    EXPECT_EQ(array.children[5]->null_count, table->column(5)->null_count());
    const void* shared = table->column(5)->data();
    const TableRef copy = RandomTable(rows);
    table.reset();  // the export keeps what it needs
    auto back = ImportArrow(&schema, &array, budget);
    EXPECT_EQ(schema.release, nullptr);
    EXPECT_EQ(array.release, nullptr);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ((*back)->num_rows(), rows);
    if (rows > 0) {
      EXPECT_EQ((*back)->column(5)->data(), shared);
      EXPECT_EQ((*back)->schema().fields, kAllTypes.fields);
    }
    ExpectSameRows(*copy, **back);
    back = absl::CancelledError("");
    EXPECT_EQ(budget->used(), 0);
  }
}

TEST(ArrowTest, ChildrenMayBeMovedOut) {
  auto budget = Unlimited();
  ArrowSchema schema;
  ArrowArray array;
  ASSERT_TRUE(ExportArrow(RandomTable(10), budget, &schema, &array).ok());
  ArrowArray child = *array.children[6];
  array.children[6]->release = nullptr;
  array.release(&array);
  schema.release(&schema);
  EXPECT_GT(budget->used(), 0);
  EXPECT_EQ(child.dictionary->n_buffers, 3);
  EXPECT_LE(static_cast<const int32_t*>(child.dictionary->buffers[1])[child.dictionary->length],
            1000);
  child.release(&child);
  EXPECT_EQ(budget->used(), 0);
}

TEST(ArrowTest, ExportStopsAtTheBudget) {
  ArrowSchema schema = {};
  ArrowArray array = {};
  auto budget = std::make_shared<MemoryBudget>(100);
  EXPECT_EQ(SqlStateOf(ExportArrow(RandomTable(1000), budget, &schema, &array)), "53200");
  EXPECT_EQ(schema.release, nullptr);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_EQ(budget->used(), 0);
}

TEST(ArrowTest, OffsetsOfBatchAndColumns) {
  const TableRef table = RandomTable(100);
  for (int64_t offset : {3, 8, 17}) {
    ArrowSchema schema;
    ArrowArray array;
    ASSERT_TRUE(ExportArrow(table, Unlimited(), &schema, &array).ok());
    array.offset = offset;
    array.length = 50;
    array.children[4]->offset = 0;
    // A column may start elsewhere than its batch.
    array.children[5]->offset = 5;
    array.children[5]->length = 95;
    const auto back = ImportArrow(&schema, &array, Unlimited());
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ((*back)->num_rows(), 50);
    for (int64_t r = 0; r < 50; ++r) {
      for (int c = 0; c < 7; ++c) {
        ASSERT_EQ((*back)->value(r, c), table->value(r + offset + (c == 5 ? 5 : 0), c))
            << r << " " << c;
      }
    }
  }
}

// Arrow structs by hand, which count their releases.
struct Foreign {
  int released = 0;
  std::vector<const void*> buffers;
  ArrowArray child = {}, root = {}, values = {};
  ArrowSchema child_schema = {}, root_schema = {}, values_schema = {};
  ArrowArray* child_pointer = &child;
  ArrowSchema* child_schema_pointer = &child_schema;
  const void* no_buffers[1] = {nullptr};
  std::vector<const void*> value_buffers;

  Foreign(const char* format, int64_t length, int64_t null_count,
          std::vector<const void*> column_buffers)
      : buffers(std::move(column_buffers)) {
    child.length = length;
    child.null_count = null_count;
    child.n_buffers = std::ssize(buffers);
    child.buffers = buffers.data();
    root.length = length;
    root.n_buffers = 1;
    root.buffers = no_buffers;
    root.n_children = 1;
    root.children = &child_pointer;
    root.private_data = this;
    root.release = [](ArrowArray* a) {
      ++static_cast<Foreign*>(a->private_data)->released;
      a->release = nullptr;
    };
    child_schema.format = format;
    child_schema.name = "x";
    child_schema.flags = ARROW_FLAG_NULLABLE;
    root_schema.format = "+s";
    root_schema.n_children = 1;
    root_schema.children = &child_schema_pointer;
    root_schema.private_data = this;
    root_schema.release = [](ArrowSchema* s) {
      ++static_cast<Foreign*>(s->private_data)->released;
      s->release = nullptr;
    };
  }
  void SetDictionary(const char* format, int64_t length, std::vector<const void*> from) {
    value_buffers = std::move(from);
    values.length = length;
    values.n_buffers = 3;
    values.buffers = value_buffers.data();
    values_schema.format = format;
    child.dictionary = &values;
    child_schema.dictionary = &values_schema;
  }
  absl::StatusOr<TableRef> Import() { return ImportArrow(&root_schema, &root, Unlimited()); }
};

TEST(ArrowTest, ReleasesWhenTheLastColumnGoes) {
  const double values[] = {1, 2, 3};
  Foreign foreign("g", 3, 0, {nullptr, values});
  auto table = foreign.Import();
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->column(0)->data(), values);
  EXPECT_EQ(foreign.released, 1);  // the schema
  ColumnRef column = (*table)->column(0);
  table = absl::CancelledError("");
  EXPECT_EQ(foreign.released, 1);
  column.reset();
  EXPECT_EQ(foreign.released, 2);
}

TEST(ArrowTest, NarrowAndUnsignedIntegersWiden) {
  const uint8_t valid[] = {0b101};
  const int8_t bytes[] = {-128, 0, 127};
  Foreign three_bytes("c", 3, 1, {valid, bytes});
  const auto narrow = three_bytes.Import();
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ((*narrow)->schema().fields[0].type, TypeId::kInt16);
  EXPECT_EQ((*narrow)->value(0, 0), Value::Int(-128));
  EXPECT_EQ((*narrow)->value(1, 0), Value());
  const uint32_t words[] = {UINT32_MAX, 1};
  Foreign two_words("I", 2, 0, {nullptr, words});
  EXPECT_EQ((*two_words.Import())->value(0, 0), Value::Int(UINT32_MAX));
  const uint64_t longs[] = {1, UINT64_MAX, 3};
  Foreign null_is_large("L", 3, -1, {valid, longs});
  EXPECT_TRUE(null_is_large.Import().ok());  // too large, but NULL
  Foreign too_large("L", 3, 0, {nullptr, longs});
  EXPECT_EQ(SqlStateOf(too_large.Import().status()), "22003");
  EXPECT_EQ(too_large.released, 2);
}

TEST(ArrowTest, TextsAndDictionaries) {
  const int32_t offsets[] = {0, 3, 3, 6};
  const uint8_t valid[] = {0b101};
  Foreign texts("u", 3, 1, {valid, offsets, "abcabc"});
  const auto plain = texts.Import();
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ((*plain)->value(0, 0), Value::Text("abc"));
  EXPECT_EQ((*plain)->value(1, 0), Value());
  EXPECT_EQ((*plain)->column(0)->values<int32_t>()[0], (*plain)->column(0)->values<int32_t>()[2]);

  // Repeated texts become one code; the code under a NULL may be anything.
  const int32_t codes[] = {2, -77, 0};
  Foreign repeated("i", 3, 1, {valid, codes});
  repeated.SetDictionary("u", 3, {nullptr, offsets, "abcabc"});
  const auto mapped = repeated.Import();
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_EQ((*mapped)->value(0, 0), Value::Text("abc"));
  EXPECT_EQ((*mapped)->value(1, 0), Value());
  EXPECT_EQ((*mapped)->column(0)->values<int32_t>()[0], (*mapped)->column(0)->values<int32_t>()[2]);
  EXPECT_EQ((*mapped)->column(0)->text(1), "");

  const int64_t long_offsets[] = {0, 1, 2};
  const uint8_t bytes[] = {1, 0};
  Foreign small("C", 2, 0, {nullptr, bytes});
  small.SetDictionary("U", 2, {nullptr, long_offsets, "xy"});
  const auto table = small.Import();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->value(0, 0), Value::Text("y"));

  const int32_t outside[] = {0, 3};
  Foreign bad("i", 2, 0, {nullptr, outside});
  bad.SetDictionary("u", 3, {nullptr, offsets, "abcabc"});
  EXPECT_EQ(bad.Import().status().message(), "code outside its Arrow dictionary, in column: x");
}

TEST(ArrowTest, DecimalsTakeTheLargestScale) {
  ColumnBuilder builder(TypeId::kDecimal, Unlimited());
  for (const char* text : {"1.5", "-2.125", "7"})
    ASSERT_TRUE(builder.Append(Value::Of(*ParseDecimal(text))).ok());
  ASSERT_TRUE(builder.AppendNull().ok());
  const TableRef table =
      Table::MakeUnchecked({{{"v", TypeId::kDecimal}}, {}}, {*builder.Finish()}, 4);
  ArrowSchema schema;
  ArrowArray array;
  ASSERT_TRUE(ExportArrow(table, Unlimited(), &schema, &array).ok());
  EXPECT_STREQ(schema.children[0]->format, "d:38,3");
  EXPECT_EQ(static_cast<const int64_t*>(array.children[0]->buffers[1])[2], -2125);
  const auto back = ImportArrow(&schema, &array, Unlimited());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToText((*back)->value(0, 0), TypeId::kDecimal), "1.500");
  EXPECT_EQ(ToText((*back)->value(1, 0), TypeId::kDecimal), "-2.125");
  EXPECT_TRUE((*back)->value(3, 0).is_null());
}

TEST(ArrowTest, RefusesOtherTypes) {
  Foreign time("ttm", 1, 0, {nullptr, "    "});
  const auto table = time.Import();
  EXPECT_EQ(SqlStateOf(table.status()), "42804");
  EXPECT_EQ(table.status().message(), "unsupported Arrow type of column \"x\": ttm");
  EXPECT_EQ(time.released, 2);
  Foreign not_struct("g", 0, 0, {nullptr, nullptr});
  not_struct.root_schema.format = "g";
  EXPECT_EQ(not_struct.Import().status().message(),
            "an Arrow record batch is a struct (+s), not: g");
}

}  // namespace
}  // namespace adjoin
