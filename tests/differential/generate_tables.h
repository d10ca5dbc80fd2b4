// The tables that generated queries read: few rows, and the values where engines differ.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/random_choice.h"
#include "tests/differential/sql_tree.h"

namespace adjoin {

// Also the kinds of Sql nodes that are expressions.
enum SqlType : char {
  kSmallInt = 's',
  kInteger = 'i',
  kBigInt = 'l',
  kReal = 'r',
  kDouble = 'd',
  kText = 't',
  kBoolean = 'b',
  kDate = 'D',
  kTimestamp = 'P',
  kInterval = 'V',
  kDecimal = 'n',
};

std::string NameOf(SqlType type);

struct GeneratedColumn {
  std::string name;
  SqlType type;
};

struct GeneratedTable {
  std::string name;
  std::vector<GeneratedColumn> columns;  // the first is unique and never NULL
  Sql create;                            // and its INSERT
};

// A literal of the type, or NULL. Fractions are multiples of 1/4, so that their sums are exact in
// any order.
Sql Literal(SqlType type, RandomChoice& choice);

std::vector<GeneratedTable> GenerateTables(RandomChoice& choice);

}  // namespace adjoin
