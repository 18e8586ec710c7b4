// The documents of a suite in other writings: members in any order, with other spaces, with
// escapes. A schema holds for values, so every writing of a valid document that the style allows is
// accepted. Each fifth schema is tried; RUV_TEST_MASKS=1 tries all.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/rng.h"
#include "base/test_share.h"
#include "grammar/form/form.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

constexpr std::string_view kWrittenSample = "grammars/maskbench_sample.jsonl";

std::filesystem::path written_sample() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return std::filesystem::path(given != nullptr ? given : RUV_SOURCE_DIR "/../shared/data") /
         kWrittenSample;
}

// One way to write a document.
struct Writing {
  JsonStyle style;
  int indent = -1;       // spaces for each level; -1: one line
  bool blanks = false;   // drawn ones wherever JSON allows them
  bool escapes = false;  // characters drawn are written as \u
  bool shuffled = false;
};

class DocumentWriter {
 public:
  DocumentWriter(const Writing& writing, uint64_t seed) : writing_(writing), rng_(seed) {}

  // `value` is nested no deeper than the parser allows.
  std::string text(const Json& value, int depth = 0) {
    if (value.is_string()) return string(value.text());
    if (value.is_array()) return array(value, depth);
    return value.is_object() ? object(value, depth) : value.dump();
  }

 private:
  std::string array(const Json& value, int depth) {
    std::vector<std::string> items;
    for (const Json& item : value) items.push_back(text(item, depth + 1));
    return list('[', items, ']', depth);
  }
  std::string object(const Json& value, int depth) {
    std::vector<std::string> members;
    for (const auto& [key, member] : value.items()) {
      members.push_back(string(key) + blank() + ":" +
                        (writing_.blanks ? blank() : after_separator()) + text(member, depth + 1));
    }
    for (size_t i = members.size(); writing_.shuffled && i > 1; --i) {
      std::swap(members[i - 1], members[rng_.below(i)]);
    }
    return list('{', members, '}', depth);
  }
  std::string list(char open, const std::vector<std::string>& parts, char close, int depth) {
    if (parts.empty()) return {open, close};
    std::string made(1, open);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) made += ",";
      if (writing_.indent >= 0) {
        made += line(depth + 1);
      } else if (writing_.blanks) {
        made += blank();
      } else if (i > 0) {
        made += after_separator();
      }
      made += parts[i] + blank();
    }
    return made + (writing_.indent >= 0 ? line(depth) : "") + close;
  }
  std::string string(std::string_view value) {
    if (!writing_.escapes) return Json(value).dump();
    std::string made = "\"";
    for (const char c : value) {
      const int code = static_cast<unsigned char>(c);
      const bool needed = c < ' ' || c == '"' || c == '\\';
      if (code >= 127 || (!needed && rng_.below(3) > 0)) {
        made += c;
      } else {
        made +=
            rng_.below(2) == 0 ? fmt::format("\\u{:04x}", code) : fmt::format("\\u{:04X}", code);
      }
    }
    return made + "\"";
  }
  std::string line(int depth) const { return "\n" + std::string(depth * writing_.indent, ' '); }
  std::string after_separator() const {
    return writing_.style.spacing == JsonSpacing::compact ? "" : " ";
  }
  std::string blank() {
    std::string made;
    if (!writing_.blanks) return made;
    for (uint64_t n = rng_.below(4); n > 0; --n) made += " \n\t\r"[rng_.below(4)];
    return made;
  }

  Writing writing_;
  Rng rng_;
};

TEST(JsonWritings, OfValidDocumentsAreAccepted) {
  const std::filesystem::path path = written_sample();
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << kWrittenSample << " in the test data";
  const JsonStyle any{.escapes = JsonEscapes::all, .spacing = JsonSpacing::any};
  const std::vector<Writing> writings = {
      {.style = {.spacing = JsonSpacing::compact}},
      {.style = {.spacing = JsonSpacing::compact}, .shuffled = true},
      {.style = {}, .shuffled = true},
      {.style = {}, .indent = 2},
      {.style = {}, .indent = 4, .shuffled = true},
      {.style = {.escapes = JsonEscapes::all}, .escapes = true, .shuffled = true},
      {.style = any, .blanks = true, .escapes = true},
      {.style = any, .blanks = true, .escapes = true, .shuffled = true},
  };
  const auto tokenizer = test_tokenizer(byte_test_spec({}));
  const auto prefixes = std::make_shared<TokenPrefixes>(*tokenizer);
  const size_t every = std::getenv("RUV_TEST_MASKS") != nullptr ? 1 : 5 * kTestShare;
  std::ifstream file(path);
  int n_texts = 0;
  size_t n_rows = 0;
  for (std::string row; std::getline(file, row);) {
    if (n_rows++ % every != 0) continue;
    const auto read = parse_json(row, "row");
    ASSERT_TRUE(read);
    for (size_t i = 0; i < writings.size(); ++i) {
      const auto space = std::make_shared<FormSpace>(prefixes, tokenizer->vocab_size());
      const auto form = Form::of_schema(space, read->at("schema"), {.style = writings[i].style});
      ASSERT_TRUE(form) << read->at("id").text() << ": " << form.error().message();
      const Lock guard(space->mutex());
      for (const Json& test : read->at("tests")) {
        if (test.at("valid") != true) continue;
        for (uint64_t seed = 0; seed < (writings[i].shuffled ? 3 : 1); ++seed) {
          const std::string text = DocumentWriter(writings[i], seed).text(test.at("data"));
          FormReader reader = (*form)->reader();
          EXPECT_TRUE(reader.accept(text) && reader.may_end())
              << read->at("id").text() << ", writing " << i << ": " << text;
          ++n_texts;
        }
      }
    }
  }
  fmt::print("{} texts\n", n_texts);
}

}  // namespace
}  // namespace ruv
