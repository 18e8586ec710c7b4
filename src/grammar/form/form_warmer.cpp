#include "grammar/form/form_warmer.h"

namespace ruv {
namespace {

// Bytes that may come in states whose masks take long.
constexpr size_t kManyNext = 32;

}  // namespace

void FormWarmer::add(Language language) {
  if (language == Language::nothing || !seen_.insert(language).second) return;
  open_.push_back({language, static_cast<uint32_t>(n_states_.size())});
  n_states_.push_back(1);
}

bool FormWarmer::is_wide(Language state) {
  ByteSet bytes;
  for (const Languages::Arc& arc : masks_.languages().arcs(state)) bytes |= arc.bytes;
  return bytes.size() >= kManyNext;
}

// Narrow states are passed at once.
bool FormWarmer::step() {
  while (!open_.empty() && masks_.n_visited() - n_before_ < kMaxVisits) {
    const Open at = open_.front();
    open_.pop_front();
    const std::span<const Languages::Arc> span = masks_.languages().arcs(at.state);
    for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
      if (n_states_[at.language] == kMaxStates || seen_.size() == kMaxSeen) break;
      if (masks_.languages().is_nothing(arc.next) || !seen_.insert(arc.next).second) continue;
      ++n_states_[at.language];
      open_.push_back({arc.next, at.language});
    }
    if (!is_wide(at.state)) continue;
    masks_.tokens(at.state);
    return true;
  }
  return false;
}

}  // namespace ruv
