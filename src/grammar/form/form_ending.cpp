// What is missing of an answer that was cut off: a search along the reader, depth first, that tries
// first what leaves least to write. The reader says what may come, costs only in which order to
// try.
#include <algorithm>

#include "grammar/form/form_reader.h"
#include "grammar/form/value_costs.h"

namespace ruv {

class FormReader::Ending {
 public:
  Ending(const FormReader& reader, size_t max_bytes)
      : goals_(reader.parts_.goals),
        rules_(*reader.parts_.rules),
        costs_(reader.parts_),
        max_bytes_(max_bytes) {
    push(reader);
  }

  std::optional<std::string> run() {
    while (!places_.empty() && n_tried_ < kMaxTried) {
      Place& place = places_.back();
      if (place.reader.may_end()) return text_;
      text_.resize(place.n_text);
      if (place.n_tried == place.choices.size()) {
        places_.pop_back();
        continue;
      }
      const std::string bytes = place.choices[place.n_tried++].bytes;
      ++n_tried_;
      if (text_.size() + bytes.size() > max_bytes_) continue;
      FormReader next = place.reader;
      if (!next.accept(bytes)) continue;
      text_ += bytes;
      push(std::move(next));
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kMaxTried = 5000;
  static constexpr int kMaxNodes = 10'000;
  using Kind = FormNodes::Kind;
  using Node = FormNodes::Node;

  struct Choice {
    std::string bytes;
    uint32_t cost;
  };
  struct Place {
    FormReader reader;
    size_t n_text;  // bytes of text_ that led here
    std::vector<Choice> choices;
    size_t n_tried = 0;
  };

  void push(FormReader reader) {
    std::vector<Choice> choices;
    for (const Head& head : reader.frontier().heads) add(reader, head, choices);
    std::ranges::stable_sort(choices, {}, &Choice::cost);
    places_.push_back({std::move(reader), text_.size(), std::move(choices)});
  }

  void add(const FormReader& reader, const Head& head, std::vector<Choice>& choices) {
    const Node& node = (*reader.nodes_)[head.next];
    if (node.kind == Kind::key_end && node.d == 0) return add_keys(reader, head, node, choices);
    const std::optional<std::string>& bytes = costs_.shortest(head.rest);
    if (!bytes || bytes->empty()) return;
    const uint32_t after = cost_from(reader, head.next);
    choices.push_back({*bytes, ValueCosts::sum(after, static_cast<uint32_t>(bytes->size()))});
  }

  // Named keys, of which the text has the beginning.
  void add_keys(const FormReader& reader, const Head& head, const Node& node,
                std::vector<Choice>& choices) {
    const auto formula = static_cast<Formula>(node.a);
    const std::string_view begun =
        std::string_view(reader.text_).substr(node.mark - reader.text_begin_);
    const uint32_t after = cost_from(reader, node.parent);
    for (const KeyName name : goals_->objects().plan(formula).names) {
      const std::string key = '"' + goals_->keys().spelling(name) + '"';
      if (!key.starts_with(begun) || key.size() == begun.size()) continue;
      for (const GoalStep& step : std::vector(goals_->objects().steps(formula, name))) {
        uint32_t cost = ValueCosts::sum(after, static_cast<uint32_t>(key.size()));
        cost = ValueCosts::sum(cost, costs_.of_value(step.value));
        cost = ValueCosts::sum(cost, costs_.of_members(step.next));
        choices.push_back({key.substr(begun.size()), cost});
      }
    }
    if (const auto& bytes = costs_.shortest(head.rest); bytes && !bytes->empty())
      choices.push_back({*bytes, kFar});
  }

  // What a node and those after it still need. A rule returns to the first place that asked for it.
  uint32_t cost_from(const FormReader& reader, FormNode next) {
    uint32_t cost = 0;
    for (int n = 0; n < kMaxNodes && cost < kFar; ++n) {
      const Node& node = (*reader.nodes_)[next];
      if (node.kind == Kind::done || node.kind == Kind::unsure) break;
      cost = ValueCosts::sum(cost, cost_of(node));
      next = node.kind == Kind::call ? reader.nodes_->parents(next).front() : node.parent;
    }
    return cost;
  }

  uint32_t cost_of(const Node& node) {
    const auto formula = static_cast<Formula>(node.a);
    switch (node.kind) {
      case Kind::value:
        return costs_.of_value(static_cast<Goal>(node.a));
      case Kind::object_open:
      case Kind::key_start:
      case Kind::member_end:
        return costs_.of_members(formula);
      case Kind::key_end:
        return node.d == 0 ? kFar : cost_of_other(formula, node.d - 1);
      case Kind::array_open:
      case Kind::item_start:
      case Kind::item_end:
        return costs_.of_items(formula, static_cast<Goal>(node.b));
      case Kind::expression:
        return costs_.of_rule(node.a);
      case Kind::sequence:
        return cost_of_rest(rules_.nodes[node.a], node.b);
      case Kind::loop:
        return ValueCosts::times(costs_.of_rule(rules_.nodes[node.a].children[0]), node.b);
      case Kind::tokens:
        return kFar;
      case Kind::string_end:
      case Kind::done:
      case Kind::call:
      case Kind::unsure:
        break;
    }
    return 0;
  }

  // The children of a sequence from number `begin` on.
  uint32_t cost_of_rest(const RuleNode& sequence, size_t begin) {
    uint32_t cost = 0;
    for (size_t i = begin; i < sequence.children.size(); ++i)
      cost = ValueCosts::sum(cost, costs_.of_rule(sequence.children[i]));
    return cost;
  }

  // A member whose key is of this cell, and the members that must follow.
  uint32_t cost_of_other(Formula formula, uint32_t cell) {
    uint32_t cost = kFar;
    for (const GoalStep& step : std::vector(goals_->objects().steps(formula, cell))) {
      const uint32_t value = costs_.of_value(step.value);
      cost = std::min(cost, value + costs_.of_members(step.next));
    }
    return cost;
  }

  static constexpr uint32_t kFar = ValueCosts::kNone;
  Goals* goals_;  // null: the form has no JSON
  const RuleSet& rules_;
  ValueCosts costs_;
  size_t max_bytes_;
  size_t n_tried_ = 0;
  std::string text_;  // that led to the last place
  std::vector<Place> places_;
};

std::optional<std::string> FormReader::ending(size_t max_bytes) const {
  return Ending(*this, max_bytes).run();
}

}  // namespace ruv
