#include "grammar/form/expansion.h"

#include <algorithm>

namespace ruv {
namespace {

// Nodes that one byte may expand, and heads that it may leave.
constexpr size_t kMaxExpanded = 50'000;
constexpr size_t kMaxHeads = 5'000;
// A list of at most this many nodes is searched faster than a table.
constexpr size_t kFewSeen = 24;

}  // namespace

// A language that may end here is left at once.
void FormReader::Expansion::add(const Head& head) {
  if (head.rest == Language::nothing) return;
  is_unsure_ = is_unsure_ || reader_.needs_unknown(head);
  if (head.rest != Language::empty) {
    const bool is_known = to_.heads.size() <= kFewSeen
                              ? std::ranges::find(to_.heads, head) != to_.heads.end()
                              : false;
    if (!is_known) to_.heads.push_back(head);
  }
  if (parts_.masks->languages().has_empty(head.rest)) open(head.next);
}

// Notes a node to be expanded, once.
void FormReader::Expansion::open(FormNode node) {
  if (seen_.size() < kFewSeen) {
    if (std::ranges::find(seen_, node) != seen_.end()) return;
    seen_.push_back(node);
    if (seen_.size() == kFewSeen) many_seen_.insert(seen_.begin(), seen_.end());
  } else if (!many_seen_.insert(node).second) {
    return;
  }
  open_.push_back(node);
}

bool FormReader::Expansion::finish() {
  while (!open_.empty()) {
    if (++n_runs_ > kMaxExpanded || to_.heads.size() > kMaxHeads) return false;
    const FormNode next = open_.back();
    open_.pop_back();
    run(next);
  }
  return parts_.goals == nullptr || !parts_.goals->take_gave_up();
}

void FormReader::Expansion::run(FormNode id) {
  const Node node = nodes_[id];  // a copy: expanding makes nodes
  switch (node.kind) {
    case Kind::done:
      to_.done = true;
      return;
    case Kind::value:
      return run_value(node);
    case Kind::string_end:
      return open(node.parent);
    case Kind::object_open:
      return run_object_open(node);
    case Kind::key_start:
      return run_key_start(node);
    case Kind::key_end:
      return run_key_end(node);
    case Kind::unsure:
      is_unsure_ = true;
      return;
    case Kind::member_end:
      return run_member_end(node);
    case Kind::array_open:
      return run_array_open(node);
    case Kind::item_start:
      return run_item_start(node);
    case Kind::item_end:
      return run_item_end(node);
    case Kind::expression:
      return run_expression(node);
    case Kind::sequence:
      return run_sequence(node);
    case Kind::loop:
      return run_loop(node);
    case Kind::call:
      return end_call(id);
    case Kind::tokens:
      to_.tokens.push_back(id);
      return;
  }
}

// A node of a grammar: terminals become heads, the rest more nodes.
void FormReader::Expansion::run_expression(const Node& node) {
  const RuleNode& rule = parts_.rules->nodes[node.a];
  switch (rule.kind) {
    case RuleKind::language:
      return add(rule.language, node.parent);
    case RuleKind::tokens:
      return open(nodes_.make({.kind = Kind::tokens, .a = rule.index, .parent = node.parent}));
    case RuleKind::rule:
      return call(rule.index, node.parent);
    case RuleKind::sequence:
      return run_sequence({.kind = Kind::sequence, .a = node.a, .b = 0, .parent = node.parent});
    case RuleKind::choice:
      for (const uint32_t child : rule.children) {
        open(nodes_.make({.kind = Kind::expression, .a = child, .parent = node.parent}));
      }
      return;
    case RuleKind::repeat:
      return run_loop({.kind = Kind::loop,
                       .a = node.a,
                       .b = parts_.nullable[rule.children[0]] ? 0 : rule.min,
                       .c = rule.max,
                       .parent = node.parent});
    case RuleKind::value:
      return open(nodes_.make({.kind = Kind::value,
                               .a = static_cast<uint32_t>(parts_.schemas[rule.index]),
                               .parent = node.parent}));
  }
}

// The last child has the sequence's own parent, so that rules that end in themselves do not grow.
void FormReader::Expansion::run_sequence(const Node& node) {
  const std::vector<uint32_t>& children = parts_.rules->nodes[node.a].children;
  if (node.b >= children.size()) return open(node.parent);
  FormNode parent = node.parent;
  if (node.b + 1 < children.size()) {
    parent =
        nodes_.make({.kind = Kind::sequence, .a = node.a, .b = node.b + 1, .parent = node.parent});
  }
  open(nodes_.make({.kind = Kind::expression, .a = children[node.b], .parent = parent}));
}

// Counts are numbers in the node, so a large one costs nothing until it is reached.
void FormReader::Expansion::run_loop(const Node& node) {
  if (node.b == 0) open(node.parent);
  if (node.c == 0) return;
  const uint32_t left = node.c == Languages::kUnlimited ? node.c : node.c - 1;
  const FormNode again = nodes_.make({.kind = Kind::loop,
                                      .a = node.a,
                                      .b = node.b == 0 ? 0 : node.b - 1,
                                      .c = left,
                                      .parent = node.parent});
  const uint32_t body = parts_.rules->nodes[node.a].children[0];
  open(nodes_.make(
      {.kind = Kind::expression, .a = body, .parent = left == 0 ? node.parent : again}));
}

// All calls of a rule at one place are one, which returns to each of them.
void FormReader::Expansion::call(uint32_t rule, FormNode parent) {
  if (const Call* known = call_of(rule)) {
    nodes_.add_parent(known->node, parent);
    if (known->ended) open(parent);
    return;
  }
  const FormNode node = nodes_.make_call(rule);
  nodes_.add_parent(node, parent);
  calls_.push_back({rule, node});
  if (calls_.size() > kFewSeen) many_calls_.emplace(rule, calls_.size() - 1);
  open(
      nodes_.make({.kind = Kind::expression, .a = parts_.rules->rules[rule].body, .parent = node}));
}

// The first ones are searched, as there are rarely more.
FormReader::Expansion::Call* FormReader::Expansion::call_of(uint32_t rule) {
  const size_t n_few = std::min(calls_.size(), kFewSeen);
  for (size_t i = 0; i < n_few; ++i) {
    if (calls_[i].rule == rule) return &calls_[i];
  }
  const auto known = many_calls_.find(rule);
  return known == many_calls_.end() ? nullptr : &calls_[known->second];
}

// Parents that are added later, to a call that ended here, are returned to by call().
void FormReader::Expansion::end_call(FormNode id) {
  Call* here = call_of(nodes_[id].a);
  if (here != nullptr && here->node == id) here->ended = true;
  const std::span<const FormNode> span = nodes_.parents(id);
  for (const FormNode parent : std::vector(span.begin(), span.end())) open(parent);
}

}  // namespace ruv
