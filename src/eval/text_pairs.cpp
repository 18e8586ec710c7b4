#include "eval/text_pairs.h"

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "model/model.h"

namespace ruv {
namespace {

// What Python's str.isspace() accepts, as the harness is written in it.
bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

}  // namespace

size_t size_without_end_space(std::string_view text) {
  size_t size = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    at += static_cast<size_t>(c.size);
    if (!is_space(c.value)) size = at;
  }
  return size;
}

int64_t count_words(std::string_view text) {
  int64_t n = 1;
  bool in_space = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    at += static_cast<size_t>(c.size);
    const bool space = is_space(c.value);
    if (space && !in_space) ++n;
    in_space = space;
  }
  return n;
}

int64_t count_characters(std::string_view text) {
  int64_t n = 0;
  for (size_t at = 0; at < text.size(); ++n) {
    at += static_cast<size_t>(decode_utf8(text, at).size);
  }
  return n;
}

Result<PairEncoder> PairEncoder::create(const Model& model) {
  if (model.tokenizer == nullptr) {
    return fail(Code::unsupported, "texts cannot be scored: the model has no tokenizer");
  }
  const TokenizerSpec& spec = model.tokenizer->spec();
  const std::optional<Token> prefix = spec.bos ? spec.bos : spec.eos;
  if (!prefix) {
    return fail(Code::unsupported,
                "texts cannot be scored: no token of the model begins or ends texts");
  }
  return PairEncoder(model, *prefix);
}

std::vector<Token> PairEncoder::encode(std::string_view text) const {
  const Tokenizer& tokenizer = *model_->tokenizer;
  // A text that already begins with that token gets no second one.
  const std::string first = tokenizer.token_bytes(prefix_, true);
  if (first.empty() || !text.starts_with(first)) {
    return tokenizer.encode_prompt(text, SpecialParsing::on);
  }
  std::vector<Token> ids;
  tokenizer.encode(text, SpecialParsing::on, false, ids);
  return ids;
}

Result<TokenPair> PairEncoder::encode_pair(std::string_view context,
                                           std::string_view continuation) const {
  TokenPair pair;
  if (context.empty()) {
    model_->tokenizer->encode(continuation, SpecialParsing::on, false, pair.continuation);
    // Where the continuation begins with that token itself, it is the context.
    pair.context = {prefix_};
    if (!pair.continuation.empty() && pair.continuation.front() == prefix_) {
      pair.continuation.erase(pair.continuation.begin());
    }
  } else {
    // Tokens may join characters of both, so the continuation has what is left of the whole.
    const std::string whole = std::string(context) + std::string(continuation);
    pair.context = encode(context.substr(0, size_without_end_space(context)));
    const std::vector<Token> all = encode(whole);
    const size_t n = std::min(pair.context.size(), all.size());
    pair.continuation.assign(all.begin() + static_cast<std::ptrdiff_t>(n), all.end());
  }
  if (pair.context.empty()) return fail(Code::invalid, "the context has no tokens");
  if (pair.continuation.empty()) {
    return fail(Code::invalid, "the continuation has no tokens of its own");
  }
  return pair;
}

std::vector<TokenPair> PairEncoder::windows(std::string_view text, int64_t max_tokens) const {
  const std::vector<Token> ids = encode(text);
  std::vector<TokenPair> windows;
  const int64_t n = std::ssize(ids);
  for (int64_t begin = 0; begin < n; begin += max_tokens) {
    const int64_t end = std::min(begin + max_tokens, n);
    TokenPair window;
    // The last window is filled with context from the left; others have one token of it.
    const int64_t from = begin == 0 ? 0 : std::max<int64_t>(0, end - max_tokens - 1);
    if (begin == 0) window.context = {prefix_};
    window.context.insert(window.context.end(), ids.begin() + from, ids.begin() + begin);
    window.continuation.assign(ids.begin() + begin, ids.begin() + end);
    windows.push_back(std::move(window));
  }
  return windows;
}

}  // namespace ruv
