#include "grammar/mask/completion_bounds.h"

#include <algorithm>

namespace ruv {
namespace {

// States up to which an automaton is visited as a whole.
constexpr size_t kMaxAutomaton = 400;
// Automata whose bounds are kept.
constexpr size_t kMaxKnown = 100'000;

using Distances = std::vector<uint32_t>;

}  // namespace

struct CompletionBounds::Automaton {
  std::vector<Language> states;
  std::vector<std::vector<uint32_t>> before;  // by state, those that lead to it
  std::vector<bool> repeats;                  // a character leads from it to itself
  bool is_whole = true;

  // Bytes from each state to one that has a distance.
  void spread(Distances& distances) const {
    std::vector<std::vector<uint32_t>> open(1);  // states by distance
    const auto put = [&](uint32_t state, uint32_t distance) {
      if (open.size() <= distance) open.resize(distance + 1);
      open[distance].push_back(state);
    };
    for (uint32_t i = 0; i < states.size(); ++i) {
      if (distances[i] != kNone) put(i, distances[i]);
    }
    for (uint32_t distance = 0; distance < open.size(); ++distance) {
      for (size_t i = 0; i < open[distance].size(); ++i) {
        const uint32_t state = open[distance][i];
        if (distances[state] != distance) continue;
        for (const uint32_t from : before[state]) {
          if (distances[from] <= distance + 1) continue;
          distances[from] = distance + 1;
          put(from, distance + 1);
        }
      }
    }
  }
};

CompletionBounds::CompletionBounds(Languages& languages, Language character, Language rest)
    : languages_(languages), character_(character) {
  std::vector<Language> open = {rest};
  for (size_t i = 0; i < open.size(); ++i) {
    const std::span<const Languages::Arc> span = languages_.arcs(open[i]);
    for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
      if (after_rest_.insert(arc.next).second) open.push_back(arc.next);
    }
  }
}

// A state inside a character is never its own successor: what is left of the character gets
// shorter. So a byte that repeats a state is a character.
bool CompletionBounds::repeats_a_character(Language state, const Languages::Arc& arc) {
  if (arc.next != state) return false;
  bool repeats = false;
  arc.bytes.for_each([&](uint8_t byte) {
    repeats = repeats || languages_.after(character_, byte) == Language::empty;
  });
  return repeats;
}

void CompletionBounds::explore(Language language, Automaton& automaton) {
  std::unordered_map<Language, uint32_t> ids = {{language, 0}};
  automaton.states = {language};
  automaton.before.resize(1);
  for (uint32_t i = 0; i < automaton.states.size(); ++i) {
    const std::span<const Languages::Arc> span = languages_.arcs(automaton.states[i]);
    bool repeats = false;
    for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
      if (languages_.is_nothing(arc.next)) continue;
      repeats = repeats || repeats_a_character(automaton.states[i], arc);
      const auto [known, is_new] =
          ids.emplace(arc.next, static_cast<uint32_t>(automaton.states.size()));
      if (is_new) {
        automaton.states.push_back(arc.next);
        automaton.before.emplace_back();
      }
      automaton.before[known->second].push_back(i);
    }
    automaton.repeats.push_back(repeats);
    automaton.is_whole = automaton.states.size() <= kMaxAutomaton;
    if (!automaton.is_whole) return;
  }
}

// What is found holds for all states that were visited, since they lead to no others.
const CompletionBounds::Bounds& CompletionBounds::of(Language language) {
  const auto known = bounds_.find(language);
  if (known != bounds_.end()) return known->second;
  if (bounds_.size() > kMaxKnown) bounds_.clear();
  Automaton automaton;
  explore(language, automaton);
  if (!automaton.is_whole) return bounds_.emplace(language, Bounds()).first->second;
  Distances shortest(automaton.states.size(), kNone);
  for (size_t i = 0; i < shortest.size(); ++i) {
    if (languages_.has_empty(automaton.states[i])) shortest[i] = 0;
  }
  automaton.spread(shortest);
  Distances any(automaton.states.size(), kNone);
  for (size_t i = 0; i < any.size(); ++i) {
    if (automaton.repeats[i]) any[i] = shortest[i];
  }
  automaton.spread(any);
  Bounds bounds = {0, 0};
  for (size_t i = 0; i < any.size(); ++i) {
    if (after_rest_.contains(automaton.states[i])) continue;
    bounds.shortest = std::max(bounds.shortest, shortest[i]);
    bounds.any_length = std::max(bounds.any_length, any[i]);
  }
  for (const Language state : automaton.states) bounds_.emplace(state, bounds);
  return bounds_.at(language);
}

}  // namespace ruv
