#include "grammar/goal/key_sets.h"

#include <algorithm>

namespace ruv {
namespace {

// Finite sets up to this size are lists of names, so that it is known when all have come.
constexpr size_t kFewKeys = 256;
constexpr uint32_t kMaxListedBytes = 4096;

}  // namespace

KeySets::KeySets(Languages& languages, JsonText& text) : l_(languages), text_(text) {
  sets_.push_back({.in = text.any_string(), .out = Language::nothing, .is_all = true});
}

KeyName KeySets::name(std::string_view key) {
  const auto [at, is_new] = ids_.emplace(std::string(key), static_cast<KeyName>(names_.size()));
  if (is_new) {
    names_.push_back({std::string(key), escape_json(key), Language::nothing, Language::nothing});
  }
  return at->second;
}

KeyName KeySets::find(std::string_view key) const {
  const auto at = ids_.find(std::string(key));
  return at == ids_.end() ? KeyName::other : at->second;
}

Language KeySets::spellings(KeyName name) {
  Name& found = names_[static_cast<size_t>(name)];
  if (found.language == Language::nothing) found.language = text_.string(found.key);
  return found.language;
}

Language KeySets::quoted(KeyName name) {
  const Language inside = spellings(name);
  Name& found = names_[static_cast<size_t>(name)];
  if (found.quoted == Language::nothing) found.quoted = text_.quoted(inside);
  return found.quoted;
}

KeySet KeySets::add(Set set) {
  const auto id = static_cast<KeySet>(sets_.size());
  sets_.push_back(std::move(set));
  return id;
}

KeySet KeySets::one(KeyName name) {
  const auto at = single_.find(name);
  if (at != single_.end()) return at->second;
  const Language in = spellings(name);
  const KeySet made = add({.in = in,
                           .out = l_.but(text_.any_string(), in),
                           .name = name,
                           .few_in = true,
                           .few = {name}});
  single_.emplace(name, made);
  return made;
}

// Walks the automaton of a language as long as it can have few texts only.
bool KeySets::list(Language language, std::vector<KeyName>& names) {
  if (l_.longest(language) > kMaxListedBytes) return false;
  std::vector<std::pair<Language, std::string>> open = {{language, ""}};
  size_t n_steps = 0;
  while (!open.empty()) {
    const Language at = open.back().first;
    const std::string spelling = std::move(open.back().second);
    open.pop_back();
    if (++n_steps > kMaxListedBytes) return false;
    if (l_.has_empty(at)) {
      const auto key = unescape_json(spelling);
      if (!key || names.size() == kFewKeys) return false;
      names.push_back(name(*key));
    }
    const std::span<const Languages::Arc> span = l_.arcs(at);
    for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
      if (l_.is_nothing(arc.next)) continue;
      arc.bytes.for_each([&](uint8_t byte) {
        if (open.size() <= kFewKeys)
          open.emplace_back(arc.next, spelling + static_cast<char>(byte));
      });
      if (open.size() > kFewKeys) return false;
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return true;
}

// A language of one key is that key.
KeySet KeySets::of_language(Language spellings) {
  const auto at = by_language_.find(spellings);
  if (at != by_language_.end()) return at->second;
  if (spellings == text_.any_string()) return KeySet::all;
  Set set = {.in = spellings, .out = l_.but(text_.any_string(), spellings)};
  set.few_in = list(spellings, set.few);
  const bool is_one = set.few_in && set.few.size() == 1;
  const KeySet made = is_one ? one(set.few[0]) : add(std::move(set));
  by_language_.emplace(spellings, made);
  return made;
}

// Keeps what is left out as it is, since that is the smaller expression.
KeySet KeySets::others(std::vector<KeyName> names, std::span<const KeySet> sets) {
  std::vector<Language> parts;
  for (const KeyName name : names) parts.push_back(spellings(name));
  bool few = true;
  for (const KeySet set : sets) {
    if (set == KeySet::all) return complement(KeySet::all);
    parts.push_back(sets_[static_cast<size_t>(set)].in);
    few = few && (*this)[set].few_in;
    const std::vector<KeyName> listed = (*this)[set].few;
    names.insert(names.end(), listed.begin(), listed.end());
  }
  const Language out = l_.any_of(parts);
  if (out == Language::nothing) return KeySet::all;
  Set made = {.in = l_.but(text_.any_string(), out), .out = out, .few_out = few};
  const auto at = by_language_.find(made.in);
  if (at != by_language_.end()) return at->second;
  if (few) {
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    made.few = std::move(names);
  }
  const Language in = made.in;
  const KeySet id = add(std::move(made));
  by_language_.emplace(in, id);
  return id;
}

KeySet KeySets::complement(KeySet set) {
  const auto at = complements_.find(set);
  if (at != complements_.end()) return at->second;
  const Set& of = (*this)[set];
  const KeySet made = add({.in = of.out,
                           .out = of.in,
                           .few_in = of.few_out || of.is_all,
                           .few_out = of.few_in,
                           .few = of.few});
  complements_.emplace(set, made);
  complements_.emplace(made, set);
  return made;
}

// One spelling decides, since languages have all spellings of a key or none.
bool KeySets::contains(KeySet set, KeyName name) {
  const Set& at = (*this)[set];
  if (at.is_all || at.name == name) return true;
  if (at.name != KeyName::other) return false;
  if (at.few_in || at.few_out) return std::ranges::binary_search(at.few, name) == at.few_in;
  const uint64_t key = uint64_t{static_cast<uint32_t>(set)} << 32 | static_cast<uint32_t>(name);
  const auto known = members_.find(key);
  if (known != members_.end()) return known->second;
  const bool is_in = l_.has_empty(l_.after(at.in, spelling(name)));
  members_.emplace(key, is_in);
  return is_in;
}

}  // namespace ruv
