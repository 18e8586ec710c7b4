// Prompts of conversations, as the server and the library make them of a model's own template.
#include "net/model_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/model.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

std::shared_ptr<const Model> chat_model(const char* source) {
  auto loaded = load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf");
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message();
    return nullptr;
  }
  TokenizerSpec spec = byte_test_spec({});
  spec.add_bos = true;
  const auto model = std::const_pointer_cast<Model>(*loaded);
  model->tokenizer = test_tokenizer(std::move(spec));
  model->chat_template = *ChatTemplate::parse(source);
  return model;
}

TEST(ChatPrompts, HaveOneBosWhoeverWritesIt) {
  const std::string chat = R"({"messages": [{"role": "user", "content": "a<bos>b"}]})";
  for (const char* source :
       {"{{ bos_token }}{{ messages[0].content }}", "{{ messages[0].content }}"}) {
    const auto model = chat_model(source);
    ASSERT_NE(model, nullptr);
    const Token bos = *model->tokenizer->spec().bos;
    const auto once = [&](const std::vector<Token>& ids) {
      return !ids.empty() && ids.front() == bos && std::count(ids.begin(), ids.end(), bos) == 1;
    };
    EXPECT_TRUE(once(tokenize_chat(*model, chat).value())) << source;
    const auto text = text_of_model(model);
    EXPECT_TRUE(once(text->chat_prompt(chat)->ids)) << source;
    // Asked again, the prompt comes out of what was encoded before.
    EXPECT_TRUE(once(text->chat_prompt(chat)->ids)) << source;
  }
}

}  // namespace
}  // namespace ruv
