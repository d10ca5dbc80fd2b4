// Drives the `adjoin` binary as a user would: arguments and standard input in, both streams and the
// exit code out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

struct Outcome {
  int code = -1;
  std::string out, err;
};

class ShellTest : public ::testing::Test {
 protected:
  ShellTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjoin_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~ShellTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  std::string Read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  static std::string Quote(const std::string& text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  // Runs the shell in its folder with `arguments` (shell syntax) and `input` on standard input.
  Outcome Run(const std::string& arguments, const std::string& input = "") const {
    Write("stdin", input);
    const std::string command = "cd " + Quote(folder_.string()) + " && HOME=. " +
                                Quote(ADJOIN_SHELL) + " " + arguments +
                                " < stdin > stdout 2> stderr";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Read("stdout"), Read("stderr")};
  }

  std::filesystem::path folder_;
};

TEST_F(ShellTest, PrintsTablesAsPsqlDoes) {
  const Outcome run =
      Run("-c " + Quote("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION, s TEXT);"
                        "INSERT INTO t VALUES (1, 0.5, 'a'), (20, NULL, 'über'), (3, 1e300, NULL);"
                        "SELECT * FROM t; SELECT k FROM t WHERE k = 1"));
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out,
            "CREATE TABLE\n"
            "INSERT 0 3\n"
            " k  |   v    |  s   \n"
            "----+--------+------\n"
            "  1 |    0.5 | a\n"
            " 20 |        | über\n"
            "  3 | 1e+300 | \n"
            "(3 rows)\n"
            "\n"
            " k \n"
            "---\n"
            " 1\n"
            "(1 row)\n"
            "\n");
}

TEST_F(ShellTest, PrintsDatesAndIntervals) {
  const std::string sql =
      " -c " + Quote(
                   "SELECT DATE '1999-12-31' AS d, TIMESTAMP '2000-02-29 23:59:59.5' AS p, "
                   "INTERVAL '1 mon -2 days' AS v");
  EXPECT_EQ(Run(sql).out,
            "     d      |           p           |       v       \n"
            "------------+-----------------------+---------------\n"
            " 1999-12-31 | 2000-02-29 23:59:59.5 | 1 mon -2 days\n"
            "(1 row)\n"
            "\n");
  EXPECT_EQ(Run("--format json" + sql).out,
            "[\n  {\"d\": \"1999-12-31\", \"p\": \"2000-02-29 23:59:59.5\", "
            "\"v\": \"1 mon -2 days\"}\n]\n");
}

TEST_F(ShellTest, PrintsNumerics) {
  const std::string sql =
      " -c " + Quote("SELECT * FROM (VALUES (NUMERIC '1.50', 1), (NULL, 2), (-10, 3)) AS v(n, i)");
  EXPECT_EQ(Run(sql).out,
            "  n   | i \n"
            "------+---\n"
            " 1.50 | 1\n"
            "      | 2\n"
            "  -10 | 3\n"
            "(3 rows)\n"
            "\n");
  EXPECT_EQ(Run("--format json" + sql).out,
            "[\n  {\"n\": 1.50, \"i\": 1},\n  {\"n\": null, \"i\": 2},\n  {\"n\": -10, "
            "\"i\": 3}\n]\n");
  EXPECT_EQ(Run("--format csv" + sql).out, "n,i\n1.50,1\n,2\n-10,3\n");
}

TEST_F(ShellTest, PrintsCsvAndJson) {
  const std::string sql =
      " -c " +
      Quote("SELECT 1 AS a, 'x,\"y\"' AS b, NULL AS c, TRUE AS d, CAST('NaN' AS REAL) AS e");
  EXPECT_EQ(Run("--format csv" + sql).out, "a,b,c,d,e\n1,\"x,\"\"y\"\"\",,t,NaN\n");
  EXPECT_EQ(
      Run("--format json" + sql).out,
      "[\n  {\"a\": 1, \"b\": \"x,\\\"y\\\"\", \"c\": null, \"d\": true, \"e\": \"NaN\"}\n]\n");
  EXPECT_EQ(Run("--format json -c 'SELECT 1 AS a WHERE FALSE'").out, "[]\n");
  EXPECT_EQ(Run("--format csv -c 'CREATE TABLE t (v INTEGER)'").out, "");
}

TEST_F(ShellTest, ErrorsLookLikePsqlsAndStop) {
  const Outcome run = Run("-c 'SELECT 1 AS one' -c 'SELECT x' -c 'SELECT 2 AS two'");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, HasSubstr("one"));
  EXPECT_THAT(run.out, Not(HasSubstr("two")));
  EXPECT_EQ(run.err,
            "ERROR:  column \"x\" does not exist\n"
            "LINE 1: SELECT x\n"
            "               ^\n");
}

TEST_F(ShellTest, FileErrorsNameTheLine) {
  Write("a.sql",
        "CREATE TABLE t (k INTEGER PRIMARY KEY);\n-- a comment; with a semicolon\nINSERT INTO t "
        "VALUES (1);\n\n"
        "SELECT *\nFROM nope;\nSELECT 3;\n");
  const Outcome run = Run("-f a.sql");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "CREATE TABLE\nINSERT 0 1\n");
  EXPECT_EQ(run.err,
            "adjoin:a.sql:6: ERROR:  relation \"nope\" does not exist\n"
            "LINE 2: FROM nope\n"
            "             ^\n");
  Write("b.sql", "CREATE TABLE t (k INTEGER PRIMARY KEY);\nINSERT INTO t VALUES (1), (1);\n");
  EXPECT_EQ(Run("-f b.sql").err,
            "adjoin:b.sql:2: ERROR:  duplicate key value violates unique constraint \"t_pkey\"\n"
            "DETAIL:  Key (k)=(1) already exists.\n");
  Write("c.sql", "SELECT 1;\nSELECT 'open\n;\n");
  const Outcome open = Run("-f c.sql");
  EXPECT_EQ(open.code, 1);
  EXPECT_THAT(open.err, HasSubstr("adjoin:c.sql:2: ERROR:  unterminated quoted string at or near"));
  EXPECT_THAT(Run("-f missing.sql").err,
              HasSubstr("adjoin: missing.sql: No such file or directory"));
  EXPECT_EQ(Run("-f missing.sql").code, 1);
}

TEST_F(ShellTest, RunsInTheOrderOfTheCommandLine) {
  Write("a.sql", "INSERT INTO t VALUES (2);\n");
  const Outcome run =
      Run("--format csv -c 'CREATE TABLE t (v INTEGER)' -f a.sql -c 'SELECT v FROM t'");
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "v\n2\n");
}

TEST_F(ShellTest, ReadsStandardInput) {
  const Outcome run = Run("--format csv", "SELECT 1 AS a;\nSELECT 2\n  AS b;\n");
  EXPECT_EQ(run.out, "a\n1\nb\n2\n");
  EXPECT_EQ(run.code, 0);
  const Outcome bad = Run("", "SELECT 1 +;\n");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("adjoin:<stdin>:1: ERROR:  syntax error at"));
}

TEST_F(ShellTest, BackslashCommands) {
  Write("inner.sql", "INSERT INTO t VALUES (0, 7), (1, 8);\n");
  const Outcome run = Run("",
                          "CREATE TABLE t (i BIGINT PRIMARY KEY, v DOUBLE PRECISION);\n"
                          "CREATE VIEW w AS SELECT v FROM t;\n"
                          "\\i inner.sql\n\\d\n\\d t\n\\timing\nSELECT 1;\n\\q\nSELECT nope;\n");
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr(" t    | table |    2 | grid 2\n"));
  EXPECT_THAT(run.out, HasSubstr(" w    | view  |      | \n"));
  EXPECT_THAT(run.out, HasSubstr(" i                        | bigint           | not null\n"));
  EXPECT_THAT(run.out, HasSubstr("Primary key: (i)\n"));
  EXPECT_THAT(run.out, HasSubstr("Time: "));
  const Outcome unknown = Run("", "\\nope\n");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("invalid command \\nope"));
  EXPECT_THAT(Run("", "\\d nope\n").err, HasSubstr("Did not find any relation named \"nope\"."));
  EXPECT_EQ(Run("", "SELECT '\n\\d nope\n' IS NULL AS x;\n").code, 0);
}

TEST_F(ShellTest, RepeatRunsTheNextStatement) {
  const Outcome run = Run("",
                          "CREATE TABLE t (v INTEGER);\n\\repeat 5\nINSERT INTO t VALUES (1);\n"
                          "SELECT COUNT(*) AS n FROM t;\n");
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out,
              MatchesRegex("CREATE TABLE\nINSERT 0 1\n5 runs: min [0-9.]* ms, median [0-9.]* ms\n"
                           " n \n---\n 5\n\\(1 row\\)\n\n"));
}

TEST_F(ShellTest, NoticesGoToStandardError) {
  EXPECT_EQ(Run("-c 'DROP TABLE IF EXISTS t'").err,
            "NOTICE:  table \"t\" does not exist, skipping\n");
}

TEST_F(ShellTest, CalibrateWritesWhatAdjoinCostsReads) {
  EXPECT_EQ(Run("calibrate costs.json").code, 0);
  const std::string written = Read("costs.json");
  EXPECT_THAT(written, HasSubstr("\"product_gflops_f32\": "));
  const Outcome read = Run("-c \"SET adjoin.costs = 'costs.json'\" -c 'SHOW adjoin.costs'");
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("costs.json"));
  const Outcome nowhere = Run("calibrate no/such/folder/costs.json");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("No such file or directory"));
}

TEST_F(ShellTest, ChecksItsArguments) {
  EXPECT_EQ(Run("--threads 0").code, 1);
  EXPECT_EQ(Run("--nope").code, 1);
  EXPECT_EQ(Run("--memory-limit many -c 'SELECT 1'").err,
            "adjoin: --memory-limit is no size such as 512MB or 4GB: many\n");
  EXPECT_EQ(Run("--threads 2 --memory-limit 1GB --format csv -c 'SHOW adjoin.threads' -c 'SHOW "
                "memory_limit'")
                .out,
            "adjoin.threads\n2\nmemory_limit\n1GB\n");
  EXPECT_THAT(Run("--help").out, HasSubstr("--memory-limit"));
  EXPECT_EQ(Run("--temp-directory /tmp --format csv -c 'SHOW adjoin.temp_directory'").out,
            "adjoin.temp_directory\n/tmp\n");
  EXPECT_EQ(Run("--help").code, 0);
}

}  // namespace
