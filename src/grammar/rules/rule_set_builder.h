// RuleSetBuilder: makes a RuleSet node by node, with rules that are used before they are defined.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "grammar/rules/rule_set.h"

namespace ruv {

class RuleSetBuilder {
 public:
  static constexpr size_t kMaxNodes = 200000;

  // Each adds a node and returns its index. Beyond kMaxNodes nothing is added, and is_full() says
  // so: indices are of no use then.
  uint32_t add(RuleNode node);
  uint32_t add_language(const BoundedLanguage& language);
  uint32_t add_tokens(TokenSet set);
  uint32_t add_schema(Json schema);
  // A sequence or choice; of one child: the child itself.
  uint32_t add_parts(RuleKind kind, std::vector<uint32_t> children);
  uint32_t add_repeat(uint32_t child, uint32_t min, uint32_t max);
  // A reference to a rule. `at`: where it stands in the text.
  uint32_t add_reference(std::string_view name, size_t at);
  bool is_full() const { return is_full_; }

  // False if the rule has a body already.
  bool define(std::string_view name, uint32_t body);
  std::optional<uint32_t> find_rule(std::string_view name) const;
  // The first reference to a rule that is not defined.
  struct Undefined {
    std::string name;
    size_t at;
  };
  std::optional<Undefined> first_undefined() const;

  // Requires: !is_full(), every rule is defined. Leaves the builder empty.
  RuleSet finish(uint32_t start);

 private:
  static constexpr uint32_t kNoBody = UINT32_MAX;
  uint32_t rule_of(std::string_view name, size_t at);

  RuleSet made_;
  std::map<std::string, uint32_t, std::less<>> rules_;  // by name
  std::vector<size_t> used_at_;                         // of each rule, its first reference
  bool is_full_ = false;
};

}  // namespace ruv
