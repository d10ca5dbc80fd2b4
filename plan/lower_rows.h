// From logical nodes to steps of Rows operators: pipelines between stored relations.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/step.h"
#include "plan/node.h"
#include "plan/program.h"

namespace adjoin {

class RowsBuilder;  // plan/rows_builder.h

// What the rest of a program tells the lowering.
struct RowsLoweringInputs {
  // The slot of RunState::relations where somebody else (array steps) puts a node's table, every
  // column in order. Asked when the lowering is made; nothing below such a node is lowered. Null:
  // none.
  std::function<std::optional<int>(const NodeRef&)> provided_slot;
  // A slot nobody uses yet.
  std::function<int()> new_slot;
  // Rows of a base table or of a provided node, for choices that never change results; negative:
  // unknown. May be null.
  std::function<double(const NodeRef&)> known_rows;
};

// The relation in `slot` has the rows of a node.
struct SlotNode {
  int slot;
  int node;  // Node::id
};

// Lowers some nodes and what they read. A node with one reader streams into it. One with several is
// stored once, unless it is estimated to take more than work_mem: then each reader computes it
// again. Only columns that are read are kept. Tables may have any rows at run time: estimates are
// all that is taken from the data.
class RowsLowering {
 public:
  // `roots`: every node that Lower will be asked for.
  RowsLowering(const PlanOptions& options, const std::vector<NodeRef>& roots,
               RowsLoweringInputs inputs);
  ~RowsLowering();
  RowsLowering(const RowsLowering&) = delete;
  RowsLowering& operator=(const RowsLowering&) = delete;

  // Appends the steps that store `root`'s table (all columns, in order) in a slot, which is
  // returned. Slots of roots are never released; others are after their last reader. REQUIRES:
  // `root` is one of the roots, the provided nodes it reads are in their slots when the steps run.
  // Errors: 0A000 for what no operator runs.
  absl::StatusOr<int> Lower(const NodeRef& root);
  // The steps appended since the last call, in order.
  std::vector<std::unique_ptr<Step>> TakeSteps();
  // Rows operators (sources, streaming operators, sinks, sorts, ...) in the steps so far, and scans
  // of base tables.
  int num_operators() const;
  int num_base_table_reads() const;
  const std::vector<SlotNode>& slot_nodes() const;

 private:
  std::unique_ptr<RowsBuilder> builder_;
};

}  // namespace adjoin
