// AddedTokens: finds texts that become one id wherever they appear, such as "<|im_end|>". The
// leftmost match wins, and the longest among those. A trie is walked only from positions whose
// first two bytes begin a token.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace ruv {

// A stretch of a prompt: an added token (id >= 0), or text between them (id -1).
struct Section {
  size_t begin = 0;
  size_t end = 0;
  Token id = -1;
  bool operator==(const Section&) const = default;
};

// Where control tokens are recognised: bytes before `end`, from the end of the range before.
struct SpecialRange {
  size_t end = 0;
  SpecialParsing special = SpecialParsing::off;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // Tokens with an empty text are ignored.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  // Bytes of the longest text.
  size_t longest() const { return longest_; }
  // Appends the sections of `text`, in order. Sections are not empty, except where stripping
  // removed all of one. Requires: `ranges` cover the text; neighbours differ in `special`.
  void split(std::string_view text, std::span<const SpecialRange> ranges,
             std::vector<Section>& out) const;

 private:
  // A node of the trie over all texts.
  struct Node {
    uint32_t first_child = 0;  // children are neighbours in nodes_, ordered by label
    uint16_t n_children = 0;
    uint8_t label = 0;
    int32_t token = -1;  // index in tokens_
  };

  const Node* child(const Node& node, uint8_t label) const;
  class Places;
  bool may_begin(std::string_view text, size_t at) const;
  // The longest token at `at`; null when none. Control tokens end by `special_end`.
  const AddedToken* match(std::string_view text, size_t at, size_t special_end) const;

  std::vector<AddedToken> tokens_;  // ordered by text
  std::vector<Node> nodes_;
  size_t longest_ = 0;
  std::string first_bytes_;  // each byte that a token begins with
  // A bit for each pair of bytes that a token begins with.
  std::vector<uint64_t> first_pairs_;
};

}  // namespace ruv
