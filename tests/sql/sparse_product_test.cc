// Sparse products: when programs have them, what they keep between runs, and random ones against
// hash joins and group-bys.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "adjoin/prepared.h"
#include "tests/sql/connection_fixture.h"

namespace adjoin::api {
namespace {

class SparseProductTest : public ConnectionTest {
 protected:
  // A matrix with about `share` per cent of its cells, in no order; `name`(r, c, v), no grid.
  void MakeMatrix(const std::string& name, int rows, int columns, int share) {
    Run(absl::StrCat("CREATE TABLE ", name, " AS SELECT i * 7 % ", rows, " AS r, j * 5 % ", columns,
                     " AS c, sin(i * 3 + j) AS v FROM generate_series(1, ", rows,
                     ") AS s(i) CROSS JOIN generate_series(1, ", columns,
                     ") AS t(j) WHERE (i * 31 + j * 17) % 100 < ", share));
  }
  std::multiset<std::string> SortedRows(const std::string& sql) {
    const auto result = connection_.Execute(sql);
    EXPECT_TRUE(result.ok()) << result.status() << " " << sql;
    std::multiset<std::string> rows;
    if (!result.ok()) return rows;
    for (const auto& row : TextOf(result->back().rows)) rows.insert(row);
    return rows;
  }
  bool IsSparse(const std::string& sql) {
    return Rows("EXPLAIN " + sql).find("SparseProduct[") != std::string::npos;
  }
};

constexpr char kProduct[] = "SELECT a.r, b.c, SUM(a.v * b.v) AS s FROM a JOIN b ON a.c = b.r ";

}  // namespace
}  // namespace adjoin::api
