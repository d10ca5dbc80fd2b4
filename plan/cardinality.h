// How many rows nodes have and how many values their columns take, from the statistics of base
// tables: for choices that never change a result.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/table.h"
#include "plan/node.h"

namespace adjoin {

// The table that a scan reads; null where it is not known yet.
using TableOf = std::function<TableRef(const Scan& scan)>;

class Cardinality {
 public:
  explicit Cardinality(TableOf table_of) : table_of_(std::move(table_of)) {}
  double Rows(const NodeRef& node);
  // Values of an expression over the node's columns, NULL left out; at most its rows.
  double Distinct(const NodeRef& node, const ExprRef& expr);
  // The share of the node's rows for which the predicate over its columns is TRUE.
  double Selectivity(const NodeRef& node, const ExprRef& predicate);
  // Of an inner join by these keys alone.
  double Pairs(const NodeRef& left, const NodeRef& right, const std::vector<JoinKey>& keys);

 private:
  ColumnStatistics Statistics(const NodeRef& node, int column) const;
  double OfOperator(const NodeRef& node);
  double OfJoin(const NodeRef& node, const Join& join);
  double OfProduct(const NodeRef& node, const std::vector<JoinKey>& on,
                   const std::vector<ContractionKey>& keys);
  double OfGroups(const NodeRef& node, const std::vector<ExprRef>& keys);
  double OfCall(const NodeRef& node, const Expr& call);
  double Below(const NodeRef& node, const ExprRef& less, const ExprRef& more);

  TableOf table_of_;
  absl::flat_hash_map<const Node*, double> rows_;
};

}  // namespace adjoin
