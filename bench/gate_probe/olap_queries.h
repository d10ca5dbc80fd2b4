// The queries of bench/olap/sql over small tables (olap/*.sql): what the gates count of Rows.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "adjoin/prepared.h"

namespace adjoin::gate {

// What PostgreSQL 15 gives for the same text: rows, the sum of all numbers in them, and the sum of
// the absolute values of the last column that is no integer (0: there is none).
struct OlapQuery {
  const char* tables;  // olap/<tables>.sql
  const char* text;    // bench/olap/sql/<text>.sql
  int64_t rows;
  double sum, last;

  std::string name() const;  // "h2o_join_q1"
};

// All but spmm_wide, whose 65 columns would tell no more than spmm_long.
const std::vector<OlapQuery>& OlapQueries();

// Prepared on one thread, run once and its result checked.
struct ReadyQuery {
  api::Database database;
  api::Connection connection;
  api::Prepared prepared;
};
absl::StatusOr<ReadyQuery> MakeReady(const OlapQuery& query);

}  // namespace adjoin::gate
