#include "net/local/guest_engine.h"

#include <utility>
#include <vector>

namespace ruv {

struct GuestEngine::Guest {
  std::function<void(const Event&)> on_event;  // used by the engine's thread only, once submitted
  RequestId id = 0;                            // 0: it is being submitted
};

GuestEngine::~GuestEngine() {
  std::vector<RequestId> open;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& guest : guests_) open.push_back(guest->id);
  }
  for (const RequestId id : open) engine_.cancel(id);
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return guests_.empty(); });
}

// The last event may come before the engine has returned the id.
Result<RequestId> GuestEngine::submit(Request request) {
  const auto guest = std::make_shared<Guest>(Guest{.on_event = std::move(request.on_event)});
  request.on_event = [this, weak = std::weak_ptr<Guest>(guest)](const Event& event) {
    const std::shared_ptr<Guest> kept = weak.lock();
    if (!kept) return;
    if (kept->on_event) kept->on_event(event);
    if (event.finish == FinishReason::none) return;
    kept->on_event = nullptr;  // and all that it holds
    leave(*kept);
  };
  {
    const std::lock_guard lock(mutex_);
    guests_.insert(guest);
  }
  Result<RequestId> id = engine_.submit(std::move(request));
  if (!id) {
    leave(*guest);
    return id;
  }
  const std::lock_guard lock(mutex_);
  guest->id = *id;
  return id;
}

void GuestEngine::leave(const Guest& guest) {
  const std::lock_guard lock(mutex_);
  std::erase_if(guests_, [&](const auto& one) { return one.get() == &guest; });
  wake_.notify_all();
}

}  // namespace ruv
