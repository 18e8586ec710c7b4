#include "grammar/form/form_nodes.h"

#include <algorithm>

namespace ruv {
namespace {

uint64_t node_hash(const FormNodes::Node& node) {
  uint64_t hash = static_cast<uint64_t>(node.kind);
  for (const uint32_t part :
       {node.a, node.b, node.c, node.d, node.mark, static_cast<uint32_t>(node.parent)}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

FormNodes::FormNodes() { nodes_.push_back({.kind = Kind::done}); }

// Equal nodes are found by their hash; calls are never equal.
FormNode FormNodes::make(Node node) {
  node.oldest = std::min(node.mark, (*this)[node.parent].oldest);
  const uint64_t hash = node_hash(node);
  const uint32_t known = ids_.find(hash, [&](uint32_t at) { return nodes_[at] == node; });
  if (known != IdTable::kNone) return static_cast<FormNode>(known);
  const auto id = static_cast<FormNode>(nodes_.size());
  nodes_.push_back(node);
  ids_.insert(hash, static_cast<uint32_t>(id));
  return id;
}

FormNode FormNodes::make_call(uint32_t rule) {
  const auto id = static_cast<FormNode>(nodes_.size());
  nodes_.push_back({.kind = Kind::call, .a = rule, .b = static_cast<uint32_t>(parents_.size())});
  parents_.emplace_back();
  return id;
}

void FormNodes::add_parent(FormNode call, FormNode parent) {
  std::vector<FormNode>& list = parents_[(*this)[call].b];
  if (std::ranges::find(list, parent) == list.end()) list.push_back(parent);
}

// In reverse order, as the table of numbers wants it.
void FormNodes::cut(size_t size) {
  while (nodes_.size() > size) {
    const Node& node = nodes_.back();
    const auto id = static_cast<uint32_t>(nodes_.size() - 1);
    if (node.kind == Kind::call) {
      parents_.pop_back();
    } else {
      ids_.erase_last(node_hash(node), id);
    }
    nodes_.pop_back();
  }
}

}  // namespace ruv
