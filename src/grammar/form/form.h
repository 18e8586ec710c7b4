// Form: the form that an answer must have, read and checked: a JSON schema, a grammar or a pattern.
// Immutable for its users; all answers of this form share it.
#pragma once

#include "grammar/form/form_reader.h"
#include "grammar/form/form_space.h"
#include "grammar/regex/pattern.h"
#include "grammar/rules/token_terminal.h"
#include "grammar/schema/schema_reader.h"

namespace ruv {

class FormWarmer;
class SchemaShapes;

struct SchemaOptions {
  JsonStyle style = {};
  SchemaDraft draft = SchemaDraft::draft2020;  // of schemas that name none
  bool strict = false;                         // refuse what could only be noted
  // Schemas that references may lead to, by URI.
  std::vector<std::pair<std::string, Json>> documents = {};
};

class Form {
 public:
  using Made = Result<std::shared_ptr<Form>>;
  // Fails: corrupt, unsupported (what cannot be enforced exactly, by name; no value satisfies the
  // schema; too much work to find out).
  static Made of_schema(std::shared_ptr<FormSpace> space, Json schema, SchemaOptions options);
  static Made of_rules(std::shared_ptr<FormSpace> space, RuleSet rules, SchemaOptions options);
  // A grammar in GBNF or in the dialect of Lark.
  enum class Syntax : uint8_t { gbnf, lark };
  static Made of_grammar(std::shared_ptr<FormSpace> space, Syntax syntax, std::string_view text,
                         const GrammarTokens& tokens, SchemaOptions options);
  static Made of_pattern(std::shared_ptr<FormSpace> space, std::string_view pattern,
                         const PatternOptions& options);
  // One of these texts.
  static Made of_texts(std::shared_ptr<FormSpace> space, std::span<const std::string> texts);
  ~Form();

  // Finds masks that take long, within limits, taking the space's lock for one after the other.
  // Worth some milliseconds before the first answer; without it the first tokens take them.
  void warm() const;

  // Keywords that are not enforced.
  std::span<const SchemaNote> notes() const { return notes_; }
  FormSpace& space() const { return *space_; }
  // A reader at the start of an answer. Requires: the space's lock is held, here and in all uses.
  // It begins with `prefix`, which is not part of the form.
  FormReader reader(std::string_view prefix = {}) const;
  // Whether memory for languages or formulas has run out.
  bool is_worn() const;

 private:
  // The schemas of a form and all that they were read from.
  struct Schemas;

  explicit Form(std::shared_ptr<FormSpace> space);
  Result<Goal> add_schema(Json json, const SchemaOptions& options);
  static Made of_language(std::shared_ptr<Form> form, Language language);
  Status read_rules(RuleSet rules, const SchemaOptions& options);
  Status prepare();
  // Adds the languages of patterns.
  void add_patterns(FormWarmer& warmer) const;

  std::shared_ptr<FormSpace> space_;
  std::unique_ptr<Schemas> schemas_;
  RuleSet rules_;
  FormParts parts_;
  FormNodes::Node start_ = {};
  std::vector<SchemaNote> notes_;
};

}  // namespace ruv
