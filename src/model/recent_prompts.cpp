// A prompt in use is taken out of the list, so encoding needs no lock; if two requests continue the
// same chat at once, one of them encodes from the start.
#include "model/recent_prompts.h"

#include <algorithm>

namespace ruv {
namespace {

std::string joined(std::span<const TextPart> parts) {
  std::string text;
  for (const TextPart& part : parts) text += part.text;
  return text;
}

// Bytes that both texts begin with.
size_t n_shared(std::string_view a, std::string_view b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first -
      a.begin());
}

}  // namespace

std::vector<Token> RecentPrompts::encode(std::span<const TextPart> parts) {
  std::string text = joined(parts);
  if (text.size() > kMaxBytes / 2) {  // would push all others out
    std::vector<Token> ids;
    tokenizer_->encode_parts(parts, false, ids);
    return ids;
  }
  std::list<Remembered> prompt = take(text);
  prompt.front().text = std::move(text);
  std::vector<Token> ids = prompt.front().encoder.encode(parts);
  put_back(std::move(prompt));
  return ids;
}

std::list<RecentPrompts::Remembered> RecentPrompts::take(std::string_view text) {
  std::list<Remembered> taken;
  const Lock lock(mutex_);
  auto best = prompts_.end();
  size_t most = 0;
  for (auto prompt = prompts_.begin(); prompt != prompts_.end(); ++prompt) {
    const size_t shared = n_shared(prompt->text, text);
    // Chats of one system text are not one chat: most of what is remembered has to be of use.
    if (shared <= most || 2 * shared < prompt->text.size()) continue;
    best = prompt;
    most = shared;
  }
  if (best == prompts_.end()) {
    taken.emplace_back(tokenizer_);
    return taken;
  }
  n_bytes_ -= best->text.size();
  taken.splice(taken.begin(), prompts_, best);
  return taken;
}

// Forgets the least recently used prompts beyond the limits.
void RecentPrompts::put_back(std::list<Remembered> prompt) {
  std::list<Remembered> dropped;  // freed without the lock
  const Lock lock(mutex_);
  n_kept_ += prompt.front().encoder.n_kept();
  n_bytes_ += prompt.front().text.size();
  prompts_.splice(prompts_.begin(), prompt);
  while (prompts_.size() > kMaxPrompts || n_bytes_ > kMaxBytes) {
    n_bytes_ -= prompts_.back().text.size();
    dropped.splice(dropped.begin(), prompts_, std::prev(prompts_.end()));
  }
}

size_t RecentPrompts::n_kept() const {
  const Lock lock(mutex_);
  return n_kept_;
}

size_t RecentPrompts::n_prompts() const {
  const Lock lock(mutex_);
  return prompts_.size();
}

}  // namespace ruv
