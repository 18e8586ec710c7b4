#include "grammar/mask/character_runs.h"

#include "grammar/mask/language_masks.h"

namespace ruv {
namespace {

// Tokens up to which a list is smaller and faster than a mask.
constexpr size_t kShortList = 512;

}  // namespace

// Sorts tokens by the length of their run, and finds the nodes at which runs are left.
CharacterRuns::CharacterRuns(LanguageMasks& masks, Language character)
    : n_vocab_(masks.trie().n_vocab()),
      lengths_(std::make_shared<RunLengths>(static_cast<size_t>(n_vocab_), uint8_t{0})) {
  struct Step {
    const StateRows::Row* row;  // of the rest of a character; of a whole one where `starts`
    bool starts;                // a character begins here
    uint8_t length;             // characters so far, an unfinished one included
  };
  const TokenTrie& trie = masks.trie();
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  const StateRows::Row* const whole = &masks.row(character);
  std::vector<Step> path(trie.depth() + 1);  // by depth
  path[0] = {whole, true, 0};
  inside_.resize(kLongRun + 1);
  for (uint32_t i = 1; i < nodes.size();) {
    ++n_visited_;
    const TokenTrie::Node& node = nodes[i];
    const size_t depth = trie.depths()[i];
    const Step& before = path[depth - 1];
    const Language next = (*before.row)[node.byte];
    if (next == Language::nothing) {
      if (before.starts) exits_.push_back({i, static_cast<uint32_t>(depth - 1), before.length});
      i = node.end;
      continue;
    }
    const auto length =
        static_cast<uint8_t>(before.length + (before.starts && before.length < kLongRun));
    for (const Token token : trie.tokens(node)) inside_[length].push_back(token);
    if (node.end != i + 1) {
      const bool starts = next == Language::empty;
      path[depth] = {starts ? whole : &masks.row(next), starts, length};
    }
    ++i;
  }
  for (const Exit& exit : exits_) {
    if (exit.length == 0) continue;
    for (uint32_t i = exit.node; i < nodes[exit.node].end; ++i) {
      for (const Token token : trie.tokens(nodes[i])) {
        (*lengths_)[static_cast<size_t>(token)] = exit.length;
      }
    }
  }
}

// Tokens of the run with at most `max` characters: the whole without those that are longer, or
// their own mask where that is less work.
std::shared_ptr<const LanguageTokens> CharacterRuns::inside(uint32_t max) {
  max = std::min(max, kLongRun);
  const auto known = inside_masks_.find(max);
  if (known != inside_masks_.end()) return known->second;
  auto made = std::make_shared<LanguageTokens>();
  size_t n_longer = 0;
  for (uint32_t n = max + 1; n <= kLongRun; ++n) n_longer += inside_[n].size();
  if (n_longer > 0 && n_longer <= kShortList) {
    made->base = inside(kLongRun);
    for (uint32_t n = max + 1; n <= kLongRun; ++n) {
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

// Follows what comes after the run from each node that leaves it.
CharacterRuns::Rest& CharacterRuns::rest_of(LanguageMasks& masks, Language rest) {
  const auto known = rests_.find(rest);
  if (known != rests_.end()) return known->second;
  Rest made;
  std::vector<RestIndex::End> ends;
  const TokenTrie& trie = masks.trie();
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (const Exit& exit : exits_) {
    struct Step {
      uint32_t end;
      Language state;
    };
    std::vector<Step> path = {{nodes[exit.node].end, rest}};
    for (uint32_t i = exit.node; i < nodes[exit.node].end;) {
      while (i == path.back().end) path.pop_back();
      const Language next = masks.after(path.back().state, nodes[i].byte);
      if (next == Language::nothing) {
        i = nodes[i].end;
        continue;
      }
      const std::span<const Token> tokens = trie.tokens(nodes[i]);
      made.ends.insert(made.ends.end(), tokens.begin(), tokens.end());
      if (nodes[i].end != i + 1 && masks.languages().has_empty(next)) {
        ends.push_back({i, exit.depth + static_cast<uint32_t>(path.size())});
      }
      path.push_back({nodes[i].end, next});
      ++i;
    }
  }
  std::ranges::stable_sort(made.ends, {},
                           [&](Token token) { return (*lengths_)[static_cast<size_t>(token)]; });
  made.rests = std::make_shared<RestIndex>(trie, masks.prefixes(), std::move(ends));
  return rests_.emplace(rest, std::move(made)).first->second;
}

// Tokens inside the run and tokens that end after it are found apart and joined.
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
  made->rests = after.rests;
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
