// LarkTerminals: the languages of a Lark grammar's terminals, and of expressions of them.
#pragma once

#include <map>

#include "grammar/rules/bounded_languages.h"
#include "grammar/rules/lark_file.h"
#include "grammar/rules/lark_scanner.h"

namespace ruv {

class LarkTerminals {
 public:
  // Regular expressions that differ, each of which takes some 40 microseconds, and the sum of the
  // sizes of their languages, of which each part takes about one.
  static constexpr size_t kMaxPatterns = 4096;
  static constexpr uint32_t kMaxPatternsSize = 1 << 19;

  // `in`: to tell where errors are. All three must outlive this.
  LarkTerminals(Languages& languages, const LarkFile& file, const LarkScanner& in);

  // Makes all terminals, those that others use first. To be called once, before the rest. Fails:
  // corrupt (defined twice, a regular expression that is none), not_found (a name), unsupported
  // (one contains itself, a rule or a token in one, anchors or lookahead, too large).
  Status make_all();
  // The language of a node all of whose names are terminals. Recurses on nesting.
  Result<BoundedLanguage> language(uint32_t node);
  // What a rule with attributes accepts.
  Result<BoundedLanguage> language_with_attributes(const LarkDefinition& rule);
  // What may follow a terminal and be ignored; nothing if the grammar ignores nothing.
  Result<std::optional<BoundedLanguage>> ignored();

  BoundedLanguages& builder() { return builder_; }
  const Languages& languages() const { return builder_.languages(); }

 private:
  enum class State : uint8_t { untouched, open, made };

  const LarkNode& node(uint32_t id) const { return file_.nodes[id]; }
  Status index_names();
  Status make_with_needed(uint32_t definition);
  Result<uint32_t> find(uint32_t name_node) const;
  Result<std::vector<BoundedLanguage>> languages_of(const std::vector<uint32_t>& nodes);
  Result<BoundedLanguage> language_of_text(const LarkNode& n);
  Result<BoundedLanguage> language_of_pattern(const LarkNode& n);
  Result<BoundedLanguage> shortest_only(const BoundedLanguage& language, size_t at);
  Result<BoundedLanguage> up_to_stop(const BoundedLanguage& body, const LarkNode& stop);
  Result<BoundedLanguage> checked(std::optional<BoundedLanguage> made, size_t at) const;

  const LarkFile& file_;
  const LarkScanner& in_;
  BoundedLanguages builder_;
  std::map<std::string_view, uint32_t> definitions_;  // by name
  std::vector<State> states_;                         // of definitions
  std::vector<BoundedLanguage> made_;
  std::map<std::string, BoundedLanguage> patterns_;  // by flags and text
  uint32_t patterns_size_left_ = kMaxPatternsSize;
};

}  // namespace ruv
