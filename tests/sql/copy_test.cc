// COPY: files in and out, and that a failing one changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

using ::testing::HasSubstr;

class CopyTest : public ConnectionTest {
 protected:
  CopyTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjoin_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~CopyTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  std::string ReadFile(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  std::filesystem::path folder_;
};

TEST_F(CopyTest, CsvInAndOut) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION, s TEXT)");
  WriteFile("in.csv", "k;v;s\n1;0.1;a\n2;;\"x;y\"\n");
  EXPECT_EQ(Tag("COPY t FROM '" + Path("in.csv") + "' WITH (FORMAT csv, HEADER, DELIMITER ';')"),
            "COPY 2");
  EXPECT_EQ(Rows("SELECT * FROM t ORDER BY k"), "1 | 0.1 | a\n2 | NULL | x;y\n");
  EXPECT_EQ(Tag("COPY (SELECT s, k FROM t ORDER BY k DESC) TO '" + Path("out.csv") +
                "' (FORMAT csv, HEADER, NULL 'none')"),
            "COPY 2");
  EXPECT_EQ(ReadFile("out.csv"), "s,k\nx;y,2\na,1\n");
  WriteFile("some.csv", "3\n4\n");
  Run("COPY t (k) FROM '" + Path("some.csv") + "' CSV");
  EXPECT_EQ(Rows("SELECT * FROM t WHERE k > 2 ORDER BY k"), "3 | NULL | NULL\n4 | NULL | NULL\n");
}

TEST_F(CopyTest, CsvOfDatesAndIntervals) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, d DATE, p TIMESTAMP, v INTERVAL)");
  WriteFile("in.csv",
            "1,1999-12-31,2000-02-29 23:59:59.5,1 mon -2 days\n2,,,\n"
            "3,infinity,1/2/2000 12:00 pm,\"1 year, 4:05\"\n");
  Run("COPY t FROM '" + Path("in.csv") + "' (FORMAT csv)");
  Run("COPY (SELECT * FROM t ORDER BY k) TO '" + Path("out.csv") + "' (FORMAT csv, HEADER)");
  EXPECT_EQ(ReadFile("out.csv"),
            "k,d,p,v\n1,1999-12-31,2000-02-29 23:59:59.5,1 mon -2 days\n2,,,\n"
            "3,infinity,2000-01-02 12:00:00,1 year 04:05:00\n");
  WriteFile("bad.csv", "4,2000-13-01,,\n");
  const std::string from = "COPY t FROM '" + Path("bad.csv") + "' (FORMAT csv)";
  EXPECT_THAT(Error(from), HasSubstr("22008 date/time field value out of range: \"2000-13-01\""));
  WriteFile("bad.csv", "4,,,x\n");
  EXPECT_THAT(Error(from), HasSubstr("22007 invalid input syntax for type interval: \"x\""));
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM t"), "3\n");
}

TEST_F(CopyTest, FailedCopiesChangeNothing) {
  Run("CREATE TABLE t (k INTEGER PRIMARY KEY, v DOUBLE PRECISION); INSERT INTO t VALUES (1, 1)");
  WriteFile("bad.csv", "2,2\n3,x\n");
  const std::string from = "COPY t FROM '" + Path("bad.csv") + "' (FORMAT csv)";
  EXPECT_THAT(Error(from),
              HasSubstr("22P02 invalid input syntax for type double precision: \"x\""));
  EXPECT_THAT(Error(from), HasSubstr("line 2, column 2"));
  WriteFile("bad.csv", "2,2\n1,3\n");
  EXPECT_EQ(Error(from).substr(0, 5), "23505");
  WriteFile("bad.csv", "2,2,2\n");
  EXPECT_EQ(Error(from).substr(0, 5), "22P04");
  EXPECT_THAT(
      Error("COPY t FROM '/nowhere/x.csv' (FORMAT csv)"),
      HasSubstr(
          "58P01 could not open file \"/nowhere/x.csv\" for reading: No such file or directory"));
  EXPECT_EQ(Error("COPY nope FROM '" + Path("bad.csv") + "' (FORMAT csv)"),
            "42P01 relation \"nope\" does not exist");
  EXPECT_EQ(Error("COPY t (nope) FROM '" + Path("bad.csv") + "' (FORMAT csv)"),
            "42703 column \"nope\" of relation \"t\" does not exist");
  EXPECT_EQ(Error("COPY t FROM '" + Path("bad.csv") + "'").substr(0, 5), "0A000");
  EXPECT_EQ(Error("COPY t TO '" + Path("o") + "' (FORMAT csv, NOPE 1)"),
            "42601 option \"nope\" not recognized");
  EXPECT_EQ(Error("COPY t TO '" + Path("o") + "' (FORMAT csv, DELIMITER 'ab')"),
            "0A000 COPY delimiter must be a single one-byte character");
  WriteFile("keep.csv", "kept");
  EXPECT_EQ(Error("COPY (SELECT 1 / (k - 1) FROM t) TO '" + Path("keep.csv") + "' (FORMAT csv)")
                .substr(0, 5),
            "22012");
  EXPECT_EQ(ReadFile("keep.csv"), "kept");
  EXPECT_EQ(Rows("SELECT * FROM t"), "1 | 1\n");
}

TEST_F(CopyTest, NpyIsAGrid) {
  Run("CREATE TABLE g (i BIGINT, j BIGINT, val DOUBLE PRECISION, PRIMARY KEY (i, j))");
  Run("INSERT INTO g VALUES (0, 0, 1), (0, 1, 2), (1, 0, 3), (1, 1, 4)");
  EXPECT_EQ(Tag("COPY g TO '" + Path("g.npy") + "' (FORMAT npy)"), "COPY 4");
  Run("CREATE TABLE h (i BIGINT, j BIGINT, val REAL, PRIMARY KEY (i, j))");
  EXPECT_EQ(Tag("COPY h FROM '" + Path("g.npy") + "' (FORMAT npy)"), "COPY 4");
  EXPECT_EQ(Rows("SELECT * FROM h ORDER BY i, j"), "0 | 0 | 1\n0 | 1 | 2\n1 | 0 | 3\n1 | 1 | 4\n");
  EXPECT_EQ(connection_.GetTable("h")->grid_extents(), (std::vector<int64_t>{2, 2}));
  std::filesystem::resize_file(Path("g.npy"), std::filesystem::file_size(Path("g.npy")) - 3);
  Run("DELETE FROM h");
  EXPECT_EQ(Error("COPY h FROM '" + Path("g.npy") + "' (FORMAT npy)").substr(0, 5), "22P04");
  EXPECT_EQ(Rows("SELECT COUNT(*) FROM h"), "0\n");
}

}  // namespace
}  // namespace adjoin::api
