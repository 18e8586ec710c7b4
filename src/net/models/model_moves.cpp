#include "net/models/model_moves.h"

#include <algorithm>

namespace ruv {
namespace {

// When an idle model has been kept long enough.
std::optional<int64_t> expiry(const ModelSlot& slot) {
  if (!slot.is_idle() || !slot.keep) return std::nullopt;
  return slot.last_use + *slot.keep;
}

// The loaded model that was not used for longest; those without requests come first.
size_t least_used(std::span<const ModelSlot> slots) {
  size_t least = slots.size();
  const auto rank = [&](size_t i) { return std::pair(!slots[i].is_idle(), slots[i].last_use); };
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].loaded && (least == slots.size() || rank(i) < rank(least))) least = i;
  }
  return least;
}

// The model whose first request has waited longest; slots.size(): none is waited for.
size_t longest_waited(std::span<const ModelSlot> slots) {
  size_t longest = slots.size();
  for (size_t i = 0; i < slots.size(); ++i) {
    const ModelSlot& slot = slots[i];
    if (slot.loaded || slot.n_waiting == 0) continue;
    if (longest == slots.size() || slot.first_waits < slots[longest].first_waits) longest = i;
  }
  return longest;
}

ModelMove wait_for_expiry(std::span<const ModelSlot> slots) {
  ModelMove move;
  for (const ModelSlot& slot : slots) {
    const std::optional<int64_t> at = expiry(slot);
    if (at && (!move.at || *at < *move.at)) move.at = at;
  }
  return move;
}

}  // namespace

ModelMove next_model_move(std::span<const ModelSlot> slots, int64_t max_bytes, int64_t now) {
  int64_t used = 0;
  bool one_leaves = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    const ModelSlot& slot = slots[i];
    if (!slot.loaded) continue;
    const std::optional<int64_t> at = expiry(slot);
    if (slot.is_idle() && (slot.leaves || (at && *at <= now))) return {ModelMove::Kind::unload, i};
    used += slot.n_bytes;
    one_leaves |= slot.leaves;
  }
  const size_t wanted = longest_waited(slots);
  if (wanted == slots.size()) return wait_for_expiry(slots);
  const size_t victim = least_used(slots);
  const bool fits = slots[wanted].n_bytes <= max_bytes && used <= max_bytes - slots[wanted].n_bytes;
  if (fits || victim == slots.size()) return {ModelMove::Kind::load, wanted};
  if (slots[victim].is_idle()) return {ModelMove::Kind::unload, victim};
  if (one_leaves) return wait_for_expiry(slots);
  return {ModelMove::Kind::leave, victim};
}

}  // namespace ruv
