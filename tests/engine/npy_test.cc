#include "engine/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/status.h"

namespace adjoin {
namespace {

std::shared_ptr<MemoryBudget> Unlimited() { return std::make_shared<MemoryBudget>(); }

// A file as numpy.save writes it.
std::string Npy(const std::string& descr, const std::string& shape, const std::string& data,
                bool fortran = false) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Schema Grid(int axes, TypeId value, TypeId axis = TypeId::kInt64) {
  Schema schema;
  for (int d = 0; d < axes; ++d) {
    schema.fields.push_back({std::string(1, static_cast<char>('i' + d)), axis});
    schema.dims.push_back(d);
  }
  schema.fields.push_back({"v", value});
  return schema;
}

class NpyTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/npy_test_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ + "/a.npy";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  absl::StatusOr<TableRef> Read(const std::string& bytes, const Schema& schema) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadNpy(path_, schema, Unlimited());
  }
  // The error without the file's name, which it starts with.
  std::string Error(const std::string& bytes, const Schema& schema) {
    const auto table = Read(bytes, schema);
    if (table.ok()) return "";
    const std::string start = "could not read \"" + path_ + "\" as NPY: ";
    std::string message(table.status().message());
    EXPECT_EQ(message.substr(0, start.size()), start);
    return SqlStateOf(table.status()) + " " + message.substr(start.size());
  }
  std::string Written() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  std::string directory_;
  std::string path_;
};

TEST_F(NpyTest, AMatrixIsAGridTable) {
  const auto table =
      Read(Npy("<f8", "(2, 3)", Bytes<double>({1, 2, 3, 4, 5, 6})), Grid(2, TypeId::kFloat64));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->num_rows(), 6);
  EXPECT_EQ(*(*table)->grid(), (GridShape{{0, 0}, {2, 3}}));
  for (int64_t r = 0; r < 6; ++r) {
    EXPECT_EQ((*table)->value(r, 0), Value::Int(r / 3));
    EXPECT_EQ((*table)->value(r, 1), Value::Int(r % 3));
    EXPECT_EQ((*table)->value(r, 2), Value::Float(static_cast<double>(r + 1)));
  }
}

TEST_F(NpyTest, FortranOrderIsTransposed) {
  const auto table =
      Read(Npy("<i4", "(2, 3, 2)", Bytes<int32_t>({0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}), true),
           Grid(3, TypeId::kInt64));
  ASSERT_TRUE(table.ok()) << table.status();
  for (int64_t r = 0; r < 12; ++r) EXPECT_EQ((*table)->value(r, 3), Value::Int(r));
}

TEST_F(NpyTest, DimsMayComeInAnyColumnOrder) {
  const Schema schema = {{{"v", TypeId::kFloat32}, {"j", TypeId::kInt16}, {"i", TypeId::kInt32}},
                         {2, 1}};
  const auto table = Read(Npy("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4})), schema);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->value(2, 0), Value::Float(3));
  EXPECT_EQ((*table)->value(2, 2), Value::Int(1));
  EXPECT_EQ((*table)->value(2, 1), Value::Int(0));
}

TEST_F(NpyTest, ScalarsVectorsAndEmptyArrays) {
  const auto scalar = Read(Npy("<f8", "()", Bytes<double>({2.5})), Grid(0, TypeId::kFloat64));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ((*scalar)->num_rows(), 1);
  EXPECT_EQ((*scalar)->value(0, 0), Value::Float(2.5));
  const auto vector = Read(Npy("|b1", "(3,)", std::string("\1\0\2", 3)), Grid(1, TypeId::kBool));
  ASSERT_TRUE(vector.ok()) << vector.status();
  EXPECT_EQ((*vector)->value(1, 1), Value::Bool(false));
  EXPECT_EQ((*vector)->column(1)->values<uint8_t>()[2], 1);
  const auto empty = Read(Npy("<f8", "(0, 4)", ""), Grid(2, TypeId::kFloat64));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ((*empty)->num_rows(), 0);
  EXPECT_FALSE((*empty)->grid().has_value());
}

TEST_F(NpyTest, NumbersConvertWhereTheyFit) {
  EXPECT_TRUE(Read(Npy("|i1", "(2,)", "\xff\x01"), Grid(1, TypeId::kInt16)).ok());
  const auto wide = Read(Npy("|u1", "(2,)", "\xff\x01"), Grid(1, TypeId::kFloat64));
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ((*wide)->value(0, 1), Value::Float(255));
  EXPECT_TRUE(
      Read(Npy("<f8", "(2,)", Bytes<double>({1, INFINITY})), Grid(1, TypeId::kFloat32)).ok());
  EXPECT_EQ(Error(Npy("<i8", "(2,)", Bytes<int64_t>({1, 40000})), Grid(1, TypeId::kInt16)),
            "22003 smallint out of range: 40000");
  EXPECT_EQ(Error(Npy("<u8", "(1,)", Bytes<uint64_t>({UINT64_MAX})), Grid(1, TypeId::kInt64)),
            "22003 bigint out of range: 18446744073709551615");
  EXPECT_EQ(Error(Npy("<f8", "(1,)", Bytes<double>({1e39})), Grid(1, TypeId::kFloat32)),
            "22003 real out of range: 1e+39");
  EXPECT_EQ(Error(Npy("<f8", "(1,)", Bytes<double>({1})), Grid(1, TypeId::kInt64)),
            "42804 the array holds float64, the column bigint");
  EXPECT_EQ(Error(Npy("|b1", "(1,)", "\1"), Grid(1, TypeId::kInt64)),
            "42804 the array holds bool, the column bigint");
  EXPECT_EQ(Error(Npy("<i8", "(1,)", Bytes<int64_t>({1})), Grid(1, TypeId::kText)),
            "42804 the array holds int64, the column text");
}

TEST_F(NpyTest, MalformedFiles) {
  const Schema schema = Grid(1, TypeId::kFloat64);
  const std::string good = Npy("<f8", "(10,)", std::string(80, '\0'));
  EXPECT_TRUE(Read(good, schema).ok());
  EXPECT_EQ(Error("", schema), "22P04 it is not an NPY file");
  EXPECT_EQ(Error("i,v\n0,1\n", schema), "22P04 it is not an NPY file");
  EXPECT_EQ(Error(good.substr(0, 9), schema), "22P04 its header is cut short");
  EXPECT_EQ(Error(good.substr(0, 50), schema), "22P04 its header is cut short");
  EXPECT_EQ(Error(good.substr(0, good.size() - 8), schema),
            "22P04 its data is cut short: 80 bytes expected, 72 present");
  EXPECT_EQ(Error(good + "x", schema),
            "22P04 it has more than its data: 80 bytes expected, 81 present");
  EXPECT_EQ(Error(Npy(">f8", "(0,)", ""), schema), "22P04 big-endian data is not supported: >f8");
  EXPECT_EQ(Error(Npy("<f2", "(0,)", ""), schema), "22P04 its element type is not supported: <f2");
  EXPECT_EQ(Error(Npy("<U3", "(0,)", ""), schema), "22P04 its element type is not supported: <U3");
  EXPECT_EQ(Error(Npy("<f8", "(-1,)", ""), schema), "22P04 its header is malformed at shape");
  EXPECT_EQ(Error(Npy("<f8", "(4294967296, 4294967296)", ""), schema),
            "22P04 its shape is too large");
  EXPECT_EQ(Error(Npy("<f8", "(1, 2)", std::string(16, '\0')), schema),
            "22P04 it has 2 axes, the table 1 key columns");
  EXPECT_EQ(Error(Npy("<f8", "(40000,)", std::string(320000, '\0')),
                  Grid(1, TypeId::kFloat64, TypeId::kInt16)),
            "22003 column \"i\" of type smallint cannot number an axis of 40000");
  // Every cut of a good file is an error, never a crash.
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(Error(good.substr(0, size), schema), "");
}

TEST_F(NpyTest, MissingFile) {
  const auto table = ReadNpy(directory_ + "/none.npy", Grid(1, TypeId::kFloat64), Unlimited());
  EXPECT_EQ(SqlStateOf(table.status()), "58P01");
}

TEST_F(NpyTest, WritesWhatItReads) {
  const std::vector<std::pair<std::string, TypeId>> types = {
      {"|b1", TypeId::kBool},  {"<i2", TypeId::kInt16},   {"<i4", TypeId::kInt32},
      {"<i8", TypeId::kInt64}, {"<f4", TypeId::kFloat32}, {"<f8", TypeId::kFloat64}};
  for (const auto& [descr, type] : types) {
    std::string data(static_cast<size_t>(6 * WidthOf(type)), '\0');
    for (size_t i = 0; i < data.size(); i += static_cast<size_t>(WidthOf(type)))
      data[i] = static_cast<char>(i % 2);
    for (const auto& [axes, shape] :
         std::vector<std::pair<int, std::string>>{{1, "(6,)"}, {2, "(2, 3)"}}) {
      const std::string file = Npy(descr, shape, data);
      const auto table = Read(file, Grid(axes, type));
      ASSERT_TRUE(table.ok()) << table.status();
      ASSERT_TRUE(WriteNpy(**table, path_, Unlimited()).ok());
      EXPECT_EQ(Written(), file);
    }
  }
}

TEST_F(NpyTest, WritesQueryResultsWithoutAKey) {
  const Schema keyless = {{{"i", TypeId::kInt32}, {"v", TypeId::kFloat64}}, {}};
  ColumnBuilder i(TypeId::kInt32, Unlimited());
  ColumnBuilder v(TypeId::kFloat64, Unlimited());
  for (int r : {2, 0, 1}) {
    ASSERT_TRUE(i.Append(Value::Int(r)).ok());
    ASSERT_TRUE(v.Append(Value::Float(r * 10)).ok());
  }
  const TableRef table = Table::MakeUnchecked(keyless, {*i.Finish(), *v.Finish()}, 3);
  ASSERT_TRUE(WriteNpy(*table, path_, Unlimited()).ok());
  EXPECT_EQ(Written(), Npy("<f8", "(3,)", Bytes<double>({0, 10, 20})));
}

TEST_F(NpyTest, RefusesWhatIsNoArray) {
  std::ofstream(path_) << "old";
  const auto write = [&](const Schema& schema, const std::vector<std::vector<Value>>& rows) {
    std::vector<ColumnRef> columns;
    for (size_t c = 0; c < schema.fields.size(); ++c) {
      ColumnBuilder builder(schema.fields[c].type, Unlimited());
      for (const auto& row : rows) EXPECT_TRUE(builder.Append(row[c]).ok());
      columns.push_back(*builder.Finish());
    }
    const auto table = Table::Make(schema, columns, std::ssize(rows), Unlimited(), "t");
    EXPECT_TRUE(table.ok()) << table.status();
    const absl::Status status = WriteNpy(**table, path_, Unlimited());
    return SqlStateOf(status) + " " + std::string(status.message());
  };
  const Schema schema = Grid(1, TypeId::kFloat64);
  EXPECT_EQ(write(schema, {{Value::Int(0), Value::Float(1)}, {Value::Int(2), Value::Float(1)}}),
            "22023 cannot write NPY: the key columns do not form a grid");
  EXPECT_EQ(write(schema, {{Value::Int(1), Value::Float(1)}}),
            "22023 cannot write NPY: column \"i\" starts at 1, not 0");
  EXPECT_EQ(write(schema, {{Value::Int(0), Value()}}),
            "22023 cannot write NPY: column \"v\" has NULLs");
  EXPECT_EQ(write(Grid(1, TypeId::kText), {{Value::Int(0), Value::Text("x")}}),
            "22023 cannot write NPY: column \"v\" is of type text");
  EXPECT_EQ(
      write({{{"i", TypeId::kInt64}, {"v", TypeId::kFloat64}, {"w", TypeId::kFloat64}}, {0}}, {}),
      "22023 an NPY array needs one value column besides the key, not 2");
  EXPECT_EQ(write({{{"x", TypeId::kFloat64}, {"v", TypeId::kFloat64}}, {}}, {}),
            "42804 column \"x\" is an axis of an NPY array but of type double precision");
  EXPECT_EQ(write({{{"i", TypeId::kInt64}, {"v", TypeId::kFloat64}}, {}},
                  {{Value::Int(0), Value::Float(1)}, {Value::Int(0), Value::Float(1)}}),
            "22023 cannot write NPY: duplicate key value violates unique constraint \"_pkey\" (Key "
            "(i)=(0) already exists.)");
  EXPECT_EQ(Written(), "old");
}

}  // namespace
}  // namespace adjoin
