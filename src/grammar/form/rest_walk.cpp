#include "grammar/form/rest_walk.h"

#include <algorithm>

#include "grammar/form/expansion.h"

namespace ruv {

// A placeholder takes the place of the unknown bytes, so that what begins after them has a place of
// its own.
FormReader::RestWalk::RestWalk(const FormReader& reader, const LanguageTokens& tokens,
                               const TokenMask& mask, std::vector<Token>& found)
    : reader_(reader),
      tokens_(tokens),
      rests_(*tokens.rests),
      mask_(mask),
      found_(found),
      text_size_(reader.text_.size()) {
  reader_.is_coarse_ = true;
  reader_.text_ += '?';
  reader_.first_known_ = reader_.position();
}

FormReader::RestWalk::RestWalk(const FormReader& reader, const LanguageTokens& tokens,
                               const LanguageTokens::Rests& rests, const TokenMask& mask,
                               std::vector<Token>& found)
    : reader_(reader),
      tokens_(tokens),
      rests_(*rests.index),
      mask_(mask),
      found_(found),
      text_size_(reader.text_.size()) {
  reader_.is_coarse_ = true;
  reader_.text_ += rests.before;
}

FormReader::RestWalk::~RestWalk() {
  reader_.text_.resize(text_size_);
  reader_.first_known_ = 0;
  reader_.is_coarse_ = false;
}

void FormReader::RestWalk::run(FormNode next) {
  Frontier frontier;
  Expansion expansion(reader_, frontier);
  expansion.add(next);
  if (!expansion.finish()) reader_.gave_up_ = true;
  if (expansion.is_unsure()) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const SuffixTrie& trie = rests_.beginning_with(static_cast<uint8_t>(byte));
      try_tokens(trie, 0, static_cast<uint32_t>(trie.nodes().size()));
    }
    return;
  }
  first_bytes(frontier).for_each([&](uint8_t byte) { run(frontier, rests_.beginning_with(byte)); });
}

ByteSet FormReader::RestWalk::first_bytes(const Frontier& frontier) const {
  ByteSet bytes;
  for (const Head& head : frontier.heads) {
    for (const Languages::Arc& arc : reader_.parts_.masks->languages().arcs(head.rest)) {
      bytes |= arc.bytes;
    }
  }
  return bytes;
}

void FormReader::RestWalk::run(const Frontier& frontier, const SuffixTrie& trie) {
  const std::span<const SuffixTrie::Node> nodes = trie.nodes();
  const auto n_nodes = static_cast<uint32_t>(nodes.size());
  std::vector<Level> levels;
  Frontier moved;
  for (uint32_t i = 0; i < n_nodes;) {
    while (!levels.empty() && i == levels.back().end) {
      levels.pop_back();
      reader_.text_.pop_back();
    }
    if (!levels.empty() && !levels.back().is_sure) {
      try_tokens(trie, i, levels.back().end);
      i = levels.back().end;
      continue;
    }
    const SuffixTrie::Node& node = nodes[i];
    if (!reader_.move(levels.empty() ? frontier : levels.back().frontier, node.byte, moved)) {
      i = node.end;
      continue;
    }
    const auto needs_unknown = [&](const Head& head) { return reader_.needs_unknown(head); };
    if (std::ranges::any_of(moved.heads, needs_unknown)) {
      try_tokens(trie, i, node.end);
      i = node.end;
      continue;
    }
    add(trie.tokens(node));
    ++i;
    if (node.end == i) continue;
    reader_.text_.push_back(static_cast<char>(node.byte));
    Level level = {node.end, true, {}};
    level.is_sure = reader_.expand(moved, level.frontier);
    levels.push_back(std::move(level));
  }
  for (; !levels.empty(); levels.pop_back()) reader_.text_.pop_back();
}

void FormReader::RestWalk::add(std::span<const Token> tokens) {
  if (tokens_.keeps_all_rests()) {
    found_.insert(found_.end(), tokens.begin(), tokens.end());
    return;
  }
  for (const Token token : tokens) {
    if (tokens_.keeps_rest(token)) found_.push_back(token);
  }
}

void FormReader::RestWalk::try_tokens(const SuffixTrie& trie, uint32_t from, uint32_t to) {
  const std::string rest = reader_.text_.substr(text_size_);
  const uint32_t first_known = std::exchange(reader_.first_known_, 0);
  reader_.is_coarse_ = false;
  reader_.text_.resize(text_size_);
  for (uint32_t i = from; i < to; ++i) {
    for (const Token token : trie.tokens(trie.nodes()[i])) {
      if (mask_.has(token) || !tokens_.keeps_rest(token)) continue;
      if (reader_.allows(reader_.parts_.tokens->bytes(token))) found_.push_back(token);
    }
  }
  reader_.text_ += rest;
  reader_.first_known_ = first_known;
  reader_.is_coarse_ = true;
}

}  // namespace ruv
