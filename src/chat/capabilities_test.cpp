// What templates can do, against a table that was checked by reading them; small templates of our
// own for each capability; and asking from many threads.
#include "chat/capabilities.h"

#include <gtest/gtest.h>

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
  if (const auto text = read_text_file(path.string())) table = Json::parse(*text);
  const bool update = std::getenv("RUV_UPDATE") != nullptr;
  if (update) {
    for (const auto& file : fs::directory_iterator(template_folder()))
      table[file.path().stem().string()] = Json::object();
  }
  for (auto& [name, expected] : table.items()) {
    const auto source = read_text_file((template_folder() / (name + ".jinja")).string());
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

}  // namespace
}  // namespace ruv
