// What templates can do, against a table that was checked by reading them; small templates of our
// own for each capability; and asking from many threads.
#include "chat/capabilities.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "chat/chat_template.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

fs::path template_folder() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return (given ? fs::path(given) : fs::path(RUV_SOURCE_DIR) / "../shared/data") /
         "templates/jinja";
}

TemplateCapabilities capabilities_of(std::string_view source) {
  const auto parsed = ChatTemplate::parse(source);
  EXPECT_TRUE(parsed.has_value()) << source;
  return parsed ? (*parsed)->capabilities() : TemplateCapabilities();
}

// RUV_UPDATE=1 writes what is found into the table, to be read before it is committed.
TEST(Capabilities, AreThoseOfTheTable) {
  if (!fs::exists(template_folder())) GTEST_SKIP() << template_folder() << " is absent";
  const fs::path path = fs::path(RUV_SOURCE_DIR) / "tests/cases/template/capabilities.json";
  Json table = Json::object();
  if (const auto text = read_text_file(path.string()))
    table = parse_json(*text, path.string()).value();
  const bool update = std::getenv("RUV_UPDATE") != nullptr;
  if (update) {
    for (const auto& file : fs::directory_iterator(template_folder()))
      table[file.path().stem().string()] = Json::object();
  }
  for (const auto& [name, expected] : table.items()) {
    const auto source =
        read_text_file((template_folder() / (std::string(name) + ".jinja")).string());
    ASSERT_TRUE(source.has_value()) << name;
    const Json found = to_json(capabilities_of(*source));
    // Only what is there is written: false and null are left out.
    Json shown = Json::object();
    for (const auto& [key, value] : found.items())
      if (!value.is_null() && value != Json(false)) shown[key] = value;
    if (update) {
      expected = shown;
    } else {
      EXPECT_EQ(shown, expected) << name;
    }
  }
  if (update) {
    std::ofstream out(path);
    const char* begin = "{\n ";
    for (const auto& [name, row] : table.items()) {
      out << begin << Json(name).dump() << ": " << row.dump();
      begin = ",\n ";
    }
    out << "\n}\n";
  }
  EXPECT_GE(table.size(), 40U);
}

TEST(Capabilities, OfSmallTemplates) {
  const TemplateCapabilities plain = capabilities_of("{{ messages[0].content }}");
  EXPECT_TRUE(plain.renders && plain.content_text);
  EXPECT_FALSE(plain.content_parts || plain.tools || plain.tool_calls || plain.generation_prompt);
  EXPECT_FALSE(capabilities_of("{{ raise_exception('no') }}").renders);
  EXPECT_TRUE(capabilities_of("{{ tools | tojson }}{% for t in tools %}{% endfor %}").tools);
  EXPECT_TRUE(
      capabilities_of("{% if not tools %}{{ raise_exception('tools') }}{% endif %}").needs_tools);
  EXPECT_TRUE(capabilities_of("{% generation %}{% endgeneration %}").generation_blocks);
  EXPECT_TRUE(capabilities_of("{{ bos_token }}").writes_bos);
  EXPECT_EQ(capabilities_of("{{ thinking }}").thinking_switch, "thinking");
  EXPECT_TRUE(capabilities_of("{% if messages[1] %}{% if messages[1].role == messages[0].role %}"
                              "{{ raise_exception('alternate') }}{% endif %}{% endif %}")
                  .alternating_roles);
  const TemplateCapabilities calls = capabilities_of(
      "{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.name }}"
      "{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endfor %}");
  EXPECT_TRUE(calls.tool_calls && calls.parallel_tool_calls && calls.arguments_object);
  EXPECT_FALSE(calls.arguments_text);
}

TEST(Capabilities, AreFoundOnceByAnyThread) {
  const auto parsed = ChatTemplate::parse("{{ messages[0].content }}{{ tools }}");
  ASSERT_TRUE(parsed.has_value());
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { right += (*parsed)->capabilities().tools; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
  EXPECT_EQ(&(*parsed)->capabilities(), &(*parsed)->capabilities());
}

}  // namespace
}  // namespace ruv
