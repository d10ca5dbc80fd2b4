// Joins whose rows are stored: every column is taken once, in the end, at the pairs that were
// found.
#include <gtest/gtest.h>

#include <string>

#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

// Row i of `a`, of which there are more than are taken at once, meets row i % rows of `b`, whose
// columns have NULLs of their own or none; every third key has no partner.
class StoredJoinTest : public ConnectionTest {
 protected:
  static constexpr int kLeft = 30000;

  void MakeTables(int rows) {
    const std::string n = std::to_string(rows);
    Run("CREATE TABLE a AS SELECT (i * 7919) % " + n + " AS k, i AS i FROM generate_series(1, " +
        std::to_string(kLeft) + ") AS s(i) WHERE i <> 7");
    Run("CREATE TABLE b AS SELECT i AS k, i * 2 AS w, i * 0.5e0 AS x, CASE WHEN i % 5 <> 0 THEN i "
        "END AS y, "
        "'t' || i % 50 AS t, CASE WHEN i % 2 = 0 THEN 'u' || i % 30 END AS u "
        "FROM generate_series(0, " +
        n + " - 1) AS s(i) WHERE i % 3 <> 0");
  }

  // Checks every cell of `a <kind> JOIN b` on k.
  void CheckJoin(const std::string& kind, int rows) {
    const auto result = connection_.Query("SELECT a.i, b.w, b.x, b.y, b.t, b.u FROM a " + kind +
                                          " JOIN b ON a.k = b.k");
    ASSERT_TRUE(result.ok()) << result.status();
    const Table& table = result->rows;
    int64_t row = 0;
    for (int64_t i = 1; i <= kLeft; ++i) {
      const int64_t k = i * 7919 % rows;
      if (i == 7 || (k % 3 == 0 && kind != "LEFT")) continue;
      ASSERT_LT(row, table.num_rows());
      const auto cell = [&](int c) {
        return table.is_null(row, c) ? "NULL" : table.ToText(row, c);
      };
      const bool there = k % 3 != 0;
      ASSERT_EQ(cell(0), std::to_string(i));
      ASSERT_EQ(cell(1), there ? std::to_string(2 * k) : "NULL") << i;
      ASSERT_EQ(table.is_null(row, 2), !there) << i;
      ASSERT_EQ(cell(3), there && k % 5 != 0 ? std::to_string(k) : "NULL") << i;
      ASSERT_EQ(cell(4), there ? "t" + std::to_string(k % 50) : "NULL") << i;
      ASSERT_EQ(cell(5), there && k % 2 == 0 ? "u" + std::to_string(k % 30) : "NULL") << i;
      ++row;
    }
    EXPECT_EQ(row, table.num_rows());
  }
};

TEST_F(StoredJoinTest, ASmallRightSide) {
  MakeTables(100);
  CheckJoin("LEFT", 100);
  CheckJoin("INNER", 100);
}

TEST_F(StoredJoinTest, ALargeRightSide) {
  MakeTables(40000);
  CheckJoin("LEFT", 40000);
  CheckJoin("INNER", 40000);
}

TEST_F(StoredJoinTest, ARightSideThatIsEmpty) {
  MakeTables(100);
  Run("DELETE FROM b");
  EXPECT_EQ(Rows("SELECT COUNT(*), COUNT(i), COUNT(w), COUNT(t) FROM (SELECT a.i, b.w, b.t FROM a "
                 "LEFT JOIN b "
                 "ON a.k = b.k) AS j"),
            "29999 | 29999 | 0 | 0\n");
}

TEST_F(StoredJoinTest, AllHavePartners) {
  MakeTables(100);
  Run("INSERT INTO b SELECT i, 0, 0, NULL, 's', NULL FROM generate_series(0, 99, 3) AS s(i)");
  EXPECT_EQ(Rows("SELECT COUNT(*), COUNT(w), COUNT(y), COUNT(t) FROM (SELECT a.i, b.w, b.y, b.t "
                 "FROM a LEFT "
                 "JOIN b ON a.k = b.k) AS j"),
            Rows("SELECT COUNT(*), COUNT(*), SUM(CASE WHEN k % 3 <> 0 AND k % 5 <> 0 THEN 1 ELSE 0 "
                 "END), COUNT(*) "
                 "FROM a"));
}

}  // namespace
}  // namespace adjoin::api
