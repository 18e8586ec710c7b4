// Prompts of conversations, as the server and the library make them of a model's own template.
#include "net/model_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "model/model.h"
#include "net/openai/conversation.h"
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
  const Conversation chat{{text_message("user", "a<bos>b")}};
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

// The prompt of a body as the server makes it and as the library makes it of the same JSON.
TEST(ChatPrompts, AreTheSameThroughEveryDoor) {
  const char* const kBodies[] = {
      R"({"messages": [{"role": "developer", "content": "s"}, {"role": "user", "content": "u"}]})",
      R"({"messages": [{"role": "user", "content":
          [{"type": "text", "text": " a "}, {"type": "text", "text": "b"}]}]})",
      R"({"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a "}],
          "continue_final_message": true})",
      R"({"messages": [{"role": "user", "content": []}], "add_generation_prompt": false,
          "chat_template_kwargs": {"x": "y"}})",
  };
  for (const char* source :
       {"{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{{ x }}",
        "{% for m in messages %}[{{ m.role }}]{% for p in m.content %}({{ p.text }}){% endfor %}"
        "{% endfor %}",
        "{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}{{ p.text | trim }}{% endfor %}{% endif %}{% endfor %}"}) {
    const auto model = chat_model(source);
    ASSERT_NE(model, nullptr);
    const auto text = text_of_model(model);
    for (const char* body : kBodies) {
      const Json json = parse_json(body, "body").value();
      const auto served = text->chat_prompt(read_chat(json, MessageCheck::members).value());
      const auto linked = tokenize_chat(*model, parse_conversation(body).value());
      ASSERT_TRUE(served && linked) << body;
      EXPECT_EQ(served->ids, *linked) << source << body;
      const auto tools_allowed = read_chat(json, MessageCheck::roles).value();
      EXPECT_EQ(text->chat_prompt(tools_allowed)->ids, *linked) << source << body;
    }
  }
}

}  // namespace
}  // namespace ruv
