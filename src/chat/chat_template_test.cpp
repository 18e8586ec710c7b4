// Renders the chat templates of real models and small language cases, and compares byte for byte
// with what Python's Jinja2 renders.
#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/json.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFrozenClock = 1741964966;  // 2025-03-14 15:09:26

fs::path template_data() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return (given ? fs::path(given) : fs::path(RUV_SOURCE_DIR) / "../shared/data") / "templates";
}

RenderOptions frozen_options() {
  RenderOptions options;
  options.bos_token = "<BOS>";
  options.eos_token = "<EOS>";
  options.now_unix_s = kFrozenClock;
  return options;
}

Result<std::string> rendered(std::string_view source, const Json& context) {
  const auto parsed = TRY(ChatTemplate::parse(source));
  return joined(TRY(parsed->render(context, frozen_options())));
}

Json json_file(const fs::path& path) {
  const auto text = read_text_file(path.string());
  EXPECT_TRUE(text.has_value()) << path;
  auto json = parse_json(text.value_or("null"), path.string());
  EXPECT_TRUE(json.has_value()) << path;
  return json.value_or(Json());
}

TEST(ChatTemplates, EveryTemplateRendersAsJinja2Does) {
  const fs::path data = template_data();
  if (!fs::exists(data / "contexts.json")) GTEST_SKIP() << data << " is absent";
  const Json contexts = json_file(data / "contexts.json");
  int total = 0;
  int equal = 0;
  for (const auto& file : fs::directory_iterator(data / "jinja")) {
    const std::string name = file.path().stem().string();
    const auto source = read_text_file(file.path().string());
    ASSERT_TRUE(source.has_value());
    const Json expected = json_file(data / "expected" / (name + ".contexts.json"));
    for (const auto& [context_name, expectation] : expected.items()) {
      ++total;
      const auto out = rendered(*source, contexts.at(context_name));
      if (expectation.contains("error")) {
        equal += !out.has_value();
        EXPECT_FALSE(out.has_value()) << name << " / " << context_name
                                      << " must fail: " << expectation["error"].get<std::string>();
        continue;
      }
      const bool same = out && *out == expectation["output"].get<std::string>();
      equal += same;
      if (!out) {
        ADD_FAILURE() << name << " / " << context_name << ": " << out.error().message();
      } else {
        EXPECT_EQ(*out, expectation["output"].get<std::string>()) << name << " / " << context_name;
      }
    }
  }
  RecordProperty("equal", equal);
  RecordProperty("total", total);
  EXPECT_GT(total, 0);
}

// Triples of template, context and target. Those on which Python differs are other engines'
// choices and are not followed here.
void check_triples(const fs::path& path, const char* source_key, const char* context_key) {
  if (!fs::exists(path)) GTEST_SKIP() << path << " is absent";
  int compared = 0;
  for (const Json& triple : json_file(path)) {
    if (!triple["python_jinja2_agrees"].get<bool>()) continue;
    ++compared;
    const std::string name = triple["name"].get<std::string>();
    const auto out = rendered(triple[source_key].get<std::string>(), triple[context_key]);
    if (!out) {
      ADD_FAILURE() << name << ": " << out.error().message();
    } else {
      EXPECT_EQ(*out, triple["target"].get<std::string>()) << name;
    }
  }
  EXPECT_GT(compared, 0);
}

TEST(ChatTemplates, HuggingFaceEndToEnd) {
  check_triples(template_data() / "hf_jinja_e2e.json", "chat_template", "data");
}
TEST(ChatTemplates, HuggingFaceLanguage) {
  check_triples(template_data() / "hf_jinja_language.json", "template", "context");
}
TEST(ChatTemplates, LlamaCppLanguage) {
  check_triples(template_data() / "llamacpp_jinja_language.json", "template", "context");
}

}  // namespace
}  // namespace ruv
