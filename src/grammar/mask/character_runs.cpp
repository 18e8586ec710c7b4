#include "grammar/mask/character_runs.h"

#include "grammar/mask/language_masks.h"

namespace ruv {
namespace {

// Lengths from here on are one.
constexpr size_t kLongRun = 255;
// Tokens up to which a list is smaller and faster than a mask.
constexpr size_t kShortList = 512;

}  // namespace

CharacterRuns::CharacterRuns(LanguageMasks& masks, Language character)
    : n_vocab_(masks.trie().n_vocab()),
      lengths_(std::make_shared<RunLengths>(static_cast<size_t>(n_vocab_), uint8_t{0})) {
  struct Step {
    uint32_t end;      // of the node's subtree
    Language state;    // inside a character; `empty` after one, `nothing` outside the run
    uint8_t length;    // characters so far, an unfinished one included
    uint16_t left_at;  // bytes before the run was left
  };
  const TokenTrie& trie = masks.trie();
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  std::vector<Step> path = {{static_cast<uint32_t>(nodes.size()), Language::empty, 0, 0}};
  inside_.resize(kLongRun + 1);
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    while (i == path.back().end) path.pop_back();
    const TokenTrie::Node& node = nodes[i];
    Step next = path.back();
    next.end = node.end;
    if (next.state != Language::nothing) {
      const bool starts = next.state == Language::empty;
      next.state = masks.after(starts ? character : next.state, node.byte);
      if (next.state == Language::nothing) {
        if (!starts) {  // inside a character: nothing fits
          i = node.end - 1;
          continue;
        }
        next.left_at = static_cast<uint16_t>(path.size() - 1);
      } else if (starts && next.length < kLongRun) {
        ++next.length;
      }
    }
    for (const Token token : trie.tokens(node)) {
      if (next.state != Language::nothing) {
        inside_[next.length].push_back(token);
      } else {
        (*lengths_)[static_cast<size_t>(token)] = next.length;
        exits_.push_back({masks.bytes(token).substr(next.left_at), token});
      }
    }
    if (node.end != i + 1) path.push_back(next);
  }
}

// Tokens of the run with at most `max` characters: the whole without those that are longer, or
// their own mask where that is less work.
std::shared_ptr<const LanguageTokens> CharacterRuns::inside(uint32_t max) {
  max = std::min(max, static_cast<uint32_t>(kLongRun));
  const auto known = inside_masks_.find(max);
  if (known != inside_masks_.end()) return known->second;
  auto made = std::make_shared<LanguageTokens>();
  size_t n_longer = 0;
  for (size_t n = max + 1; n <= kLongRun; ++n) n_longer += inside_[n].size();
  if (n_longer > 0 && n_longer <= kShortList) {
    made->base = inside(kLongRun);
    for (size_t n = max + 1; n <= kLongRun; ++n) {
      made->removed.insert(made->removed.end(), inside_[n].begin(), inside_[n].end());
    }
    std::ranges::sort(made->removed);
  } else {
    auto mask = std::make_shared<TokenMask>(n_vocab_);
    for (size_t n = 0; n <= max; ++n) mask->add(inside_[n]);
    made->many = std::move(mask);
  }
  inside_masks_.emplace(max, made);
  return made;
}

CharacterRuns::Rest& CharacterRuns::rest_of(LanguageMasks& masks, Language rest) {
  const auto known = rests_.find(rest);
  if (known != rests_.end()) return known->second;
  Rest made;
  std::vector<SuffixTrie::Suffix> suffixes;
  for (const auto& [text, token] : exits_) {
    Language at = rest;
    for (size_t i = 0; i < text.size() && at != Language::nothing; ++i) {
      if (i > 0 && masks.languages().has_empty(at)) suffixes.push_back({text.substr(i), token});
      at = masks.after(at, static_cast<uint8_t>(text[i]));
    }
    if (at != Language::nothing) made.ends.push_back(token);
  }
  std::ranges::stable_sort(made.ends, {},
                           [&](Token token) { return (*lengths_)[static_cast<size_t>(token)]; });
  made.rests = std::make_shared<SuffixTrie>(std::move(suffixes));
  return rests_.emplace(rest, std::move(made)).first->second;
}

std::shared_ptr<const LanguageTokens> CharacterRuns::tokens(LanguageMasks& masks, uint32_t min,
                                                            uint32_t max, Language rest) {
  Rest& after = rest_of(masks, rest);
  const bool is_unbounded = min == 0 && max >= kLongRun;
  if (is_unbounded && after.unbounded) return after.unbounded;
  const auto length = [&](Token token) { return (*lengths_)[static_cast<size_t>(token)]; };
  const auto first = std::ranges::lower_bound(after.ends, min, {}, length);
  const auto last = std::ranges::upper_bound(first, after.ends.end(), max, {}, length);
  auto made = std::make_shared<LanguageTokens>();
  if (static_cast<size_t>(last - first) <= kShortList) {
    made->base = inside(max);
    made->few.assign(first, last);
  } else {
    auto mask = std::make_shared<TokenMask>(n_vocab_);
    inside(max)->add_to(*mask);
    mask->add(std::span(first, last));
    made->many = std::move(mask);
  }
  if (!after.rests->empty()) made->rests.push_back({std::nullopt, after.rests});
  if (is_unbounded) {
    after.unbounded = made;
  } else {
    made->runs = lengths_;
    made->min_run = min;
    made->max_run = max;
  }
  return made;
}

}  // namespace ruv
