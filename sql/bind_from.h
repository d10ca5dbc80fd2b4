// FROM: relations, joins and the names they bring into scope.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "sql/bind_state.h"
#include "sql/join_tree.h"

namespace adjoin {

struct FromItem {
  std::unique_ptr<JoinTree> tree;  // null: no FROM
  Names names;                     // over the tree's columns
};

// Another node for a leaf: the same columns and more behind them (gradients).
using LeafReplacements = absl::flat_hash_map<int, NodeRef>;

// The table that UPDATE or DELETE changes: leaf 0, whose node is the scan with a row id behind its
// columns.
struct TargetTable {
  std::string name;
  std::string alias;  // may be empty
  CatalogTable table;
  NodeRef node;
};

// Binds a FROM list; null list and no target: no FROM. Notes its names in level.from_names as they
// come. Subqueries see the queries around the level, not their neighbours. Errors: 42P01, 42712,
// the parts' own.
absl::StatusOr<FromItem> BindFrom(BindState& state, Level& level, const Json& list,
                                  const TargetTable* target, const LeafReplacements& replacements);

}  // namespace adjoin
