// Going on with a message: the prompt ends where its content ends, whatever the template writes.
#include "chat/rendered_chat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

std::string conversation(const std::string& last, bool goes_on) {
  Json json = {
      {"messages",
       {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", last}}}},
      {"add_generation_prompt", false}};
  if (goes_on) json["continue_final_message"] = true;
  return json.dump();
}

Result<RenderedChat> rendered(const ChatTemplate& chat, const std::string& json) {
  return render_conversation(chat, {.bos_token = "<s>", .eos_token = "</s>"},
                             TRY(parse_conversation(json)));
}

RenderedChat rendered(const std::string& source, const std::string& json) {
  return rendered(*ChatTemplate::parse(source).value(), json).value();
}

constexpr const char* kPlain =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";
constexpr const char* kTrimming =
    "{% for m in messages %}[{{ m.role }}] {{ m.content | trim }}\n{% endfor %}";

TEST(RenderedChat, EndsWhereTheMessageEnds) {
  for (const char* source : {kPlain, kTrimming}) {
    const RenderedChat chat = rendered(source, conversation("The answer is ", true));
    EXPECT_TRUE(joined(chat.parts).ends_with("The answer is ")) << joined(chat.parts);
    EXPECT_EQ(chat.n_open_bytes, 14U);
  }
}

TEST(RenderedChat, OtherwiseTheTemplateEndsThePrompt) {
  const RenderedChat chat = rendered(kPlain, conversation("Yes", false));
  EXPECT_EQ(joined(chat.parts), "<|user|>Hi<|end|><|assistant|>Yes<|end|>");
  EXPECT_EQ(chat.n_open_bytes, 0U);
  const RenderedChat open =
      rendered(kPlain, R"({"messages": [{"role": "user", "content": "Hi"}]})");
  EXPECT_EQ(joined(open.parts), "<|user|>Hi<|end|><|assistant|>");
}

TEST(RenderedChat, WhatTheTemplateWroteIsNotOpen) {
  // The role stands before the content in one stretch of the user's bytes.
  const RenderedChat chat = rendered(
      "{% for m in messages %}{{ m.role + m.content }}\n{% endfor %}", conversation("Yes", true));
  EXPECT_EQ(joined(chat.parts), "userHi\nassistantYes");
  EXPECT_EQ(chat.n_open_bytes, 3U);
  // A beginning that the template trims off is not there.
  EXPECT_EQ(rendered(kTrimming, conversation("  Yes", true)).n_open_bytes, 3U);
  EXPECT_EQ(rendered(kPlain, conversation("", true)).n_open_bytes, 0U);
}

TEST(RenderedChat, AMarkInTheTextIsNoEnd) {
  const std::string text = "a \uE000\uE001 b \uE000\uE001\uE001 c";
  const RenderedChat chat = rendered(kPlain, conversation(text, true));
  EXPECT_TRUE(joined(chat.parts).ends_with("<|assistant|>" + text));
  // Its search takes one walk over the text: as many walks as marks would never end here.
  std::string marks = "\uE000";
  for (int i = 0; i < 1'000'000; ++i) marks += "\uE001";
  EXPECT_TRUE(joined(rendered(kPlain, conversation(marks, true)).parts).ends_with(marks));
}

TEST(RenderedChat, FlagsAreTrueOrFalse) {
  const auto chat = ChatTemplate::parse(kPlain).value();
  for (const char* flag : {"add_generation_prompt", "continue_final_message"}) {
    Json json = parse_json(conversation("Yes", false), "test").value();
    json[flag] = 1;
    const auto refused = rendered(*chat, json.dump());
    ASSERT_FALSE(refused) << flag;
    EXPECT_NE(refused.error().message().find(flag), std::string::npos);
  }
}

TEST(RenderedChat, RefusesWhatCannotGoOn) {
  const auto chat = ChatTemplate::parse("{{ messages[0].content }}").value();
  EXPECT_EQ(rendered(*chat, conversation("Yes", true)).error().code(), Code::invalid);
  for (const char* json : {"[]", "{}", "null"}) {
    const auto refused = rendered(*chat, json);
    ASSERT_FALSE(refused) << json;
    EXPECT_NE(refused.error().message().find("messages"), std::string::npos) << json;
  }
  EXPECT_FALSE(rendered(*chat, R"({"messages": [], "continue_final_message": true})"));
  EXPECT_FALSE(rendered(*chat, "{"));
}

// The prompt is the beginning of what the template makes of the finished message.
TEST(RenderedChat, IsABeginningInTheTemplatesOfRealModels) {
  const char* given = std::getenv("RUV_DATA_DIR");
  const std::string dir =
      (given == nullptr ? std::string(RUV_SOURCE_DIR "/../shared/data") : given) +
      "/templates/jinja";
  if (!fs::exists(dir)) GTEST_SKIP() << dir << " is missing";
  int n_open = 0;
  int n_rendered = 0;
  for (const auto& entry : fs::directory_iterator(dir)) {
    const auto chat = ChatTemplate::parse(read_text_file(entry.path().string()).value());
    if (!chat) continue;
    const auto whole = rendered(**chat, conversation("The answer is 42", false));
    if (!whole) continue;
    ++n_rendered;
    const std::string name = entry.path().filename().string();
    const auto open = rendered(**chat, conversation("The answer is 4", true));
    if (!open) {
      std::printf("%s: %s\n", name.c_str(), open.error().message().c_str());
      continue;
    }
    ++n_open;
    const std::string text = joined(open->parts);
    EXPECT_TRUE(joined(whole->parts).starts_with(text)) << name << "\n" << text;
    EXPECT_TRUE(text.ends_with("The answer is 4")) << name << "\n" << text;
    EXPECT_EQ(open->n_open_bytes, 15U) << name;
  }
  std::printf("%d templates, %d can go on with a message\n", n_rendered, n_open);
  EXPECT_GT(n_rendered, 60);
  EXPECT_EQ(n_open, n_rendered);
}

}  // namespace
}  // namespace ruv
