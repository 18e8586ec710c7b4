// In time linear in the bytes of the vocabulary times the length of its longest token, which is
// limited. Between two merges of one score a vocabulary with scores takes the leftmost, a list of
// merges the first in the list. Which of both a text has matters where tokens of one score overlap.
#include "convert/score_merges.h"

#include <algorithm>
#include <unordered_map>

#include "text/space_mark.h"

namespace ruv {
namespace {

// Longer tokens would take time by the square of their length.
constexpr size_t kLongest = 4096;
// All pairs of them are tried.
constexpr size_t kMostTies = 64;

bool may_merge(const TokenizerSpec& spec, size_t id) {
  const TokenKind kind = spec.kinds[id];
  return (kind == TokenKind::normal || kind == TokenKind::user_defined) &&
         spec.tokens[id].find(' ') == std::string::npos;
}

// A token that two others give.
struct MadeToken {
  Token id;
  Token left, right;
};

// All ways to make tokens, the highest scores first, then the lowest ids. Fails: unsupported.
Result<std::vector<MadeToken>> made_tokens(const TokenizerSpec& spec, const std::string& source) {
  std::unordered_map<std::string_view, Token> ids;
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (may_merge(spec, id)) ids.emplace(spec.tokens[id], static_cast<Token>(id));
  }
  std::vector<MadeToken> made;
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const std::string_view text = spec.tokens[id];
    if (!may_merge(spec, id)) continue;
    if (text.size() > kLongest) {
      return fail(Code::unsupported, "{}: 'tokenizer.ggml.tokens': token {} has {} bytes", source,
                  id, text.size());
    }
    for (size_t at = 1; at < text.size(); ++at) {
      if ((static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) continue;  // inside a character
      const auto left = ids.find(text.substr(0, at)), right = ids.find(text.substr(at));
      if (left == ids.end() || right == ids.end()) continue;
      made.push_back({static_cast<Token>(id), left->second, right->second});
    }
  }
  const auto score = [&](const MadeToken& one) { return spec.scores[static_cast<size_t>(one.id)]; };
  std::ranges::stable_sort(made, [&](const MadeToken& a, const MadeToken& b) {
    return score(a) != score(b) ? score(a) > score(b)
           : a.id != b.id       ? a.id < b.id
           : a.left != b.left   ? a.left < b.left
                                : a.right < b.right;
  });
  return made;
}

// Both tokens beside each other, and as far over each other as they fit; each repeated.
void add_overlaps(const std::string& a, const std::string& b, std::vector<std::string>& texts) {
  for (size_t n = 0; n <= std::min(a.size(), b.size()); ++n) {
    if (a.substr(a.size() - n) != b.substr(0, n)) continue;
    const std::string joined = a + b.substr(n);
    texts.push_back(joined);
    texts.push_back(joined + b + a);
    texts.push_back("x" + joined + joined);
  }
}

}  // namespace

Result<std::vector<std::string>> merges_of_scores(const TokenizerSpec& spec,
                                                  const std::string& source) {
  std::vector<std::string> merges;
  for (const MadeToken& one : TRY(made_tokens(spec, source))) {
    merges.push_back(spec.tokens[static_cast<size_t>(one.left)] + " " +
                     spec.tokens[static_cast<size_t>(one.right)]);
  }
  return merges;
}

Result<std::vector<std::string>> texts_of_ties(const TokenizerSpec& spec,
                                               const std::string& source) {
  std::vector<Token> ids;
  for (const MadeToken& one : TRY(made_tokens(spec, source))) {
    if (ids.empty() || ids.back() != one.id) ids.push_back(one.id);
  }
  std::vector<std::string> texts;
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    const float score = spec.scores[static_cast<size_t>(ids[begin])];
    while (end < ids.size() && spec.scores[static_cast<size_t>(ids[end])] == score) ++end;
    if (end - begin > kMostTies) {
      return fail(Code::unsupported,
                  "{}: 'tokenizer.ggml.scores': {} tokens have one score, so that their place in a "
                  "text decides, which a tokenizer.json cannot say",
                  source, end - begin);
    }
    for (size_t i = begin; i < end && end - begin > 1; ++i) {
      for (size_t j = begin; j < end; ++j) {
        add_overlaps(spec.tokens[static_cast<size_t>(ids[i])],
                     spec.tokens[static_cast<size_t>(ids[j])], texts);
      }
    }
  }
  for (std::string& text : texts) {
    for (size_t at = text.find(kSpaceMark); at != text.npos; at = text.find(kSpaceMark, at + 1)) {
      text.replace(at, kSpaceMark.size(), " ");
    }
  }
  return texts;
}

}  // namespace ruv
