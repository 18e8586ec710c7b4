#include "net/http/budget.h"

namespace ruv {

bool ServerBudget::take(BudgetUse use, uint64_t n_bytes) {
  std::atomic<uint64_t>& taken = taken_[index(use)];
  const uint64_t limit = limits_[index(use)];
  uint64_t before = taken;
  do {
    if (before > limit || n_bytes > limit - before) return false;
  } while (!taken.compare_exchange_weak(before, before + n_bytes));
  return true;
}

// Only the difference is taken or returned.
bool BudgetShare::resize(uint64_t n_bytes) {
  if (n_bytes > n_bytes_) {
    if (!budget_->take(use_, n_bytes - n_bytes_)) return false;
  } else {
    budget_->give_back(use_, n_bytes_ - n_bytes);
  }
  n_bytes_ = n_bytes;
  return true;
}

}  // namespace ruv
