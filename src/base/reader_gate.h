// ReaderGate: lets many readers in at once, or one writer alone. Readers pass a turnstile before
// they share the lock, so that a writer that waits does not wait for those that come after it.
#pragma once

#include "base/thread.h"

#if !defined(__wasi__)
#include <shared_mutex>
#endif

namespace ruv {

class ReaderGate {
 public:
  // Both are held while the result lives.
#if defined(__wasi__)
  // There is one thread, which never waits for itself.
  struct Held {
    ~Held() {}
  };
  Held share() const { return {}; }
  Held alone() const { return {}; }
#else
  std::shared_lock<std::shared_mutex> share() const {
    const Lock turn(turnstile_);
    return std::shared_lock<std::shared_mutex>(lock_);
  }
  std::unique_lock<std::shared_mutex> alone() const {
    const Lock turn(turnstile_);
    return std::unique_lock<std::shared_mutex>(lock_);
  }

 private:
  mutable Mutex turnstile_;
  mutable std::shared_mutex lock_;
#endif
};

}  // namespace ruv
