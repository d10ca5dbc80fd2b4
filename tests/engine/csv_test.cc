#include "engine/csv.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "engine/file.h"
#include "engine/status.h"

namespace adjoin {
namespace {

const std::vector<Field> kFields = {
    {"a", TypeId::kInt32}, {"b", TypeId::kFloat64}, {"c", TypeId::kText}};

absl::StatusOr<TableRef> Parse(std::string_view text, const CsvOptions& options = {},
                               const std::vector<Field>& fields = kFields) {
  return ParseCsv(text, "f.csv", fields, options, std::make_shared<MemoryBudget>());
}

std::string Show(const absl::StatusOr<TableRef>& table) {
  if (!table.ok()) return SqlStateOf(table.status()) + " " + std::string(table.status().message());
  std::string out;
  for (int64_t r = 0; r < (*table)->num_rows(); ++r) {
    for (int c = 0; c < (*table)->num_columns(); ++c) {
      const Column& column = *(*table)->column(c);
      out += (c > 0 ? "|" : "") +
             (column.is_null(r) ? "NULL" : ToText(column.value(r), column.type()));
    }
    out += ";";
  }
  return out;
}

TEST(CsvReaderTest, QuotesNullsAndLineEnds) {
  EXPECT_EQ(Show(Parse("1,2.5,x\n2,,\"\"\n")), "1|2.5|x;2|NULL|;");
  EXPECT_EQ(Show(Parse("1,2.5,x\r\n2,3,y")), "1|2.5|x;2|3|y;");
  EXPECT_EQ(Show(Parse("1,\" 2 \",\"say \"\"hi\"\", \nthen\"\n-7,NaN,q\n")),
            "1|2|say \"hi\", \nthen;-7|NaN|q;");
  EXPECT_EQ(Show(Parse("1,2,a\"b,c\"d\n")), "1|2|ab,cd;");
  EXPECT_EQ(Show(Parse("\xef\xbb\xbf"
                       "1,2,x")),
            "1|2|x;");
  EXPECT_EQ(Show(Parse("")), "");
  EXPECT_EQ(Show(Parse("1,2,")), "1|2|NULL;");
  EXPECT_EQ(Show(Parse("x\n\n\"\"\n", {}, {{"t", TypeId::kText}})), "x;NULL;;");
}

TEST(CsvReaderTest, Options) {
  CsvOptions options;
  options.delimiter = ';';
  options.null_text = "\\N";
  options.header = CsvOptions::Header::kSkip;
  EXPECT_EQ(Show(Parse("any;thing\n1;\\N;\"\\N\"\n2;3;\n", options)), "1|NULL|\\N;2|3|;");
  EXPECT_EQ(Show(Parse("h\n", options)), "");
  options.header = CsvOptions::Header::kMatch;
  EXPECT_EQ(Show(Parse("a;b;c\n1;2;x\n", options)), "1|2|x;");
  EXPECT_EQ(Show(Parse("a;x;c\n", options)),
            "22P04 column name mismatch in header line field 2: got \"x\", expected \"b\" (f.csv, "
            "line 1, column 2 \"b\")");
  EXPECT_EQ(Show(Parse("a;b\n", options)),
            "22P04 wrong number of fields in header line: got 2, expected 3 (f.csv, line 1, column "
            "2 \"b\")");
}

TEST(CsvReaderTest, ContradictoryOptions) {
  CsvOptions options;
  options.delimiter = '"';
  EXPECT_EQ(Show(Parse("", options)), "22023 COPY delimiter and quote must be different");
  options.delimiter = '\n';
  EXPECT_EQ(Show(Parse("", options)), "22023 COPY delimiter cannot be newline or carriage return");
  options.delimiter = ',';
  options.null_text = "a,b";
  EXPECT_EQ(Show(Parse("", options)),
            "22023 COPY delimiter must not appear in the NULL specification");
  options.null_text = "\"";
  EXPECT_EQ(Show(Parse("", options)),
            "22023 CSV quote character must not appear in the NULL specification");
  options.null_text = "\r";
  EXPECT_EQ(Show(Parse("", options)),
            "22023 COPY null representation cannot use newline or carriage return");
}

TEST(CsvReaderTest, ErrorsNameTheirPlace) {
  EXPECT_EQ(Show(Parse("1,2,x\n\nx,2,y\n")),
            "22P04 missing data for column \"b\" (f.csv, line 2, column 2 \"b\")");
  EXPECT_EQ(Show(Parse("1,2,x\nx,2,y\n")),
            "22P02 invalid input syntax for type integer: \"x\" (f.csv, line 2, column 1 \"a\")");
  EXPECT_EQ(
      Show(Parse("1,2,\"x\n\n\"\n1,1e999,y\n")),
      "22003 \"1e999\" is out of range for type double precision (f.csv, line 4, column 2 \"b\")");
  EXPECT_EQ(Show(Parse("1,2,x\n3000000000,2,x\n")),
            "22003 value \"3000000000\" is out of range for type integer (f.csv, line 2, column 1 "
            "\"a\")");
  EXPECT_EQ(Show(Parse("1,2,x\n1,2\n")),
            "22P04 missing data for column \"c\" (f.csv, line 2, column 3 \"c\")");
  EXPECT_EQ(Show(Parse("1,2,x\n1,2,x,4\n")),
            "22P04 extra data after last expected column (f.csv, line 2, column 4)");
  EXPECT_EQ(Show(Parse("1,2,x\n1,2,x,")),
            "22P04 extra data after last expected column (f.csv, line 2, column 4)");
  EXPECT_EQ(Show(Parse("1,2,x\n1,2,\"x\n3,4,y\n")),
            "22P04 unterminated CSV quoted field (f.csv, line 2, column 3 \"c\")");
  EXPECT_EQ(Show(Parse("1,2,x\ry\n")),
            "22P04 unquoted carriage return found in data (f.csv, line 1, column 3 \"c\")");
  EXPECT_EQ(
      Show(Parse("1,\"\",x\n")),
      "22P02 invalid input syntax for type double precision: \"\" (f.csv, line 1, column 2 \"b\")");
}

TEST(CsvReaderTest, ManyBatchesAndProgress) {
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text += std::to_string(i) + ",0.5,\"t" + std::to_string(i % 10) + "\"\n";
  CsvOptions options;
  double last = 0;
  int calls = 0;
  options.progress = [&](double fraction) {
    EXPECT_GT(fraction, last);
    last = fraction;
    ++calls;
    return absl::OkStatus();
  };
  const auto table = Parse(text, options);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->num_rows(), 200000);
  EXPECT_EQ((*table)->column(2)->dictionary()->size(), 10);
  EXPECT_EQ((*table)->value(199999, 0), Value::Int(199999));
  EXPECT_EQ((*table)->value(123457, 2), Value::Text("t7"));
  EXPECT_GT(calls, 2);
  options.progress = [](double) { return SqlError(sqlstate::kQueryCanceled, "stop"); };
  EXPECT_EQ(Show(Parse(text, options)), "57014 stop");
}

class CsvFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/csv_test_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string Path(std::string_view name) const { return directory_ + "/" + std::string(name); }
  std::string Read(std::string_view name) const {
    std::ostringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  int64_t Files() const {
    return std::distance(std::filesystem::directory_iterator(directory_),
                         std::filesystem::directory_iterator());
  }
  std::string directory_;
};

TEST_F(CsvFileTest, MissingFilesAndDirectories) {
  const auto budget = std::make_shared<MemoryBudget>();
  EXPECT_EQ(Show(ReadCsv(Path("none.csv"), kFields, {}, budget)),
            "58P01 could not open file \"" + Path("none.csv") +
                "\" for reading: No such file or directory");
  EXPECT_EQ(Show(ReadCsv(directory_, kFields, {}, budget)),
            "42809 \"" + directory_ + "\" is a directory");
  const auto table = Parse("1,2,x\n");
  const absl::Status status = WriteCsv(**table, Path("no/such.csv"), {});
  EXPECT_EQ(SqlStateOf(status), "58P01");
  EXPECT_EQ(status.message(), "could not open file \"" + Path("no/such.csv") +
                                  "\" for writing: No such file or directory");
}

TEST_F(CsvFileTest, WritesQuotesOnlyWhereNeeded) {
  const auto table =
      Parse("1,,\"\"\n2,0.1,\"a,b\"\n3,1e120,\"q\"\"q\"\n,Infinity,\"l\nl\"\n4,-0,plain\n");
  CsvOptions options;
  options.header = CsvOptions::Header::kSkip;
  ASSERT_TRUE(WriteCsv(**table, Path("f.csv"), options).ok());
  EXPECT_EQ(Read("f.csv"),
            "a,b,c\n1,,\"\"\n2,0.1,\"a,b\"\n3,1e+120,\"q\"\"q\"\n,Infinity,\"l\nl\"\n4,-0,plain\n");
  EXPECT_EQ(Files(), 1);
  const auto back = ReadCsv(Path("f.csv"), kFields, options, std::make_shared<MemoryBudget>());
  EXPECT_EQ(Show(back), Show(table));
}

TEST_F(CsvFileTest, FloatsKeepTheirBits) {
  std::mt19937_64 random(11);
  ColumnBuilder doubles(TypeId::kFloat64, std::make_shared<MemoryBudget>());
  ColumnBuilder reals(TypeId::kFloat32, std::make_shared<MemoryBudget>());
  for (int i = 0; i < 10000; ++i) {
    const auto d = std::bit_cast<double>(random());
    const auto f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    ASSERT_TRUE(doubles.Append(Value::Float(std::isnan(d) ? 0.5 : d)).ok());
    ASSERT_TRUE(reals.Append(Value::Float(std::isnan(f) ? 0.5 : static_cast<double>(f))).ok());
  }
  const std::vector<Field> fields = {{"d", TypeId::kFloat64}, {"r", TypeId::kFloat32}};
  const TableRef table =
      Table::MakeUnchecked({fields, {}}, {*doubles.Finish(), *reals.Finish()}, 10000);
  ASSERT_TRUE(WriteCsv(*table, Path("f.csv"), {}).ok());
  const auto back = ReadCsv(Path("f.csv"), fields, {}, std::make_shared<MemoryBudget>());
  ASSERT_TRUE(back.ok()) << back.status();
  for (int64_t r = 0; r < 10000; ++r) {
    for (int c = 0; c < 2; ++c) ASSERT_EQ((*back)->value(r, c), table->value(r, c));
  }
}

TEST_F(CsvFileTest, AnAbandonedFileLeavesTheOldOne) {
  std::ofstream(Path("f.csv")) << "old";
  {
    const auto file = OutputFile::Create(Path("f.csv"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Write("half of it").ok());
    EXPECT_EQ(Read("f.csv"), "old");
  }
  EXPECT_EQ(Read("f.csv"), "old");
  EXPECT_EQ(Files(), 1);
}

TEST_F(CsvFileTest, KeepsLinksAndModesAndWritesDevices) {
  std::ofstream(Path("real.csv")) << "old";
  chmod(Path("real.csv").c_str(), 0640);
  std::filesystem::create_symlink(Path("real.csv"), Path("link.csv"));
  const auto table = Parse("1,2,x\n");
  ASSERT_TRUE(WriteCsv(**table, Path("link.csv"), {}).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link.csv")));
  EXPECT_EQ(Read("real.csv"), "1,2,x\n");
  struct stat info;
  ASSERT_EQ(stat(Path("real.csv").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  ASSERT_TRUE(WriteCsv(**table, "/dev/null", {}).ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(SqlStateOf(WriteCsv(**table, "/dev/full", {})), "53100");
}

}  // namespace
}  // namespace adjoin
