#include "grammar/form/value_costs.h"

#include <algorithm>

namespace ruv {
namespace {

// Stands for all bytes of a set: letters and digits before others.
uint8_t usual_byte(const ByteSet& bytes) {
  for (const char c : {'a', '0', ' '}) {
    if (bytes.has(static_cast<uint8_t>(c))) return static_cast<uint8_t>(c);
  }
  std::optional<uint8_t> first;
  bytes.for_each([&](uint8_t byte) {
    if (!first) first = byte;
  });
  return first.value_or(0);
}

}  // namespace

// Breadth first, each state once.
const std::optional<std::string>& ValueCosts::shortest(Language language) {
  const auto known = texts_.find(language);
  if (known != texts_.end()) return known->second;
  struct Seen {
    Language state;
    uint32_t before;
    uint8_t byte;
  };
  std::vector<Seen> seen = {{language, 0, 0}};
  std::unordered_map<Language, bool> found = {{language, true}};
  std::optional<std::string> text;
  for (uint32_t i = 0; i < seen.size() && i < kMaxStates && !text; ++i) {
    if (languages_.has_empty(seen[i].state)) {
      text.emplace();
      for (uint32_t at = i; at != 0; at = seen[at].before)
        text->push_back(static_cast<char>(seen[at].byte));
      std::ranges::reverse(*text);
      break;
    }
    const std::span<const Languages::Arc> span = languages_.arcs(seen[i].state);
    for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
      if (arc.next == Language::nothing || !found.emplace(arc.next, true).second) continue;
      seen.push_back({arc.next, i, usual_byte(arc.bytes)});
    }
  }
  return texts_.emplace(language, std::move(text)).first->second;
}

uint32_t ValueCosts::of_language(Language language) {
  if (language == Language::nothing) return kNone;
  const std::optional<std::string>& text = shortest(language);
  return text ? static_cast<uint32_t>(text->size()) : kNone;
}

uint32_t ValueCosts::of_children(const RuleNode& rule) {
  uint32_t cost = rule.kind == RuleKind::choice ? kNone : 0;
  for (const uint32_t child : rule.children) {
    const uint32_t own = of_rule(child);
    cost = rule.kind == RuleKind::choice ? std::min(cost, own) : sum(cost, own);
  }
  return cost;
}

// A node within itself costs nothing that could be less.
uint32_t ValueCosts::of_rule(uint32_t node) {
  const auto known = rules_.find(node);
  if (known != rules_.end()) return known->second;
  const bool is_open = std::ranges::find(open_rules_, node) != open_rules_.end();
  if (is_open || open_rules_.size() == kMaxDepth || ++n_steps_ > kMaxSteps) return kNone;
  open_rules_.push_back(node);
  const RuleNode& rule = parts_.rules->nodes[node];
  uint32_t cost = kNone;
  switch (rule.kind) {
    case RuleKind::language:
      cost = of_language(rule.language);
      break;
    case RuleKind::tokens:  // has no bytes that could be written
      break;
    case RuleKind::rule:
      cost = of_rule(parts_.rules->rules[rule.index].body);
      break;
    case RuleKind::sequence:
    case RuleKind::choice:
      cost = of_children(rule);
      break;
    case RuleKind::repeat:
      cost = rule.min == 0 ? 0 : times(of_rule(rule.children[0]), rule.min);
      break;
    case RuleKind::value:
      cost = of_value(parts_.schemas[rule.index]);
      break;
  }
  open_rules_.pop_back();
  if (cost < kNone) rules_.emplace(node, cost);
  return cost;
}

// A goal within itself costs nothing that could be less.
uint32_t ValueCosts::of_value(Goal goal) {
  const auto known = values_.find(goal);
  if (known != values_.end()) return known->second;
  if (depth_ == kMaxDepth || ++n_steps_ > kMaxSteps) return kNone;
  const Goals::Start start = goals_->start(goal);
  uint32_t cost = of_language(start.scalars);
  ++depth_;
  if (cost > 2 && start.objects != Formula::no)
    cost = std::min(cost, sum(1, of_members(start.objects)));
  if (cost > 2 && start.arrays != Formula::no)
    cost = std::min(cost, sum(1, of_items(start.arrays, Goal::no)));
  --depth_;
  if (cost < kNone) values_.emplace(goal, cost);
  return cost;
}

// A member after which less is asked, or any.
std::optional<ValueCosts::Member> ValueCosts::next_member(Formula formula) {
  ObjectSteps& objects = goals_->objects();
  const ObjectSteps::Plan plan = objects.plan(formula);
  std::optional<Member> best;
  const auto offer = [&](const GoalStep& step, uint32_t key) {
    const Member made = {step, sum(key, of_value(step.value))};
    const auto rank = [&](const Member& m) { return std::pair(m.step.next == formula, m.cost); };
    if (made.cost < kNone && (!best || rank(made) < rank(*best))) best = made;
  };
  for (const KeyName name : plan.names) {
    const auto key = static_cast<uint32_t>(objects.keys().spelling(name).size()) + 4;
    for (const GoalStep& step : std::vector(objects.steps(formula, name))) offer(step, key);
  }
  for (const ObjectSteps::Plan::Open& open : plan.open) {
    const uint32_t key = sum(of_language(open.keys), 2);
    for (const GoalStep& step : std::vector(objects.steps(formula, open.cell))) offer(step, key);
  }
  return best;
}

uint32_t ValueCosts::of_members(Formula formula) {
  const auto known = members_.find(formula);
  if (known != members_.end()) return known->second;
  uint32_t cost = 1;
  Formula at = formula;
  for (int n = 0; !goals_->objects().plan(at).may_end; ++n) {
    const auto next = n < kMaxParts ? next_member(at) : std::nullopt;
    if (!next) return kNone;
    cost = sum(cost, next->cost);
    at = next->step.next;
  }
  if (cost < kNone) members_.emplace(formula, cost);
  return cost;
}

uint32_t ValueCosts::of_items(Formula formula, Goal seen) {
  uint32_t cost = 1;
  Formula at = formula;
  for (int n = 0; !goals_->arrays().may_end(at); ++n) {
    if (n == kMaxParts || ++n_steps_ > kMaxSteps) return kNone;
    uint32_t best = kNone;
    Formula next = at;
    for (const GoalStep& step : std::vector(goals_->arrays().steps(at, seen))) {
      const uint32_t item = of_value(step.value);
      if (item >= best) continue;
      best = item;
      next = step.next;
    }
    if (best == kNone) return kNone;
    cost = sum(cost, sum(best, 2));
    at = next;
  }
  return cost;
}

}  // namespace ruv
