// ValueCosts: about how many bytes a value of a goal, or a text of a node of a grammar, takes at
// least, to end a document soon. A bound from above where the exact number would need a search, and
// nothing where it is not found within some steps.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/form/form_reader.h"

namespace ruv {

class ValueCosts {
 public:
  static constexpr uint32_t kNone = 1U << 30;  // not found, or no value

  static uint32_t sum(uint32_t a, uint32_t b) { return std::min(a + b, kNone); }
  static uint32_t times(uint32_t a, uint64_t n) {
    return static_cast<uint32_t>(std::min<uint64_t>(a * n, kNone));
  }

  // `parts` must outlive the object, and their owner's lock be held in each call.
  explicit ValueCosts(const FormParts& parts)
      : parts_(parts), languages_(parts.masks->languages()), goals_(parts.goals) {}

  // A shortest text of a language; nothing where none is found among kMaxStates states.
  const std::optional<std::string>& shortest(Language language);
  uint32_t of_language(Language language);
  // A node of the form's rules.
  uint32_t of_rule(uint32_t node);
  // The rest requires a form with JSON. A value; the rest of an object after '{' or a member, of an
  // array after '[' or an item, with its bracket.
  uint32_t of_value(Goal goal);
  uint32_t of_members(Formula formula);
  uint32_t of_items(Formula formula, Goal seen);

 private:
  static constexpr size_t kMaxStates = 4096;
  static constexpr int kMaxDepth = 32;
  static constexpr uint64_t kMaxSteps = 20'000;
  static constexpr int kMaxParts = 1000;

  // A member that an object may have next.
  struct Member {
    GoalStep step = {};
    uint32_t cost = kNone;  // of key and value
  };
  std::optional<Member> next_member(Formula formula);
  uint32_t of_children(const RuleNode& rule);

  const FormParts& parts_;
  Languages& languages_;
  Goals* goals_;  // null: the form has no JSON
  int depth_ = 0;
  uint64_t n_steps_ = 0;
  std::unordered_map<Language, std::optional<std::string>> texts_;
  std::unordered_map<uint32_t, uint32_t> rules_;
  std::vector<uint32_t> open_rules_;  // nodes whose costs are being found
  std::unordered_map<Goal, uint32_t> values_;
  std::unordered_map<Formula, uint32_t> members_;
};

}  // namespace ruv
