// Memory outside of Buffers that counts against the budget while it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "engine/buffer.h"

namespace adjoin {

// Gives back what it charged when it goes. Not thread-safe.
class BudgetCharge {
 public:
  // A null budget charges nothing.
  explicit BudgetCharge(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
  BudgetCharge(const BudgetCharge&) = delete;
  BudgetCharge& operator=(const BudgetCharge&) = delete;
  ~BudgetCharge() { Release(charged_); }

  // Charges up to `bytes` in all. ResourceExhausted (53200) where that passes the limit.
  absl::Status GrowTo(int64_t bytes) {
    if (budget_ == nullptr || bytes <= charged_) return absl::OkStatus();
    if (absl::Status status = budget_->Charge(bytes - charged_); !status.ok()) return status;
    charged_ = bytes;
    return absl::OkStatus();
  }
  absl::Status Add(int64_t bytes) { return GrowTo(charged_ + bytes); }
  void Release(int64_t bytes) {
    if (budget_ == nullptr) return;
    bytes = bytes < charged_ ? bytes : charged_;
    budget_->Release(bytes);
    charged_ -= bytes;
  }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  int64_t charged_ = 0;
};

}  // namespace adjoin
