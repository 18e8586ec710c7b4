#include "grammar/form/form.h"

#include <algorithm>
#include <deque>
#include <functional>

#include "grammar/form/form_warmer.h"
#include "grammar/regex/pattern_language.h"
#include "grammar/rules/fold_languages.h"
#include "grammar/rules/gbnf.h"
#include "grammar/rules/lark.h"
#include "grammar/schema/schema_shapes.h"

namespace ruv {
namespace {

// The nodes of a grammar that have a property: the least fixed point. A node that has it counts
// once in each node that depends on it, so the work is linear. `leaf` says it of nodes without
// children.
std::vector<bool> nodes_that(const RuleSet& rules,
                             const std::function<bool(const RuleNode&)>& leaf) {
  const size_t n_nodes = rules.nodes.size();
  std::vector<std::vector<uint32_t>> dependents(n_nodes);
  std::vector<size_t> n_needed(n_nodes, 1);  // children that must have it, too
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < n_nodes; ++i) {
    const RuleNode& node = rules.nodes[i];
    const bool is_leaf = node.kind == RuleKind::language || node.kind == RuleKind::tokens ||
                         node.kind == RuleKind::value;
    if (node.kind == RuleKind::rule) dependents[rules.rules[node.index].body].push_back(i);
    for (const uint32_t child : node.children) dependents[child].push_back(i);
    if (node.kind == RuleKind::sequence) n_needed[i] = node.children.size();
    const bool is_empty = node.kind == RuleKind::repeat && node.min == 0;
    if (is_leaf ? leaf(node) : is_empty || n_needed[i] == 0) open.push_back(i);
  }
  std::vector<bool> found(n_nodes, false);
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (found[at]) continue;
    found[at] = true;
    for (const uint32_t dependent : dependents[at]) {
      if (n_needed[dependent] > 0 && --n_needed[dependent] == 0) open.push_back(dependent);
    }
  }
  return found;
}

// Nodes that may match the empty text.
std::vector<bool> nullable_nodes(const RuleSet& rules, const Languages& languages) {
  return nodes_that(rules, [&](const RuleNode& node) {
    return node.kind == RuleKind::language && languages.has_empty(node.language);
  });
}

// Nodes that no text matches, such as a rule that always calls itself, are left out: what begins
// with them would have no end.
void leave_out_endless_nodes(RuleSet& rules, Languages& languages) {
  const std::vector<bool> ends = nodes_that(rules, [&](const RuleNode& node) {
    return node.kind != RuleKind::language || !languages.is_nothing(node.language);
  });
  for (size_t i = 0; i < rules.nodes.size(); ++i) {
    if (!ends[i]) rules.nodes[i] = {.kind = RuleKind::language, .language = Language::nothing};
  }
}

}  // namespace

struct Form::Schemas {
  Schemas(FormSpace& space, const SchemaOptions& options)
      : goals(space.languages(), space.style(options.style).text),
        reader(goals, space.style(options.style).formats, index),
        shapes(goals, reader) {
    goals.set_source(&shapes);
    for (const auto& [uri, document] : options.documents) {
      documents.push_back(document);
      index.add(documents.back(), uri, options.draft);
    }
  }

  std::deque<Json> documents;  // which the index refers to
  SchemaIndex index;
  Goals goals;
  SchemaReader reader;
  SchemaShapes shapes;
};

Form::Form(std::shared_ptr<FormSpace> space) : space_(std::move(space)) {}

Form::~Form() {
  const Lock guard(space_->mutex());
  schemas_.reset();
}

// Documents that references may lead to are read with the first schema.
Result<Goal> Form::add_schema(Json json, const SchemaOptions& options) {
  if (!schemas_) schemas_ = std::make_unique<Schemas>(*space_, options);
  Schemas& schema = *schemas_;
  schema.documents.push_back(std::move(json));
  const std::string uri = fmt::format("schema:{}", schema.documents.size());
  const SchemaIndex::Place root = schema.index.add(schema.documents.back(), uri, options.draft);
  const SchemaNumber number = TRY(schema.reader.read(root));
  notes_.assign(schema.reader.notes().begin(), schema.reader.notes().end());
  if (options.strict && !notes_.empty()) {
    return fail(Code::unsupported, "{}: {}", notes_[0].pointer, notes_[0].reason);
  }
  const Goal goal = schema.shapes.goal(number);
  const bool satisfiable = schema.goals.judge(goal);
  if (schema.goals.take_gave_up() || schema.goals.overflowed()) {
    return fail(Code::unsupported, "the schema needs too much work");
  }
  if (!satisfiable) return fail(Code::unsupported, "no value satisfies the schema");
  parts_.goals = &schema.goals;
  return goal;
}

// The lock is held while the schema is read: mostly some hundred microseconds.
Form::Made Form::of_schema(std::shared_ptr<FormSpace> space, Json json, SchemaOptions options) {
  const std::shared_ptr<Form> form(new Form(std::move(space)));
  const Lock guard(form->space_->mutex());
  const Goal goal = TRY(form->add_schema(std::move(json), options));
  form->start_ = {.kind = FormNodes::Kind::value, .a = static_cast<uint32_t>(goal)};
  TRY(form->prepare());
  return form;
}

Form::Made Form::of_rules(std::shared_ptr<FormSpace> space, RuleSet rules, SchemaOptions options) {
  const std::shared_ptr<Form> form(new Form(std::move(space)));
  const Lock guard(form->space_->mutex());
  TRY(form->read_rules(std::move(rules), options));
  return form;
}

Form::Made Form::of_grammar(std::shared_ptr<FormSpace> space, Syntax syntax, std::string_view text,
                            const GrammarTokens& tokens, SchemaOptions options) {
  const std::shared_ptr<Form> form(new Form(std::move(space)));
  const Lock guard(form->space_->mutex());
  Languages& languages = form->space_->languages();
  RuleSet rules = TRY(syntax == Syntax::gbnf ? read_gbnf(languages, text, tokens)
                                             : read_lark(languages, text, tokens));
  fold_languages(languages, rules);
  TRY(form->read_rules(std::move(rules), options));
  return form;
}

// A grammar in which nothing can begin is refused here and not while an answer is written.
Status Form::read_rules(RuleSet rules, const SchemaOptions& options) {
  rules_ = std::move(rules);
  for (Json& schema : rules_.schemas) {
    parts_.schemas.push_back(TRY(add_schema(std::move(schema), options)));
  }
  leave_out_endless_nodes(rules_, space_->languages());
  start_ = {.kind = FormNodes::Kind::expression, .a = rules_.rules[rules_.start].body};
  TRY(prepare());
  const FormReader begin = reader();
  if (begin.frontier().empty() && !begin.may_end()) {
    return Status(Code::unsupported, "no text has this form");
  }
  return {};
}

Form::Made Form::of_pattern(std::shared_ptr<FormSpace> space, std::string_view text,
                            const PatternOptions& options) {
  const Pattern pattern = TRY(read_pattern(text, options));
  const std::shared_ptr<Form> form(new Form(std::move(space)));
  const Lock guard(form->space_->mutex());
  Languages& languages = form->space_->languages();
  const Language language =
      TRY(language_of(languages, pattern, Utf8Alphabet(), PatternMatch::whole));
  return of_language(form, language);
}

Form::Made Form::of_texts(std::shared_ptr<FormSpace> space, std::span<const std::string> texts) {
  const std::shared_ptr<Form> form(new Form(std::move(space)));
  const Lock guard(form->space_->mutex());
  std::vector<Language> parts;
  for (const std::string& text : texts) parts.push_back(form->space_->languages().text(text));
  return of_language(form, form->space_->languages().any_of(parts));
}

Form::Made Form::of_language(std::shared_ptr<Form> form, Language language) {
  if (form->space_->languages().is_nothing(language)) {
    return fail(Code::unsupported, "no text has this form");
  }
  form->rules_.nodes.push_back({.kind = RuleKind::language, .language = language});
  form->rules_.rules.push_back({"root", 0});
  form->start_ = {.kind = FormNodes::Kind::expression, .a = 0};
  TRY(form->prepare());
  return form;
}

// What the reader needs of the space.
Status Form::prepare() {
  parts_.tokens = &space_->tokens();
  parts_.masks = &space_->masks();
  parts_.rules = &rules_;
  parts_.nullable = nullable_nodes(rules_, space_->languages());
  if (space_->languages().overflowed()) {
    return Status(Code::unsupported, "the form is too large");
  }
  return {};
}

// Strings of which the schema says something, and keys of patterns.
void Form::add_patterns(FormWarmer& warmer) const {
  for (const RuleNode& node : rules_.nodes) {
    if (node.kind == RuleKind::language) warmer.add(node.language);
  }
  if (!schemas_) return;
  Languages& languages = space_->languages();
  Goals& goals = schemas_->goals;
  for (SchemaNumber n = 0; n < schemas_->reader.n_nodes(); ++n) {
    const SchemaNode& node = schemas_->reader.node(n);
    const bool has_strings = !node.strings.empty();
    const bool has_keys = !node.members.patterns.empty() || node.members.names != kNoSchema;
    if (!has_strings && !has_keys) continue;
    const Goals::Start& start = goals.start(schemas_->shapes.goal(n));
    if (has_strings) warmer.add(start.scalars);
    if (!has_keys || start.objects == Formula::no) continue;
    const ObjectSteps::Plan& plan = goals.objects().plan(start.objects);
    for (const ObjectSteps::Plan::Open& open : plan.open) {
      warmer.add(languages.but(open.keys, plan.all_names));
    }
  }
}

void Form::warm() const {
  std::optional<FormWarmer> warmer;
  for (bool more = true; more;) {
    const Lock guard(space_->mutex());
    if (!warmer) add_patterns(warmer.emplace(space_->masks()));
    more = !is_worn() && warmer->step();
  }
}

FormReader Form::reader(std::string_view prefix) const {
  return FormReader(parts_, space_->languages().text(prefix), start_);
}

bool Form::is_worn() const {
  return space_->languages().overflowed() || (schemas_ && schemas_->goals.overflowed());
}

}  // namespace ruv
