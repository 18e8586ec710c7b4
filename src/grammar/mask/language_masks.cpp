#include "grammar/mask/language_masks.h"

namespace ruv {
namespace {

// Rows of 1 KB that are kept from one walk to the next.
constexpr size_t kMaxRows = 16384;
// Tokens up to which a list is smaller and faster than a mask.
constexpr size_t kFewTokens = 512;

}  // namespace

// What a walk collects.
struct LanguageMasks::Walk {
  std::vector<Token> tokens;
  std::string path;  // bytes from the root to the node
  // Rests of tokens: bytes in `texts`, from an offset to an end.
  struct Rest {
    size_t begin;
    size_t end;
    Token token;
  };
  std::string texts;
  std::vector<Rest> rests;
};

void LanguageMasks::Tokens::add_to(TokenMask& mask) const {
  many ? mask.add(*many) : mask.add(few);
}

size_t LanguageMasks::Tokens::n_bytes(int64_t n_vocab) const {
  const size_t inside = many ? static_cast<size_t>(n_vocab) / 8 : few.size() * sizeof(Token);
  return sizeof(Tokens) + inside + rests.n_bytes();
}

LanguageMasks::LanguageMasks(Languages& languages, const TokenTrie& trie, size_t max_bytes)
    : languages_(languages), trie_(trie), max_bytes_(max_bytes) {}

// All derivatives of a language at once; those that lead nowhere are left out.
const LanguageMasks::Row& LanguageMasks::row(Language language) {
  const auto index = static_cast<size_t>(language);
  if (index < rows_.size() && rows_[index]) return *rows_[index];
  auto made = std::make_unique<Row>();
  made->fill(Language::nothing);
  const std::span<const Languages::Arc> span = languages_.arcs(language);
  const std::vector<Languages::Arc> arcs(span.begin(), span.end());
  for (const Languages::Arc& arc : arcs) {
    if (languages_.is_nothing(arc.next)) continue;
    arc.bytes.for_each([&](uint8_t byte) { (*made)[byte] = arc.next; });
  }
  if (index >= rows_.size()) rows_.resize(std::max(languages_.size(), 2 * rows_.size()));
  ++n_rows_;
  return *(rows_[index] = std::move(made));
}

Language LanguageMasks::after(Language language, std::string_view bytes) {
  for (const char byte : bytes) {
    if (language == Language::nothing) break;
    language = after(language, static_cast<uint8_t>(byte));
  }
  return language;
}

std::shared_ptr<const LanguageMasks::Tokens> LanguageMasks::tokens(Language language) {
  const auto found = tokens_.find(language);
  if (found != tokens_.end()) return found->second;
  if (n_rows_ >= kMaxRows) {
    rows_.clear();
    n_rows_ = 0;
  }
  Walk collected;
  walk(language, collected);
  auto made = std::make_shared<Tokens>();
  if (collected.tokens.size() <= kFewTokens) {
    made->few = std::move(collected.tokens);
  } else {
    made->many = std::make_unique<TokenMask>(trie_.n_vocab());
    made->many->add(collected.tokens);
  }
  std::vector<SuffixTrie::Suffix> rests;
  rests.reserve(collected.rests.size());
  const std::string_view texts = collected.texts;
  for (const Walk::Rest& rest : collected.rests) {
    rests.push_back({texts.substr(rest.begin, rest.end - rest.begin), rest.token});
  }
  made->rests = SuffixTrie(std::move(rests));
  n_bytes_ += made->n_bytes(trie_.n_vocab());
  if (n_bytes_ > max_bytes_) {
    tokens_.clear();
    n_bytes_ = made->n_bytes(trie_.n_vocab());
  }
  return tokens_.emplace(language, std::move(made)).first->second;
}

// One scan of the tree: a byte after which nothing can follow skips its subtree, unless a text of
// the language ended on the way, whose rests are collected.
void LanguageMasks::walk(Language language, Walk& found) {
  struct Step {
    uint32_t end;    // of the node's subtree
    Language state;  // after the node's bytes
  };
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  std::vector<Step> path = {{static_cast<uint32_t>(nodes.size()), language}};
  std::vector<size_t> ends;  // lengths after which a text of the language ended, on the path
  for (uint32_t i = 1; i < nodes.size();) {
    while (i == path.back().end) {
      path.pop_back();
      found.path.pop_back();
      while (!ends.empty() && ends.back() > found.path.size()) ends.pop_back();
    }
    const TokenTrie::Node& node = nodes[i];
    const Language state = path.back().state;
    const Language next = state == Language::nothing ? state : row(state)[node.byte];
    if (next == Language::nothing && ends.empty()) {
      i = node.end;
      continue;
    }
    const std::span<const Token> tokens = trie_.tokens(node);
    if (next != Language::nothing) {
      found.tokens.insert(found.tokens.end(), tokens.begin(), tokens.end());
    }
    found.path.push_back(static_cast<char>(node.byte));
    if (!tokens.empty()) {
      for (const size_t end : ends) {
        const size_t begin = found.texts.size();
        found.texts.append(found.path, end);
        for (const Token token : tokens) {
          found.rests.push_back({begin, found.texts.size(), token});
        }
      }
    }
    if (node.end == i + 1) {
      found.path.pop_back();
    } else {
      path.push_back({node.end, next});
      if (next != Language::nothing && languages_.has_empty(next))
        ends.push_back(found.path.size());
    }
    ++i;
  }
}

}  // namespace ruv
