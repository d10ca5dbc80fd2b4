#include "ops/aggregate_arguments.h"

#include "ops/batch.h"
#include "ops/taken_rows.h"

namespace adjoin {

std::vector<TypeId> AggregateSpec::ArgumentTypes(const CompiledExpr& exprs) const {
  std::vector<TypeId> types;
  for (int output : {arg, second}) {
    if (output >= 0) types.push_back(exprs.output_type(output));
  }
  return types;
}

std::vector<Vector> OutputsOf(const CompiledExpr& exprs, const ExprScratch& scratch) {
  std::vector<Vector> outputs;
  for (int i = 0; i < exprs.num_outputs(); ++i) outputs.push_back(exprs.output(scratch, i));
  return outputs;
}

const uint8_t* TakenRows(std::span<const Vector> outputs, int filter, int64_t n,
                         BatchArena& arena) {
  if (filter < 0) return nullptr;
  const Vector& condition = outputs[static_cast<size_t>(filter)];
  if (condition.valid == nullptr) return condition.as<uint8_t>();
  uint8_t* take = arena.Make<uint8_t>(n);
  for (int64_t r = 0; r < n; ++r) take[r] = condition.as<uint8_t>()[r] & condition.valid[r];
  return take;
}

AggregateArguments ArgumentsOf(std::span<const Vector> outputs, const AggregateSpec& aggregate,
                               int64_t n, BatchArena& arena) {
  AggregateArguments out;
  for (int output : {aggregate.arg, aggregate.second}) {
    if (output >= 0)
      out.vectors[out.count++] = WithViews(outputs[static_cast<size_t>(output)], n, arena);
  }
  return out;
}

int64_t SelectTaken(const Vector& arg, const uint8_t* take, int64_t n, int32_t* rows) {
  int64_t taken = 0;
  ForEachTaken(&arg, take, nullptr, n,
               [&](int64_t r, int64_t) { rows[taken++] = static_cast<int32_t>(r); });
  return taken;
}

}  // namespace adjoin
