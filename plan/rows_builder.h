// The state of a Rows lowering: nodes, their streams, slots and the steps so far. Internal to
// lower_rows*.cc.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ops/hash_join.h"
#include "plan/lower_rows.h"
#include "plan/row_stream.h"

namespace adjoin {

struct NodeState {
  NodeRef node;
  std::vector<uint8_t> needed;
  double rows = 0;
  int readers = 0;  // not yet lowered; a root is read by the program too
  int64_t top = 0;  // of a window: the first rows of a partition that its reader keeps; 0: all
  bool lowered = false;
  int root_slot = -1;
  int made_slot = -1;  // that a step of this node's own writes
  RowStream stream;
};

// A join of a stream with a stored relation.
struct JoinPlan {
  JoinType type;
  std::vector<JoinKey> keys;
  ExprRef residual;                      // over left columns, then right columns
  std::vector<int> left_out, right_out;  // node columns of the sides that go out, in this order
  double probes = 0;                     // left rows, about
};

// The same with a left side that is stored too.
struct StoredJoin {
  JoinPlan plan;
  RowStream left, right;  // views
  int left_columns;       // of the left node
};

// The columns that are read, ascending; and a schema of some of a node's columns.
std::vector<int> ColumnsNeeded(const NodeState& state);
Schema SchemaOf(const Node& node, const std::vector<int>& columns);

class RowsBuilder {
 public:
  RowsBuilder(const PlanOptions& options, const std::vector<NodeRef>& roots,
              RowsLoweringInputs inputs);
  absl::StatusOr<int> Lower(const NodeRef& root);
  std::vector<std::unique_ptr<Step>> TakeSteps() { return std::exchange(steps_, {}); }
  int num_operators() const { return num_operators_; }
  int num_base_table_reads() const { return num_base_table_reads_; }
  const std::vector<SlotNode>& slot_nodes() const { return slot_nodes_; }

 private:
  bool IsProvided(const NodeRef& node) const { return ProvidedSlot(node).has_value(); }
  std::optional<int> ProvidedSlot(const NodeRef& node) const;
  double KnownRows(const NodeRef& node) const;
  NodeState& input(const NodeState& state, size_t i) {
    return states_.at(state.node->inputs[i].get());
  }

  // Notes at a window how many rows of a partition a filter above it keeps.
  void NoteTop(const Node& filter, const ExprRef& predicate);
  absl::Status LowerNode(NodeState& state);
  bool MustStore(const NodeState& state) const;

  // Slots are counted by the streams that still have readers.
  void SetStream(NodeState& state, RowStream stream);
  void AddReferences(const std::vector<int>& slots);
  void DropReferences(const std::vector<int>& slots);
  // One reader of `state` has been lowered.
  void Leave(NodeState& state);
  void ReleaseUnread();
  int NewSlot();

  static RowStream View(RelationRef relation, int columns);
  // A relation that holds the node's columns in order.
  void SetView(NodeState& state, RelationRef relation, int columns);
  // What a step of the node's own has put into `slot`: only the columns that are read, in order.
  void SetStored(NodeState& state, int slot);
  static std::vector<int> PositionsOf(const std::vector<int>& columns, int width);
  // Makes batches hold exactly the node's columns that are read, in order.
  absl::Status Arrange(RowStream& stream, const Node& node, const std::vector<int>& columns);
  void AddPipeline(const RowStream& stream, std::unique_ptr<const PipelineSink> sink, int slot);
  absl::Status Store(NodeState& state);
  absl::Status StorePairs(NodeState& state);
  absl::Status StoreRoot(NodeState& state);
  // A slot that the node's own step writes, with its columns in order.
  bool IsWhole(const NodeState& state) const;
  // The view of an input, which is stored first where it is not stored yet.
  absl::StatusOr<const RowStream*> Stored(NodeState& state);
  void NoteRead(const RowStream& view);
  // A source whose batches have `columns` of the node, in order.
  void SetSource(NodeState& state, std::shared_ptr<const Source> source,
                 const std::vector<int>& columns);

  // One operator each; the node's stream is set.
  absl::Status LowerOp(const Scan& scan, NodeState& state);
  absl::Status LowerOp(const Values& values, NodeState& state);
  absl::Status LowerOp(const Series& series, NodeState& state);
  absl::Status LowerOp(const Filter& filter, NodeState& state);
  absl::Status LowerOp(const Project& project, NodeState& state);
  absl::Status LowerOp(const RowId&, NodeState& state);
  absl::Status LowerOp(const UnionAll&, NodeState& state);
  absl::Status LowerOp(const GroupBy& group_by, NodeState& state);
  absl::Status LowerOp(const Limit& limit, NodeState& state);
  absl::Status LowerOp(const Sort& sort, NodeState& state);
  absl::Status LowerOp(const Window& window, NodeState& state);
  // Leaves out rows that are not among the first of their partition.
  absl::Status KeepTopRows(const Window& window, int64_t top, NodeState& in);
  absl::Status LowerOp(const Require& require, NodeState& state);
  absl::Status LowerOp(const Derivative&, NodeState&);
  absl::Status LowerOp(const Recursion& recursion, NodeState& state);
  absl::Status LowerOp(const RecursionInput&, NodeState&);
  absl::Status LowerOp(const Join& join, NodeState& state);
  absl::Status LowerOp(const Lookup& lookup, NodeState& state);
  absl::Status LowerOp(const Contraction& contraction, NodeState& state);
  absl::Status LowerOp(const SparseProduct& product, NodeState& state);
  absl::Status LowerOp(const SampledProduct& product, NodeState& state);
  absl::Status LowerOp(const Collect& collect, NodeState& state);
  absl::Status LowerFullJoin(const Join& join, NodeState& state);
  // `left` with a join against the stored `right`; batches have left_out, then right_out, or rows
  // alone.
  absl::StatusOr<RowStream> JoinStream(const JoinPlan& plan, RowStream left, const RowStream& right,
                                       int left_columns, bool rows_only = false);
  // The same, remembered as a join of views where it is one.
  absl::Status SetJoin(NodeState& state, const JoinPlan& plan, const RowStream& right);

  const PlanOptions options_;
  const PipelineOptions pipeline_;
  const RowsLoweringInputs inputs_;
  absl::flat_hash_map<const Node*, NodeState> states_;
  absl::flat_hash_map<const Node*, bool> roots_;
  absl::flat_hash_map<int, int> references_;  // by slot: streams that still have readers
  absl::flat_hash_map<int, bool> own_slots_;
  std::vector<int> unread_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<SlotNode> slot_nodes_;
  int num_operators_ = 0;
  int num_base_table_reads_ = 0;
};

}  // namespace adjoin
