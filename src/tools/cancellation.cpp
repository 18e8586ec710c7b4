#include "tools/cancellation.h"

namespace ruv {

void Cancellation::cancel() {
  const Lock lock(mutex_);
  if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
  for (const auto& [id, wake] : watches_) wake();
}

// Under the lock, so that no cancel() is missed between the look at the flag and the entry.
Cancellation::Watch::Watch(const Cancellation& of, std::function<void()> wake) : of_(of) {
  const Lock lock(of_.mutex_);
  if (of_.is_cancelled()) wake();
  id_ = of_.next_id_++;
  of_.watches_.emplace(id_, std::move(wake));
}

Cancellation::Watch::~Watch() {
  const Lock lock(of_.mutex_);
  of_.watches_.erase(id_);
}

}  // namespace ruv
