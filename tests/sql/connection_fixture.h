// A database with one connection, and short ways to say what its statements give.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "adjoin/error.h"

namespace adjoin::api {

// "1 | a\n2 | NULL\n"
inline std::string TextOf(const Table& table) {
  std::string out;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    for (int c = 0; c < table.num_columns(); ++c) {
      if (c > 0) out += " | ";
      out += table.is_null(row, c) ? "NULL" : table.ToText(row, c);
    }
    out += "\n";
  }
  return out;
}

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest()
      : database_(*Database::Open({.threads = 2, .memory_limit = 0})),
        connection_(database_.Connect()) {}

  void Run(std::string_view sql) { RunOn(connection_, sql); }
  static void RunOn(Connection& connection, std::string_view sql) {
    const auto results = connection.Execute(sql);
    ASSERT_TRUE(results.ok()) << results.status() << "\nin " << sql;
  }
  std::string Rows(std::string_view sql) { return RowsOn(connection_, sql); }
  static std::string RowsOn(Connection& connection, std::string_view sql) {
    const auto result = connection.Query(sql);
    if (!result.ok()) return FormatError(result.status(), sql);
    return TextOf(result->rows);
  }
  std::string Tag(std::string_view sql) {
    const auto result = connection_.Query(sql);
    return result.ok() ? result->tag : FormatError(result.status(), sql);
  }
  // "42P01 relation "x" does not exist"
  std::string Error(std::string_view sql) { return ErrorOn(connection_, sql); }
  static std::string ErrorOn(Connection& connection, std::string_view sql) {
    const auto result = connection.Execute(sql);
    if (result.ok()) return "no error";
    return SqlState(result.status()) + " " + std::string(result.status().message());
  }

  Database database_;
  Connection connection_;
};

}  // namespace adjoin::api
