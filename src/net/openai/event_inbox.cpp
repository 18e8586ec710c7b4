#include "net/openai/event_inbox.h"

#include <algorithm>
#include <utility>

namespace ruv {
namespace {

// Events that wait for the end of a choice at most, so that their memory is bounded.
constexpr size_t kMostEntries = 64;

// Nothing but ids and text, in whatever place of the answer.
bool is_plain(const Event& event) {
  return event.logprobs.empty() && event.prompt_logprobs.empty() && event.hidden.empty();
}

}  // namespace

EventInbox::Call EventInbox::put(size_t choice, const Event& event) {
  const bool is_last = event.finish != FinishReason::none;
  const std::lock_guard lock(mutex_);
  if (!join(choice, event)) entries_.push_back({choice, event});
  const bool waits = waits_for_end_ && entries_.size() < kMostEntries;
  const Call call = is_last ? Call::now : waits ? Call::not_yet : Call::soon;
  if (call <= called_) return Call::not_yet;
  return called_ = call;
}

// The last event of a choice stays by itself, as what it says may be another outcome than what came
// before. Room is made first, so that nothing is joined by half.
bool EventInbox::join(size_t choice, const Event& event) {
  if (!joins_ || event.finish != FinishReason::none || !is_plain(event)) return false;
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(),
                                  [choice](const Entry& entry) { return entry.choice == choice; });
  if (found == entries_.rend() || !is_plain(found->event)) return false;
  Event& whole = found->event;
  // At least twice the room, as the sums would be quadratic otherwise.
  const auto make_room = [](auto& list, size_t n) {
    if (list.capacity() < list.size() + n) list.reserve(2 * (list.size() + n));
  };
  make_room(whole.ids, event.ids.size());
  make_room(whole.text, event.text.size());
  whole.ids.insert(whole.ids.end(), event.ids.begin(), event.ids.end());
  whole.text += event.text;
  return true;
}

std::vector<EventInbox::Entry> EventInbox::take() {
  const std::lock_guard lock(mutex_);
  called_ = Call::not_yet;
  return std::exchange(entries_, {});
}

}  // namespace ruv
