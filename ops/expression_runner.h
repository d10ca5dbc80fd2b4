// One run of a CompiledExpr over a block. Internal to expression*.cc.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "engine/types.h"
#include "ops/expression.h"

namespace adjoin {

// One Run: a switch over the instructions, each a loop over the block.
class ExprRunner {
 public:
  ExprRunner(const CompiledExpr& expr, ExprScratch& scratch, int64_t n)
      : expr_(expr), scratch_(scratch), n_(n) {}
  absl::Status Execute(size_t i);

 private:
  const Vector& arg(const ExprInstruction& in, int k) const {
    return scratch_.values_[static_cast<size_t>(in.args[k])];
  }
  Vector& out() { return scratch_.values_[id_]; }
  void* data() { return const_cast<void*>(scratch_.values_[id_].data); }
  uint8_t* own_valid() { return scratch_.slots_[expr_.data_slot_[id_]].valid; }
  // Whether a value's validity stays put until the end of the run.
  bool IsStable(int id) const;

  // The AND of the first `count` arguments' validities, or null for no NULLs.
  const uint8_t* StrictValid(const ExprInstruction& in, int count);

  // Rows whose errors count: active and not NULL. Null: all.
  const uint8_t* ErrorMask(const ExprInstruction& in, const uint8_t* valid);
  absl::Status RunStrict(const ExprInstruction& in);
  absl::Status RunRows(const ExprInstruction& in);

  // BOOLEAN to and from numbers.
  absl::Status RunBoolCast(const ExprInstruction& in);
  absl::Status RunCastFromText(const ExprInstruction& in);
  absl::Status RunAccumulate(const ExprInstruction& in);

  // Where one of two arguments is NULL the result is the other; NULL where both are.
  void SkipNulls(const ExprInstruction& in, const Vector& a, const Vector& b);
  void RunTotal(const ExprInstruction& in);
  void RunLogic(const ExprInstruction& in);
  void RunIsNull(const ExprInstruction& in);
  void RunIsDistinct(const ExprInstruction& in);
  void RunNullIf(const ExprInstruction& in);
  void RunBlend(const ExprInstruction& in);
  void RunCoalesce(const ExprInstruction& in);
  void RunExtreme(const ExprInstruction& in);
  template <typename T>
  void PickExtreme(const Vector& a, const Vector& b, bool greatest);
  void RunMask(const ExprInstruction& in);
  void RunCompare(const ExprInstruction& in);
  // A predicate of text by the codes of its argument. ReadsCodes: whether it has codes, and not too
  // many; else it is read as other text is.
  bool ReadsCodes(const ExprInstruction& in);
  absl::Status RunByCode(const ExprInstruction& in);
  absl::Status FindVerdict(const ExprInstruction& in, std::string_view text, uint8_t* verdict);
  void RunCastToText(const ExprInstruction& in);

  const CompiledExpr& expr_;
  ExprScratch& scratch_;
  const int64_t n_;  // a loop that writes bytes copies it: to a compiler they may be n_ itself
  size_t id_ = 0;
};

// Writes one value; NULL and text are not for this.
void StoreValue(const Value& value, TypeId type, void* out, int64_t row);

}  // namespace adjoin
