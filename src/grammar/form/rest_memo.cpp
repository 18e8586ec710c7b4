#include "grammar/form/rest_memo.h"

#include <algorithm>

namespace ruv {
namespace {

uint64_t heads_hash(std::span<const FormHead> heads) {
  uint64_t hash = heads.size();
  for (const FormHead& head : heads) {
    const auto both = (static_cast<uint64_t>(head.rest) << 32) | static_cast<uint64_t>(head.next);
    hash = (hash ^ both) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

bool is_same(const FormHead& a, const FormHead& b) { return a.rest == b.rest && a.next == b.next; }

}  // namespace

std::optional<std::span<const Token>> RestMemo::find(std::span<const FormHead> heads) const {
  const uint64_t hash = heads_hash(heads);
  for (size_t i = kept_.size(); i-- > 0;) {
    const Kept& kept = kept_[i];
    if (kept.hash == hash && std::ranges::equal(kept.heads, heads, is_same)) return kept.tokens;
  }
  return std::nullopt;
}

void RestMemo::keep(std::span<const FormHead> heads, std::span<const Token> tokens) {
  if (tokens.size() > kMaxTokens) return;
  n_tokens_ += tokens.size();
  if (kept_.size() == kMaxKept || n_tokens_ > kMaxTokens) {
    kept_.clear();
    n_tokens_ = tokens.size();
  }
  kept_.push_back(
      {heads_hash(heads), {heads.begin(), heads.end()}, {tokens.begin(), tokens.end()}});
}

}  // namespace ruv
