// RestMemo: the tokens that RestWalk found, by the heads they follow from. Inside a string every
// token leads to the same heads again, and so do the objects of a list. Heads' counts are further
// away than a token reaches and do not matter.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "grammar/form/form_nodes.h"
#include "text/tokenizer.h"

namespace ruv {

// One way to read on.
struct FormHead {
  Language rest;  // what is left of the language that is being read
  FormNode next;  // what follows its end
  // Characters that are still asked and allowed where the language does not count them
  // (LongStrings); max is 0 where it does.
  uint32_t min = 0;
  uint32_t max = 0;
  bool operator==(const FormHead&) const = default;
};

class RestMemo {
 public:
  // The tokens that were kept for these heads. Valid until keep().
  std::optional<std::span<const Token>> find(std::span<const FormHead> heads) const;
  // Requires: find() knows nothing of the heads, whose nodes are never forgotten. At most kMaxKept
  // lists and kMaxTokens tokens are kept: beyond that all before are dropped.
  void keep(std::span<const FormHead> heads, std::span<const Token> tokens);

 private:
  static constexpr size_t kMaxKept = 64;
  static constexpr size_t kMaxTokens = 64 * 1024;

  struct Kept {
    uint64_t hash;
    std::vector<FormHead> heads;
    std::vector<Token> tokens;
  };
  std::vector<Kept> kept_;
  size_t n_tokens_ = 0;
};

}  // namespace ruv
