// Optimiser rules: each a function from a node, whose inputs are done, to a better node, or null
// where it does not match.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "plan/cardinality.h"
#include "plan/dim_extents.h"
#include "plan/node.h"
#include "plan/program.h"

namespace adjoin {

// Join + GROUP BY SUM(product) as one Contraction (rules/recognise_contraction.cc). `kept`: nodes
// that must stay nodes of the plan, because something is differentiated by them.
NodeRef RecogniseContraction(const NodeRef& node, Planner& planner,
                             const absl::flat_hash_set<const Node*>& kept);

// The same over joins of three relations or more, all of known extents, as Contractions of two each
// in the cheapest order (rules/order_contraction.cc).
NodeRef OrderContraction(const NodeRef& node, Planner& planner,
                         const absl::flat_hash_set<const Node*>& kept, DimExtents& extents);

// Applies the rules that `options` leaves on to every node below the statement's outputs, inputs
// first. Run before derivatives are resolved, so that they differentiate products as products.
// Calls `shape_of` only for scans on whose shape the plan then depends.
void ApplyRules(Statement* statement, Planner& planner, const PlanOptions& options,
                ShapeOf shape_of);

// Runs of inner joins in the order that the statistics of base tables make cheapest
// (rules/order_joins.cc): results are the same rows, in another order. Leaves statements with
// derivatives and joins of grids alone.
void OrderJoins(Statement* statement, Planner& planner, const PlanOptions& options,
                const ShapeOf& shape_of, TableOf table_of);

// The node as a SparseProduct, where it sums products over the pairs of a join and that is cheaper
// than a hash table of its groups, and what is kept of its keys takes at most `most_bytes`; or
// where `force` says so (rules/sparse_products.cc). `of_join`: the left is a join that is worth
// storing.
NodeRef MakeSparseProduct(const NodeRef& node, Planner& planner, Cardinality& cardinality,
                          double most_bytes, bool force, bool of_join = false);

// A Contraction of a join as a SampledProduct, where the join's rows only name which rows of two
// others are multiplied; null: it is none (rules/sampled_products.cc).
NodeRef MakeSampledProduct(const NodeRef& node, Planner& planner);

// Derivatives of sampled products: what a Contraction or a Collect sums over the rows of a join,
// with the join's smaller part joined first, as a sparse or sampled product. `done`: what stands in
// the place of the nodes below. Null: it is none, or that is not cheaper.
NodeRef MakeProductOfSample(const NodeRef& node, const Replacements& done, Planner& planner,
                            Cardinality& cardinality, double most_bytes, bool force);

// Semi-joins that drop rows before joins where these would drop them, by relations that the joins
// read anyway (rules/join_filters.cc): results are the same rows in the same order. `force`:
// wherever there can be one. Leaves nodes that are `is_fixed` alone, and what is below them.
// Returns how many joins got a filter.
int FilterByJoins(std::vector<NodeRef>& roots, Planner& planner, Cardinality& cardinality,
                  bool force, const std::function<bool(const NodeRef&)>& is_fixed);

}  // namespace adjoin
