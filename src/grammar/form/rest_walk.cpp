#include "grammar/form/rest_walk.h"

#include "grammar/form/expansion.h"

namespace ruv {

// A placeholder takes the place of the unknown bytes, so that what begins after them has a place of
// its own.
FormReader::RestWalk::RestWalk(const FormReader& reader, const LanguageTokens& tokens,
                               const LanguageTokens::Rests& rests, TokenMask& mask)
    : reader_(reader),
      tokens_(tokens),
      rests_(*rests.trie),
      mask_(mask),
      text_size_(reader.text_.size()) {
  reader_.text_ += rests.before.value_or("?");
  if (!rests.before) reader_.first_known_ = reader_.position();
}

FormReader::RestWalk::~RestWalk() {
  reader_.text_.resize(text_size_);
  reader_.first_known_ = 0;
}

void FormReader::RestWalk::run(FormNode next) {
  const std::span<const SuffixTrie::Node> nodes = rests_.nodes();
  std::vector<Level> levels(1);
  levels[0].end = static_cast<uint32_t>(nodes.size());
  Expansion expansion(reader_, levels[0].frontier);
  expansion.add(next);
  if (!expansion.finish()) reader_.gave_up_ = true;
  levels[0].is_sure = !expansion.is_unsure();
  Frontier moved;
  for (uint32_t i = 0; i < nodes.size();) {
    while (i == levels.back().end) {
      levels.pop_back();
      reader_.text_.pop_back();
    }
    if (!levels.back().is_sure) {
      try_tokens(i, levels.back().end);
      i = levels.back().end;
      continue;
    }
    const SuffixTrie::Node& node = nodes[i];
    if (!reader_.move(levels.back().frontier, node.byte, moved)) {
      i = node.end;
      continue;
    }
    add(rests_.tokens(node));
    ++i;
    if (node.end == i) continue;
    reader_.text_.push_back(static_cast<char>(node.byte));
    Level level = {node.end, true, {}};
    level.is_sure = reader_.expand(moved, level.frontier);
    levels.push_back(std::move(level));
  }
}

void FormReader::RestWalk::add(std::span<const Token> tokens) {
  if (tokens_.keeps_all_rests()) return mask_.add(tokens);
  for (const Token token : tokens) {
    if (tokens_.keeps_rest(token)) mask_.add(token);
  }
}

void FormReader::RestWalk::try_tokens(uint32_t from, uint32_t to) {
  const std::string rest = reader_.text_.substr(text_size_);
  const uint32_t first_known = std::exchange(reader_.first_known_, 0);
  reader_.text_.resize(text_size_);
  for (uint32_t i = from; i < to; ++i) {
    for (const Token token : rests_.tokens(rests_.nodes()[i])) {
      if (mask_.has(token) || !tokens_.keeps_rest(token)) continue;
      if (reader_.allows(reader_.parts_.tokens->bytes(token))) mask_.add(token);
    }
  }
  reader_.text_ += rest;
  reader_.first_known_ = first_known;
}

}  // namespace ruv
