// Forms over a vocabulary of single bytes and a few longer tokens, for tests of calls.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "grammar/form/form.h"
#include "text/test_vocabularies.h"

namespace ruv {

class ToolForms {
 public:
  // `pieces`: tokens of several bytes. `control`: texts of control tokens.
  ToolForms(const std::vector<std::string>& pieces, const std::vector<std::string>& control) {
    TokenizerSpec spec = byte_test_spec({});
    for (const std::string& piece : pieces) {
      add_test_token(spec, to_byte_alphabet(piece), TokenKind::normal);
    }
    for (const std::string& text : control) {
      control_.emplace_back(text, static_cast<Token>(spec.tokens.size()));
      add_test_added(spec, {.text = text, .special = true});
    }
    tokenizer_ = test_tokenizer(std::move(spec));
    prefixes_ = std::make_shared<TokenPrefixes>(*tokenizer_);
    renew();
  }

  // Forgets all forms: a space is made for many, not for thousands.
  void renew() {
    schemas_.clear();
    space_ = std::make_shared<FormSpace>(prefixes_, tokenizer_->vocab_size());
  }

  // Texts of control tokens with their tokens.
  const std::vector<std::pair<std::string, Token>>& control() const { return control_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const TokenPrefixes& prefixes() const { return *prefixes_; }
  FormSpace& space() { return *space_; }

  Form::Made of_lark(const std::string& text) {
    return Form::of_grammar(space_, Form::Syntax::lark, text, {{}, tokenizer_->vocab_size()}, {});
  }

  // Whether a JSON text is valid by a schema; spaces may be anywhere.
  bool valid(const Json& schema, std::string_view json) {
    const std::string text = schema.dump();
    auto& form = schemas_[text];
    if (form == nullptr) {
      auto made = Form::of_schema(space_, schema, {.style = {.spacing = JsonSpacing::any}});
      EXPECT_TRUE(made) << text << " " << (made ? "" : made.error().message());
      if (!made) return false;
      form = *made;
    }
    const Lock guard(space_->mutex());
    FormReader reader = form->reader();
    return reader.accept(json) && reader.may_end();
  }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<TokenPrefixes> prefixes_;
  std::shared_ptr<FormSpace> space_;
  std::vector<std::pair<std::string, Token>> control_;
  std::map<std::string, std::shared_ptr<Form>> schemas_;
};

}  // namespace ruv
