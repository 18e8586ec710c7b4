// FormNodes: what follows the text that is being read, as immutable nodes with a parent each: the
// stack of a parse, shared by all parses of one answer. Equal nodes are one, so stacks that differ
// nowhere are compared by number, and a copy for a draft costs nothing.
//
// A call of a rule may have several parents, those that ask for the rule at the same place, which
// makes left recursion a circle instead of an endless stack.
//
// Not thread-safe: an owner locks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/goal/formula.h"
#include "grammar/language/languages.h"

namespace ruv {

enum class FormNode : uint32_t { done = 0 };

class FormNodes {
 public:
  enum class Kind : uint8_t {
    done,         // nothing follows
    value,        // a JSON value of the goal `a`
    string_end,   // after a string whose characters are counted
    object_open,  // after '{': members of formula `a`
    key_start,    // a key: formula `a`, keys that came `b`, named keys that may come `c`
    key_end,      // the same after the key, whose text begins at `mark`; `d`: 0, or its cell + 1
    member_end,   // the same after a member; `d`: not 0 where its key is not in `b`
    unsure,       // what depends on a string that is not known: the one before it must be another
    array_open,   // after '[': items of formula `a`
    item_start,   // an item: formula `a`, values that came `b`; `d`: not 0 where one is not in `b`
    item_end,     // the same after the item, whose text begins at `mark`
    expression,   // what the node `a` of a grammar says
    sequence,     // the children of `a` from number `b` on
    loop,         // `a` again, at least `b` and at most `c` times
    call,         // the end of the rule number `a`: its parents are a list
    tokens,       // a token of the set `a`
  };
  static constexpr uint32_t kNoMark = UINT32_MAX;

  struct Node {
    Kind kind;
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;
    uint32_t mark = kNoMark;    // where the text begins that the node needs
    uint32_t oldest = kNoMark;  // the lowest mark of the node and what follows it
    FormNode parent = FormNode::done;
    bool operator==(const Node&) const = default;
  };

  FormNodes();

  // The node, which is made if there is none yet. `oldest` is found.
  FormNode make(Node node);
  // A call without parents yet.
  FormNode make_call(uint32_t rule);
  // Requires: the parent needs no text. Only JSON does, and no rule is called inside JSON.
  void add_parent(FormNode call, FormNode parent);

  const Node& operator[](FormNode node) const { return nodes_[static_cast<size_t>(node)]; }
  // Requires: a call. Valid until a parent is added.
  std::span<const FormNode> parents(FormNode call) const { return parents_[(*this)[call].b]; }

  size_t size() const { return nodes_.size(); }
  // Forgets the nodes from number `size` on. Requires: nothing refers to them.
  void cut(size_t size);

 private:
  std::vector<Node> nodes_;
  std::vector<std::vector<FormNode>> parents_;  // of calls
  IdTable ids_ = IdTable(64);
};

}  // namespace ruv
