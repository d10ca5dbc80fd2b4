// The reference interpreter: what a logical plan means, in nested loops and ordered maps. The
// engine and every derivative are tested against it, so it shares no code with ops/ and does
// nothing clever.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/table.h"
#include "plan/node.h"
#include "tests/reference/evaluator.h"

namespace adjoin::reference {

// The rows of `root` in order. Each node is evaluated once. `tables` holds the scanned tables by
// catalog id. REAL is rounded to float after every operation; sums of floats are compensated, so
// they are right to the last bit or two. Derivative nodes are not understood (XX000). Errors carry
// the SQLSTATEs and words that the engine must give.
absl::StatusOr<Rows> Interpret(const NodeRef& root, const std::map<uint64_t, TableRef>& tables,
                               const std::vector<Value>& params = {});

// The same for several roots over one evaluation of what they share.
absl::StatusOr<std::vector<Rows>> InterpretAll(const std::vector<NodeRef>& roots,
                                               const std::map<uint64_t, TableRef>& tables,
                                               const std::vector<Value>& params = {});

// The rows of a table.
Rows RowsOf(const Table& table);
// A table of rows; the rows are checked against the schema's keys.
absl::StatusOr<TableRef> TableOf(const Schema& schema, const Rows& rows,
                                 const std::string& name = "");

// SQL's order of two rows, NULL after everything: what makes a row a key of std::map. NULL equals
// NULL.
struct RowLess {
  bool operator()(const Row& a, const Row& b) const;
};

}  // namespace adjoin::reference
