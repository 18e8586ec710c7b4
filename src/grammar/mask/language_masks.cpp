#include "grammar/mask/language_masks.h"

#include "grammar/mask/trie_walk.h"

namespace ruv {
namespace {

// Sets of characters whose runs are kept: some hundred kilobytes each.
constexpr size_t kMaxRuns = 64;
// Tokens up to which a list is smaller and faster than a mask.
constexpr size_t kFewTokens = 512;
// Ends of a language in the vocabulary up to which their rests are kept apart.
constexpr size_t kFewEnds = 12;
// What a character may be to have runs: its spellings are short and many.
constexpr uint32_t kMaxSpelling = 12;
// Bytes that characters begin with from which on runs are worth a visit to the whole vocabulary.
constexpr size_t kManyBytes = 100;
// The same for a run that is so long that there are many states of it.
constexpr size_t kSomeBytes = 30;
constexpr uint32_t kManyStates = 24;

}  // namespace

LanguageMasks::LanguageMasks(Languages& languages, const TokenTrie& trie,
                             const TokenPrefixes& prefixes, size_t max_bytes)
    : languages_(languages),
      trie_(trie),
      prefixes_(prefixes),
      max_bytes_(max_bytes),
      rows_(languages) {}

Language LanguageMasks::after(Language language, std::string_view bytes) {
  for (const char byte : bytes) {
    if (language == Language::nothing) break;
    language = after(language, static_cast<uint8_t>(byte));
  }
  return language;
}

// All that is kept goes when there is too much of it; readers hold what they use.
const std::shared_ptr<const LanguageTokens>& LanguageMasks::tokens(Language language) {
  const auto found = tokens_.find(language);
  if (found != tokens_.end()) return found->second;
  rows_.forget_many();
  Made made = make(language);
  n_bytes_ += made->n_bytes();
  if (n_bytes_ > max_bytes_) {
    tokens_.clear();
    n_bytes_ = made->n_bytes();
  }
  return tokens_.emplace(language, std::move(made)).first->second;
}

// From what is known of simpler languages, if there are such.
LanguageMasks::Made LanguageMasks::make(Language language) {
  if (const auto exclusion = exclusion_of(language)) {
    if (Made made = without(language, *exclusion)) return made;
  }
  if (const auto both = languages_.intersection_of(language)) {
    if (Made made = limited(language, *both)) return made;
  }
  const auto repetition = languages_.repetition_of(language);
  if (!repetition || !is_run(*repetition)) return walk(language);
  return runs_of(repetition->part)
      .tokens(*this, repetition->min, repetition->max, repetition->rest);
}

// What follows a run of characters begins like none of them, so a text is of the run up to there,
// and it may follow what was taken away, too.
std::optional<Languages::Exclusion> LanguageMasks::exclusion_of(Language language) {
  if (const auto whole = languages_.narrow_exclusion_of(language)) return whole;
  const auto both = languages_.intersection_of(language);
  if (!both || both->rest == Language::empty) return std::nullopt;
  const auto first = languages_.narrow_exclusion_of(languages_.all_of(both->parts));
  if (!first) return std::nullopt;
  const bool ends_clearly = std::ranges::any_of(both->parts, [&](Language part) {
    auto run = languages_.repetition_of(part);
    if (!run || run->rest != Language::empty) return false;
    run->rest = both->rest;
    return is_run(*run);
  });
  if (!ends_clearly) return std::nullopt;
  return Languages::Exclusion{languages_.concat(first->base, both->rest),
                              languages_.concat(first->excluded, both->rest)};
}

CharacterRuns& LanguageMasks::runs_of(Language character) {
  if (runs_.size() > kMaxRuns && !runs_.contains(character)) runs_.clear();
  std::unique_ptr<CharacterRuns>& runs = runs_[character];
  if (!runs) {
    runs = std::make_unique<CharacterRuns>(*this, character);
    n_visited_ += runs->n_visited();
  }
  return *runs;
}

// Whether a character always ends where its language does, and what follows the run begins like
// none.
bool LanguageMasks::is_run(const Languages::Repetition& repetition) {
  const Language part = repetition.part;
  if (languages_.longest(part) > kMaxSpelling || languages_.has_empty(part)) return false;
  if (languages_.has_empty(repetition.rest)) return false;
  // In a set of spellings of which none begins another, a state that ends is the last one.
  std::vector<Language> open = {part};
  for (size_t i = 0; i < open.size(); ++i) {
    if (languages_.has_empty(open[i]) && open[i] != Language::empty) return false;
    for (const Languages::Arc& arc : languages_.arcs(open[i])) {
      if (std::ranges::find(open, arc.next) == open.end()) open.push_back(arc.next);
    }
    if (open.size() > 200) return false;
  }
  ByteSet first;
  for (const Languages::Arc& arc : languages_.arcs(part)) first |= arc.bytes;
  const bool is_unlimited = repetition.max == Languages::kUnlimited;
  const bool has_many_states = (is_unlimited ? repetition.min : repetition.max) >= kManyStates;
  if (first.size() < (has_many_states ? kSomeBytes : kManyBytes)) return false;
  for (const Languages::Arc& arc : languages_.arcs(repetition.rest)) {
    if (!(first & arc.bytes).empty()) return false;
  }
  return true;
}

void LanguageMasks::add_slice(Language character) {
  slices_.push_back(std::make_unique<TextSlice>(languages_, character, prefixes_, trie_.n_vocab()));
}

// With a slice, if the language has one inside it.
LanguageMasks::Made LanguageMasks::walk(Language language) {
  for (const auto& slice : slices_) {
    if (!slice->is_inside(languages_, language)) continue;
    auto made = std::make_shared<LanguageTokens>(*walk(language, slice->others()));
    made->base = slice->tokens();
    return made;
  }
  return walk(language, trie_);
}

LanguageMasks::Made LanguageMasks::walk(Language language, const TokenTrie& trie) {
  TrieWalk walk(languages_, rows_, trie);
  walk.run(language);
  n_visited_ += walk.n_visited();
  auto made = std::make_shared<LanguageTokens>();
  if (walk.inside().size() <= kFewTokens) {
    made->few = walk.inside();
  } else {
    auto mask = std::make_shared<TokenMask>(trie_.n_vocab());
    mask->add(walk.inside());
    made->many = std::move(mask);
  }
  add_rests(*made, trie, walk.ends());
  return made;
}

// The first token below a node, whose bytes begin with those of the node.
std::string LanguageMasks::bytes_of(const TokenTrie& trie, const RestIndex::End& end) const {
  uint32_t at = end.node;
  while (trie.nodes()[at].n_tokens == 0) ++at;
  return std::string(bytes(trie.tokens(trie.nodes()[at])[0]).substr(0, end.depth));
}

// The bytes before a rest are known where the language ends at few places of the vocabulary.
void LanguageMasks::add_rests(LanguageTokens& made, const TokenTrie& trie,
                              const std::vector<RestIndex::End>& ends) {
  if (ends.empty()) return;
  made.rests = std::make_shared<RestIndex>(trie, prefixes_, ends);
  if (ends.size() > kFewEnds) return;
  for (const RestIndex::End& end : ends) {
    made.rests_by_text.push_back(
        {bytes_of(trie, end),
         ends.size() == 1 ? made.rests
                          : std::make_shared<RestIndex>(trie, prefixes_, std::vector{end})});
  }
}

// Only along the texts that are taken away do tokens differ from those of the base. Not for a base
// in which a text that ends may be longer, too: its tokens have several ends.
LanguageMasks::Made LanguageMasks::without(Language language,
                                           const Languages::Exclusion& exclusion) {
  struct Step {
    uint32_t end;
    Language state;
    Language base;
    Language excluded;
    bool ends;  // a text that was taken away ended before
  };
  auto made = std::make_shared<LanguageTokens>();
  made->base = tokens(exclusion.base);
  made->rests = made->base->rests;
  made->rests_by_text = made->base->rests_by_text;
  made->removed_rests = made->base->removed_rests;
  made->runs = made->base->runs;
  made->min_run = made->base->min_run;
  made->max_run = made->base->max_run;
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  std::vector<Step> path = {
      {static_cast<uint32_t>(nodes.size()), language, exclusion.base, exclusion.excluded, false}};
  for (uint32_t i = 1; i < nodes.size();) {
    while (i == path.back().end) path.pop_back();
    const TokenTrie::Node& node = nodes[i];
    const Step& at = path.back();
    Step next = {node.end, Language::nothing, Language::nothing, Language::nothing, at.ends};
    if (!at.ends) {
      next.excluded = languages_.after(at.excluded, node.byte);
      if (next.excluded == Language::nothing) {  // as in the base
        i = node.end;
        continue;
      }
      next.state = at.state == Language::nothing ? at.state : rows_.after(at.state, node.byte);
      next.base = at.base == Language::nothing ? at.base : rows_.after(at.base, node.byte);
    }
    for (const Token token : trie_.tokens(node)) {
      if (next.ends) {
        made->removed_rests.push_back(token);
      } else if (next.base != Language::nothing && next.state == Language::nothing) {
        made->removed.push_back(token);
      }
    }
    if (node.end != i + 1) {
      const bool base_ends = next.base != Language::nothing && languages_.has_empty(next.base);
      if (base_ends && next.base != Language::empty) return nullptr;
      if (base_ends && (next.state == Language::nothing || !languages_.has_empty(next.state))) {
        next.ends = true;
      }
      path.push_back(next);
    }
    ++i;
  }
  std::ranges::sort(made->removed);
  std::ranges::sort(made->removed_rests);
  return made;
}

}  // namespace ruv
