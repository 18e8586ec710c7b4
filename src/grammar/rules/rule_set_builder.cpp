// Names are looked up in a tree, not in a hash table: clients choose them.
#include "grammar/rules/rule_set_builder.h"

#include <algorithm>

namespace ruv {

uint32_t RuleSetBuilder::add(RuleNode node) {
  if (made_.nodes.size() >= kMaxNodes) {
    is_full_ = true;
    return 0;
  }
  made_.nodes.push_back(std::move(node));
  return static_cast<uint32_t>(made_.nodes.size() - 1);
}

uint32_t RuleSetBuilder::add_language(const BoundedLanguage& language) {
  return add(
      {.kind = RuleKind::language, .language = language.language, .bounds = language.bounds});
}

uint32_t RuleSetBuilder::add_tokens(TokenSet set) {
  made_.token_sets.push_back(std::move(set));
  const auto index = static_cast<uint32_t>(made_.token_sets.size() - 1);
  return add({.kind = RuleKind::tokens, .index = index});
}

uint32_t RuleSetBuilder::add_schema(Json schema) {
  made_.schemas.push_back(std::move(schema));
  const auto index = static_cast<uint32_t>(made_.schemas.size() - 1);
  return add({.kind = RuleKind::value, .index = index});
}

uint32_t RuleSetBuilder::add_parts(RuleKind kind, std::vector<uint32_t> children) {
  if (children.size() == 1) return children[0];
  return add({.kind = kind, .children = std::move(children)});
}

uint32_t RuleSetBuilder::add_repeat(uint32_t child, uint32_t min, uint32_t max) {
  return add({.kind = RuleKind::repeat, .min = min, .max = max, .children = {child}});
}

uint32_t RuleSetBuilder::add_reference(std::string_view name, size_t at) {
  return add({.kind = RuleKind::rule, .index = rule_of(name, at)});
}

// A rule is made where it is first named, be it used or defined there. The first use is kept for
// the error if no definition comes.
uint32_t RuleSetBuilder::rule_of(std::string_view name, size_t at) {
  const auto found = rules_.find(name);
  if (found != rules_.end()) {
    used_at_[found->second] = std::min(used_at_[found->second], at);
    return found->second;
  }
  const auto index = static_cast<uint32_t>(made_.rules.size());
  made_.rules.push_back({std::string(name), kNoBody});
  used_at_.push_back(at);
  rules_.emplace(name, index);
  return index;
}

bool RuleSetBuilder::define(std::string_view name, uint32_t body) {
  Rule& rule = made_.rules[rule_of(name, SIZE_MAX)];
  if (rule.body != kNoBody) return false;
  rule.body = body;
  return true;
}

std::optional<uint32_t> RuleSetBuilder::find_rule(std::string_view name) const {
  const auto found = rules_.find(name);
  if (found == rules_.end()) return std::nullopt;
  return found->second;
}

std::optional<RuleSetBuilder::Undefined> RuleSetBuilder::first_undefined() const {
  std::optional<Undefined> first;
  for (size_t i = 0; i < made_.rules.size(); ++i) {
    if (made_.rules[i].body != kNoBody || (first && first->at < used_at_[i])) continue;
    first = {made_.rules[i].name, used_at_[i]};
  }
  return first;
}

RuleSet RuleSetBuilder::finish(uint32_t start) {
  made_.start = start;
  rules_.clear();
  used_at_.clear();
  return std::move(made_);
}

}  // namespace ruv
