// A recursion is one step that runs the steps of its body until they make no rows.
#include <algorithm>
#include <utility>

#include "engine/status.h"
#include "ops/materialize.h"
#include "ops/recursion.h"
#include "plan/lower_rows.h"
#include "plan/rows_builder.h"

namespace adjoin {

absl::Status RowsBuilder::LowerOp(const Recursion& recursion, NodeState& state) {
  // Every input in a slot of its own; the working table then takes the first one's place.
  std::vector<int> slots;
  for (size_t i = 0; i < state.node->inputs.size(); ++i) {
    NodeState& in = input(state, i);
    ADJOIN_ASSIGN_OR_RETURN(const RowStream* view, Stored(in));
    NoteRead(*view);
    const std::vector<int> columns = ColumnsNeeded(in);  // all of them
    std::vector<int> from;
    for (int c : columns) from.push_back(view->table_column(c));
    slots.push_back(NewSlot());
    steps_.push_back(std::make_unique<ViewStep>(*view->view, std::move(from),
                                                SchemaOf(*in.node, columns), slots.back()));
  }
  RowsLoweringInputs inputs;
  inputs.provided_slot = [&](const NodeRef& node) -> std::optional<int> {
    const auto* read = std::get_if<RecursionInput>(&node->op);
    if (read == nullptr || read->id != recursion.id) return std::nullopt;
    return slots[static_cast<size_t>(read->input)];
  };
  inputs.new_slot = [this] { return NewSlot(); };
  RowsLowering body(options_, {recursion.body}, std::move(inputs));
  RecursionSpec spec;
  spec.working_slot = slots[0];
  ADJOIN_ASSIGN_OR_RETURN(spec.body_slot, body.Lower(recursion.body));
  if (std::find(slots.begin(), slots.end(), spec.body_slot) == slots.end())
    slots.push_back(spec.body_slot);
  spec.body = body.TakeSteps();
  spec.distinct = recursion.distinct;
  std::vector<int> columns;
  for (int c = 0; c < state.node->width(); ++c) columns.push_back(c);
  spec.schema = SchemaOf(*state.node, columns);
  num_operators_ += 1 + body.num_operators();
  state.needed.assign(state.needed.size(), 1);
  const int slot = NewSlot();
  steps_.push_back(std::make_unique<RecursionStep>(std::move(spec), slot, pipeline_));
  steps_.push_back(std::make_unique<ReleaseStep>(std::move(slots)));
  SetStored(state, slot);
  return absl::OkStatus();
}

absl::Status RowsBuilder::LowerOp(const RecursionInput&, NodeState&) {
  return SqlError(sqlstate::kInternalError, "a recursion's input outside of its body");
}

}  // namespace adjoin
