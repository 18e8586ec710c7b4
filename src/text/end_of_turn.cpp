// Files name one eos, yet chat models end a turn with another token of their template.
#include "text/end_of_turn.h"

#include <algorithm>
#include <iterator>

namespace ruv {
namespace {

constexpr std::string_view kEndings[] = {
    "</s>",
    "<eos>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|im_end|>",
    "<|end|>",
    "<|EOT|>",
    "<end_of_turn>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|call|>",
    "<|return|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
    "<EOT>",
    "<|end_of_turn|>",
};

}  // namespace

std::vector<Token> find_end_of_turn(const TokenizerSpec& spec) {
  std::vector<Token> found;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const TokenKind kind = spec.kinds[i];
    if (kind != TokenKind::control && kind != TokenKind::user_defined) continue;
    if (std::find(std::begin(kEndings), std::end(kEndings), spec.tokens[i]) != std::end(kEndings)) {
      found.push_back(static_cast<Token>(i));
    }
  }
  return found;
}

}  // namespace ruv
