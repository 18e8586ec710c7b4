#include "engine/form_store.h"

#include "base/json.h"

namespace ruv {
namespace {

JsonStyle style_of(JsonLayout layout) {
  switch (layout) {
    case JsonLayout::compact:
      return {JsonEscapes::needed, JsonSpacing::compact};
    case JsonLayout::flexible:
      return {JsonEscapes::needed, JsonSpacing::flexible};
    case JsonLayout::any:
      break;
  }
  return {JsonEscapes::all, JsonSpacing::any};
}

Form::Made choice_of(const std::shared_ptr<FormSpace>& space, const std::string& text) {
  const Json list = TRY(parse_json(text, "choice"));
  std::vector<std::string> texts;
  for (size_t i = 0; list.is_array() && i < list.size(); ++i) {
    if (!list[i].is_string()) return fail(Code::invalid, "choice: text {} is not a string", i);
    texts.emplace_back(list[i].text());
  }
  if (texts.empty()) return fail(Code::invalid, "choice: must be a list of texts");
  return Form::of_texts(space, texts);
}

// Tokens of a grammar are found by their names in the vocabulary.
Form::Made grammar_of(const std::shared_ptr<FormSpace>& space, const Tokenizer& tokenizer,
                      const AnswerForm& form, SchemaOptions options) {
  const GrammarTokens tokens = {
      .find = [&](std::string_view text) -> std::optional<Token> {
        std::vector<Token> ids;
        tokenizer.encode(text, SpecialParsing::on, true, ids);
        if (ids.size() != 1 || tokenizer.token_bytes(ids[0], true) != text) return std::nullopt;
        return ids[0];
      },
      .n_tokens = tokenizer.vocab_size()};
  const bool is_gbnf = form.kind == AnswerForm::Kind::gbnf;
  return Form::of_grammar(space, is_gbnf ? Form::Syntax::gbnf : Form::Syntax::lark, form.text,
                          tokens, std::move(options));
}

Form::Made read_form(const std::shared_ptr<FormSpace>& space, const Tokenizer& tokenizer,
                     const AnswerForm& form) {
  SchemaOptions options = {.style = style_of(form.layout), .strict = form.strict};
  for (const auto& [uri, text] : form.schemas) {
    options.documents.emplace_back(uri, TRY(parse_json(text, uri)));
  }
  switch (form.kind) {
    case AnswerForm::Kind::json_schema:
      return Form::of_schema(space, TRY(parse_json(form.text, "schema")), std::move(options));
    case AnswerForm::Kind::choice:
      return choice_of(space, form.text);
    case AnswerForm::Kind::regex:
      return Form::of_pattern(space, form.text, {});
    case AnswerForm::Kind::gbnf:
    case AnswerForm::Kind::lark:
      break;
  }
  return grammar_of(space, tokenizer, form, std::move(options));
}

}  // namespace

std::vector<FormNote> form_notes(const LoadedForm& form) {
  std::vector<FormNote> made;
  for (const SchemaNote& note : form.form->notes()) {
    made.push_back({note.pointer, note.keyword, note.reason});
  }
  return made;
}

const AnswerForm& asked_form(const LoadedForm& form) { return form.asked; }

Result<std::shared_ptr<const LoadedForm>> Engine::load_form(const AnswerForm&) {
  return fail(Code::unsupported, "this engine cannot hold answers to a form");
}

std::shared_ptr<const LoadedForm> FormStore::find(const AnswerForm& form) {
  const Lock lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    if (!((*at)->asked == form)) continue;
    kept_.splice(kept_.begin(), kept_, at);
    return kept_.front();
  }
  return nullptr;
}

std::shared_ptr<FormSpace> FormStore::space() {
  const Lock lock(mutex_);
  const bool is_worn = space_ && [&] {
    const Lock guard(space_->mutex());
    return space_->is_worn();
  }();
  if (!space_ || is_worn) {
    auto tokens = std::make_shared<TokenPrefixes>(*model_->tokenizer);
    std::vector<Token> ends;
    for (Token id = 0; id < model_->tokenizer->vocab_size(); ++id) {
      if (model_->tokenizer->ends_answer(id)) ends.push_back(id);
    }
    space_ =
        std::make_shared<FormSpace>(std::move(tokens), model_->n_usable_tokens(), std::move(ends));
    kept_.clear();
  }
  return space_;
}

Result<std::shared_ptr<const LoadedForm>> FormStore::load(const AnswerForm& form) {
  if (auto known = find(form)) return known;
  if (model_->tokenizer == nullptr) {
    return fail(Code::unsupported, "the model has no tokenizer, so its answers have no form");
  }
  auto made = std::make_shared<LoadedForm>();
  made->model = model_.get();
  made->form = TRY(read_form(space(), *model_->tokenizer, form));
  made->form->warm();
  made->asked = form;
  const Lock lock(mutex_);
  kept_.push_front(made);
  if (kept_.size() > kMaxForms) kept_.pop_back();
  return made;
}

}  // namespace ruv
