// KeySets: sets of keys of objects, as schemas name them: one key, keys that match a pattern, all
// others, all. Keys are compared by value, languages hold their spellings between the quotes.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/json/json_text.h"

namespace ruv {

// Index into one KeySets.
enum class KeySet : uint32_t { all = 0 };

// A key by name, numbered where a schema names it.
enum class KeyName : uint32_t { other = UINT32_MAX };

class KeySets {
 public:
  KeySets(Languages& languages, JsonText& text);

  // The number of a key, which gets one if it has none.
  KeyName name(std::string_view key);
  // The name of a key that some schema names, else `other`.
  KeyName find(std::string_view key) const;
  const std::string& key(KeyName name) const { return names_[static_cast<size_t>(name)].key; }
  // All spellings of a key, and one of them.
  Language spellings(KeyName name);
  // The same with quotes around them.
  Language quoted(KeyName name);
  Language quoted(Language spellings) { return text_.quoted(spellings); }
  const std::string& spelling(KeyName name) const {
    return names_[static_cast<size_t>(name)].spelling;
  }

  // This key only; all keys of a language of spellings.
  KeySet one(KeyName name);
  KeySet of_language(Language spellings);
  // Keys that are neither named nor in a set.
  KeySet others(std::vector<KeyName> names, std::span<const KeySet> sets);
  KeySet complement(KeySet set);

  struct Set {
    Language in;                    // the keys
    Language out;                   // all other keys
    KeyName name = KeyName::other;  // of a set of one
    bool is_all = false;
    // Whether all keys of `in`, of `out`, are these.
    bool few_in = false;
    bool few_out = false;
    std::vector<KeyName> few = {};
  };
  const Set& operator[](KeySet set) const { return sets_[static_cast<size_t>(set)]; }
  bool contains(KeySet set, KeyName name);

 private:
  struct Name {
    std::string key;
    std::string spelling;
    Language language;
    Language quoted;
  };
  KeySet add(Set set);
  // Lists the keys of a language, if they are few.
  bool list(Language language, std::vector<KeyName>& names);

  Languages& l_;
  JsonText& text_;
  std::vector<Name> names_;
  std::unordered_map<std::string, KeyName> ids_;
  std::vector<Set> sets_;
  std::unordered_map<KeyName, KeySet> single_;
  std::unordered_map<Language, KeySet> by_language_;
  std::unordered_map<KeySet, KeySet> complements_;
  std::unordered_map<uint64_t, bool> members_;  // by set and name
};

}  // namespace ruv
