// The suffix automaton (Blumer et al., 1985) has a state for each set of places where the same
// chunks may have ended; every state accepts. It is grown by one chunk at a time, and a state is
// split when some of its chunks come to end at more places than others.
#include "grammar/rules/substring_language.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/utf8.h"
#include "text/split/unicode_sets.h"

namespace ruv {
namespace {

constexpr size_t kMaxSubstringBytes = size_t{64} << 10;
// A choice of texts, of which some begin alike.
constexpr uint32_t kHeightOfSubstrings = 6;

class ChunkAutomaton {
 public:
  struct State {
    uint32_t length = 0;  // of the longest sequence that leads here
    uint32_t link = kNone;
    std::map<uint32_t, uint32_t> next = {};  // states by chunk
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  ChunkAutomaton() : states_(1) {}

  // Takes amortised constant time but for the maps: each round of a loop shortens the chain of
  // links from the last state.
  void append(uint32_t chunk) {
    const uint32_t made = add({.length = states_[last_].length + 1});
    uint32_t at = last_;
    for (; at != kNone && !states_[at].next.contains(chunk); at = states_[at].link) {
      states_[at].next[chunk] = made;
    }
    states_[made].link = at == kNone ? 0 : target_of_length(at, chunk);
    last_ = made;
  }
  const std::vector<State>& states() const { return states_; }

 private:
  uint32_t add(State state) {
    states_.push_back(std::move(state));
    return static_cast<uint32_t>(states_.size() - 1);
  }

  // Where `chunk` leads from `at`: to a state whose sequences are no longer than through `at`.
  uint32_t target_of_length(uint32_t at, uint32_t chunk) {
    const uint32_t target = states_[at].next[chunk];
    if (states_[target].length == states_[at].length + 1) return target;
    State shorter = states_[target];
    shorter.length = states_[at].length + 1;
    const uint32_t made = add(std::move(shorter));
    states_[target].link = made;
    for (; at != kNone; at = states_[at].link) {
      const auto found = states_[at].next.find(chunk);
      if (found == states_[at].next.end() || found->second != target) break;
      found->second = made;
    }
    return made;
  }

  std::vector<State> states_;
  uint32_t last_ = 0;
};

enum class WordKind { space, word, other };

// Characters, or runs of characters of one kind.
std::vector<std::string> chunks_by(std::string_view text, bool by_words) {
  static const CodePointSet words = word_characters() | *find_unicode_set("N");
  const auto kind_of = [](uint32_t c) {
    if (white_space().contains(c)) return WordKind::space;
    return words.contains(c) ? WordKind::word : WordKind::other;
  };
  std::vector<std::string> chunks;
  std::optional<WordKind> before;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    const WordKind kind = kind_of(c.value);
    if (!by_words || chunks.empty() || kind != before) chunks.emplace_back();
    chunks.back() += text.substr(at, c.size);
    before = kind;
    at += c.size;
  }
  return chunks;
}

Result<std::vector<std::string>> chunks_of_list(const Json& list) {
  std::vector<std::string> chunks;
  for (const Json& chunk : list) {
    if (!chunk.is_string()) {
      return fail(Code::corrupt, "\"substring_chunks\" of %regex wants a list of texts");
    }
    if (!chunk.empty()) chunks.push_back(chunk.get<std::string>());
  }
  return chunks;
}

}  // namespace

Result<std::vector<std::string>> substring_chunks(const Json& object) {
  std::optional<std::vector<std::string>> chunks;
  for (const auto& [key, value] : object.items()) {
    const bool is_list = key == "substring_chunks";
    if (!is_list && key != "substring_words" && key != "substring_chars") {
      return fail(Code::unsupported, "the key \"{}\" of %regex is not supported",
                  to_valid_utf8(key));
    }
    if (chunks) return fail(Code::corrupt, "%regex wants one key");
    if (is_list ? !value.is_array() : !value.is_string()) {
      return fail(Code::corrupt, "\"{}\" of %regex wants {}", key,
                  is_list ? "a list of texts" : "a text");
    }
    chunks =
        is_list ? TRY(chunks_of_list(value)) : chunks_by(value.text(), key == "substring_words");
  }
  if (!chunks) return fail(Code::corrupt, "%regex wants one key");
  size_t n_bytes = 0;
  for (const std::string& chunk : *chunks) n_bytes += chunk.size();
  if (n_bytes > kMaxSubstringBytes) {
    return fail(Code::unsupported, "%regex with {} bytes; at most {} are supported", n_bytes,
                kMaxSubstringBytes);
  }
  return *std::move(chunks);
}

// States lead only to longer ones, so these are made first. All sequences that lead to a state end
// in the same chunk, so the chunk and what follows it are one expression, made with the state.
BoundedLanguage substring_language(Languages& languages, std::span<const std::string> chunks) {
  ChunkAutomaton automaton;
  std::map<std::string_view, uint32_t> ids;
  std::vector<std::string_view> texts;
  for (const std::string& chunk : chunks) {
    const auto [found, is_new] = ids.emplace(chunk, texts.size());
    if (is_new) texts.push_back(chunk);
    automaton.append(found->second);
  }
  const auto& states = automaton.states();
  std::vector<uint32_t> chunk_before(states.size());
  for (const ChunkAutomaton::State& state : states) {
    for (const auto& [chunk, next] : state.next) chunk_before[next] = chunk;
  }
  std::vector<uint32_t> order(states.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater(), [&](uint32_t id) { return states[id].length; });
  std::vector<Language> with_chunk(states.size(), Language::empty);
  uint32_t size = 1;
  for (const uint32_t id : order) {
    std::vector<Language> parts = {Language::empty};
    for (const auto& [chunk, next] : states[id].next) parts.push_back(with_chunk[next]);
    const Language rest = languages.any_of(parts);
    if (id == 0) {
      return {rest,
              {.size = size,
               .height = kHeightOfSubstrings,
               .width = 1,
               .front_height = kHeightOfSubstrings,
               .front_width = 1}};
    }
    const std::string_view text = texts[chunk_before[id]];
    with_chunk[id] = languages.concat(languages.text(text), rest);
    size = add_sizes(size, static_cast<uint32_t>(text.size() + parts.size()));
  }
  return {};
}

}  // namespace ruv
