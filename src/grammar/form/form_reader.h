// FormReader: reads a text byte by byte as a form asks, and knows all that may come next.
//
// Its state is a frontier: heads, each the rest of a language that is being read and the node of
// what follows it. A byte moves every head along its language; where a language may end, what
// follows is expanded into heads at once. JSON leaves few heads, since its structure is
// deterministic; grammars as many as there are ways to read the text.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "grammar/form/form_nodes.h"
#include "grammar/form/key_choices.h"
#include "grammar/form/long_strings.h"
#include "grammar/form/rest_memo.h"
#include "grammar/goal/goals.h"
#include "grammar/mask/language_masks.h"
#include "grammar/rules/rule_set.h"

namespace ruv {

// What a form is made of, and what reading it needs. All shared by the answers that have this form.
struct FormParts {
  const TokenPrefixes* tokens = nullptr;
  LanguageMasks* masks = nullptr;
  Goals* goals = nullptr;
  const RuleSet* rules = nullptr;   // of grammars
  std::vector<bool> nullable = {};  // by node of the rules: it may match the empty text
  std::vector<Goal> schemas = {};   // by number of a schema in the rules
};

class FormReader {
 public:
  using Head = FormHead;
  // All ways to read on.
  struct Frontier {
    std::vector<Head> heads;
    std::vector<FormNode> tokens;  // nodes that wait for a token, whatever its bytes
    bool done = false;             // the form may be complete here

    bool empty() const { return heads.empty() && tokens.empty(); }
    void clear();
  };

  // `parts` must outlive the object. Copies share what was read so far.
  // `prefix` comes before the form.
  FormReader(const FormParts& parts, Language prefix, FormNodes::Node start);

  const Frontier& frontier() const { return frontier_; }
  // Whether nothing but the end may come.
  bool only_ends() const { return frontier_.done && frontier_.empty(); }
  bool may_end() const { return frontier_.done; }

  // False: the text cannot continue so, or the work for it was too much; nothing changes then.
  bool accept(std::string_view bytes);
  // A token that counts by its number: a control token of a grammar. False: it may not come.
  bool accept_token(Token token);
  bool allows(std::string_view bytes) const;
  // The same of a token that counts by its number.
  bool allows_token(Token token) const;
  // Adds all tokens that may come next. Changes nothing but what is cached. Requires: an empty
  // mask.
  void allow(TokenMask& mask) const;
  // Bytes that come next, at most `max_bytes`, up to a choice or an end. Whether a space follows a
  // colon or comma of JSON is not taken for a choice: most models write one.
  std::string foreseen(size_t max_bytes) const;

  // Bytes after which the form may end, few if not the fewest: what an answer that was cut off
  // lacks. Nothing where none of at most `max_bytes` is found. Takes milliseconds.
  std::optional<std::string> ending(size_t max_bytes) const;

  // Whether a token needed more steps than one may take.
  // The answer cannot be continued then, since what is allowed is not complete.
  bool gave_up() const { return gave_up_; }

 private:
  class Expansion;
  class RestWalk;
  class Ending;
  // What is kept from one token to the next only to be found faster. Shared by copies.
  struct Scratch {
    explicit Scratch(const FormParts& parts) {
      if (parts.goals == nullptr) return;
      strings.emplace(parts.masks->languages(), parts.goals->text(), parts.masks->trie().depth());
    }
    RestMemo rests;
    KeyChoices keys;
    std::optional<LongStrings> strings;  // of forms with schemas
  };

  // The head after a byte that left `rest` of its language.
  Head moved(const Head& head, Language rest) const;
  // One byte further, without expanding; then expanding, with the byte in text_. False: nothing is
  // left; something depends on bytes that are not known.
  bool move(const Frontier& from, uint8_t byte, Frontier& to) const;
  bool expand(const Frontier& moved, Frontier& to) const;
  // Whether the head may have no text but a string that is not known, and that must not come again.
  bool needs_unknown(const Head& head) const;
  bool walk(std::string_view bytes, Frontier& frontier, std::string& text) const;
  // Adds the tokens in which a head's language ends to `found`, but some that `mask` has.
  void find_rests(const TokenMask& mask, std::vector<Token>& found) const;
  // Whether what may come depends on text that was read.
  bool needs_text(const Head& head) const {
    return (*nodes_)[head.next].oldest != FormNodes::kNoMark;
  }
  void forget_text();
  // The place of the next byte, counted from the start of the answer.
  uint32_t position() const { return text_begin_ + static_cast<uint32_t>(text_.size()); }

  const FormParts& parts_;
  std::shared_ptr<FormNodes> nodes_;
  std::shared_ptr<Scratch> scratch_;
  Frontier frontier_;
  // The text from `text_begin_` on, as far back as some node needs it.
  mutable std::string text_;
  uint32_t text_begin_ = 0;
  uint8_t last_ = 0;                  // the last byte that was read
  mutable uint32_t first_known_ = 0;  // bytes before this place are not known
  mutable bool is_coarse_ = false;    // names of unnamed keys count as not known
  mutable bool gave_up_ = false;
};

}  // namespace ruv
