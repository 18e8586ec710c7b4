// Expansion: from what follows the end of a language to the heads that read it. Works through a
// list of nodes, each once, so that neither deep grammars nor circles cost stack or time.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "grammar/form/form_reader.h"

namespace ruv {

class FormReader::Expansion {
 public:
  // Adds heads to `to`, for the place after the reader's text.
  Expansion(const FormReader& reader, Frontier& to)
      : reader_(reader), parts_(reader.parts_), nodes_(*reader.nodes_), to_(to) {}

  // A language that may be read next, and what follows it.
  void add(const Head& head);
  void add(Language rest, FormNode next) { add(Head{rest, next}); }
  // What follows here.
  void add(FormNode next) { open(next); }
  // Expands all that was added. False: too much work.
  bool finish();
  // Whether something depends on bytes that are not known, and was left out.
  bool is_unsure() const { return is_unsure_; }

 private:
  using Kind = FormNodes::Kind;
  using Node = FormNodes::Node;
  // The end of a rule that was called here.
  struct Call {
    uint32_t rule;
    FormNode node;
    bool ended = false;  // the rule matched the empty text
  };

  // Puts a node on the list, once; expands one.
  void open(FormNode node);
  void run(FormNode id);
  // Nodes of JSON.
  void run_value(const Node& node);
  bool add_long_string(const Goals::Start& start, const Node& node);
  void run_object_open(const Node& node);
  void run_key_start(const Node& node);
  void run_key_end(const Node& node);
  void run_member_end(const Node& node);
  void run_array_open(const Node& node);
  void run_item_start(const Node& node);
  void run_item_end(const Node& node);
  bool takes_new_strings(Formula formula, Goal seen) const;
  void run_named_key_end(const Node& node);
  void run_other_key_end(const Node& node);
  const std::vector<KeyChoices::Keys>& keys_of(const Node& node);
  void add_member(const GoalStep& step, FormNode after);
  FormNode member_end(const Node& node, const GoalStep& step, Language seen, KeyName name,
                      bool is_sure);
  Language named_after(const Node& node, Formula next, KeyName name);
  // Whether the text from a place on is known.
  bool is_known(uint32_t mark) const { return mark >= reader_.first_known_; }
  std::string_view text_from(uint32_t mark) const;
  uint32_t position() const { return reader_.position(); }
  // Nodes of grammars.
  void run_expression(const Node& node);
  void run_sequence(const Node& node);
  void run_loop(const Node& node);
  void call(uint32_t rule, FormNode parent);
  // The call of a rule here, or null. Valid until another is made.
  Call* call_of(uint32_t rule);
  void end_call(FormNode id);

  const FormReader& reader_;
  const FormParts& parts_;
  FormNodes& nodes_;
  Frontier& to_;
  std::vector<FormNode> open_;
  std::vector<FormNode> seen_;
  std::unordered_set<FormNode> many_seen_;
  std::vector<Call> calls_;
  std::unordered_map<uint32_t, size_t> many_calls_;  // by rule, where there are many
  size_t n_runs_ = 0;
  bool is_unsure_ = false;
};

}  // namespace ruv
