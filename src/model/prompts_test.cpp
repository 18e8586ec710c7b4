// Prompts of conversations: what PromptEncoder remembers never changes the ids.
#include "ruv/prompts.h"

#include <gtest/gtest.h>

#include "model/model.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

std::shared_ptr<Model> chat_model() {
  TokenizerSpec spec = byte_test_spec({});
  spec.add_bos = true;
  const auto model = std::make_shared<Model>();
  model->tokenizer = test_tokenizer(spec);
  model->chat_template =
      ChatTemplate::parse("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
          .value();
  return model;
}

TEST(Prompts, OfAGrowingConversationAreThoseOfTokenizeChat) {
  const auto model = chat_model();
  PromptEncoder encoder(model);
  Conversation talk;
  for (int turn = 0; turn < 40; ++turn) {
    talk.messages.push_back(text_message(turn % 2 == 0 ? "user" : "assistant", "<bos> says hi"));
    const ChatPrompt prompt = encoder.encode(talk).value();
    EXPECT_EQ(prompt.ids, tokenize_chat(*model, talk).value()) << turn;
    EXPECT_EQ(prompt.n_fixed, static_cast<int64_t>(prompt.ids.size())) << turn;
  }
}

TEST(Prompts, TheMessageThatAnAnswerContinuesIsNotFixed) {
  const auto model = chat_model();
  const Conversation talk{{text_message("user", "u"), text_message("assistant", "ab")},
                          PromptEnd::open_message};
  const ChatPrompt prompt = PromptEncoder(model).encode(talk).value();
  const std::vector<Token> fixed(prompt.ids.begin(), prompt.ids.begin() + prompt.n_fixed);
  EXPECT_EQ(detokenize(*model, fixed, true).value(), "<bos>[user]u[assistant]");
}

TEST(Prompts, TheModelsSystemMessageComesFirstWhereThereIsNone) {
  const auto model = chat_model();
  model->defaults.system = "s";
  PromptEncoder encoder(model);
  const auto expect_text = [&](const Conversation& talk, std::string_view text) {
    EXPECT_EQ(chat_text(*model, talk).value(), text);
    EXPECT_EQ(tokenize_chat(*model, talk).value(), encoder.encode(talk).value().ids);
  };
  expect_text({{text_message("user", "u")}}, "[system]s[user]u");
  expect_text({{text_message("system", ""), text_message("user", "u")}}, "[system][user]u");
  expect_text({{text_message("user", "u"), text_message("system", "t")}}, "[user]u[system]t");
}

TEST(Prompts, TextNeedsNoTokenizerButIdsDo) {
  const auto model = std::const_pointer_cast<Model>(
      load_model(RUV_SOURCE_DIR "/tests/golden/models/gpt2/model.gguf").value());
  model->tokenizer = nullptr;
  model->chat_template = chat_model()->chat_template;
  const Conversation talk{{text_message("user", "u")}};
  EXPECT_EQ(chat_text(*model, talk).value(), "[user]u");
  EXPECT_EQ(PromptEncoder(model).encode(talk).error().code(), Code::unsupported);
}

}  // namespace
}  // namespace ruv
