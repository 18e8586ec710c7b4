// What JSON takes of the memory, counted, and what it does where there is none.
#include <gtest/gtest.h>

#include <functional>
#include <new>

#include "base/json.h"
#include "fault/allocations.h"

namespace ruv {
namespace {

// A little more than a power of two, where vectors that double have most to spare.
constexpr size_t kTextBytes = (1 << 20) + 100;

// `part` again and again, in an array.
std::string repeated(std::string_view part) {
  std::string text = "[";
  while (text.size() < kTextBytes) {
    text += part;
    text += ',';
  }
  text.back() = ']';
  return text;
}

std::string wide_object() {
  std::string text = "{";
  for (int i = 0; text.size() < kTextBytes; ++i) text += fmt::format("\"{:x}\":0,", i);
  text.back() = '}';
  return text;
}

std::string one_key() {
  std::string text = "{\"a\":0";
  while (text.size() < kTextBytes) text += ",\"a\":0";
  return text + "}";
}

std::string nested(int depth, std::string_view inner) {
  return std::string(static_cast<size_t>(depth), '[') + std::string(inner) +
         std::string(static_cast<size_t>(depth), ']');
}

std::vector<std::pair<const char*, std::string>> shapes() {
  return {{"numbers", repeated("0")},
          {"empty arrays", repeated("[]")},
          {"empty objects", repeated("{}")},
          {"arrays of one", repeated("[0]")},
          {"arrays of two", repeated("[0,0]")},
          {"objects of one", repeated("{\"\":0}")},
          {"objects of 17", repeated(R"({"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,)"
                                     R"("j":0,"k":0,"l":0,"m":0,"n":0,"o":0,"p":0,"q":0})")},
          {"deep arrays", repeated(nested(100, "0"))},
          {"deep objects", repeated([] {
             std::string text = "0";
             for (int i = 0; i < 100; ++i) text = "{\"\":" + text + "}";
             return text;
           }())},
          {"texts of 15 bytes", repeated("\"123456789012345\"")},
          {"one text", "\"" + std::string(kTextBytes, 'x') + "\""},
          {"escapes", "\"" + repeated("\\n") + "\""},
          {"big integers", repeated("100000000000000000000")},
          {"distinct keys", wide_object()},
          {"one key", one_key()}};
}

TEST(JsonMemory, IsBoundedByTheText) {
  if (!allocations_can_fail) GTEST_SKIP() << "allocations are not counted under a sanitizer";
  for (const auto& [name, text] : shapes()) {
    const int64_t before = live_bytes();
    restart_peak();
    const bool parsed = parse_json(text, name).has_value();
    const int64_t peak = peak_bytes() - before;
    const int64_t left = live_bytes() - before;
    EXPECT_TRUE(parsed) << name;
    EXPECT_LE(peak, static_cast<int64_t>(kJsonBytesPerTextByte * text.size() + 16384)) << name;
    EXPECT_EQ(left, 0) << name;
  }
}

TEST(JsonMemory, RefusalsFreeWhatTheyHad) {
  if (!allocations_can_fail) GTEST_SKIP() << "allocations are not counted under a sanitizer";
  for (const auto& [name, text] : shapes()) {
    const int64_t before = live_bytes();
    EXPECT_FALSE(parse_json(text.substr(0, text.size() - 1), name).has_value()) << name;
    EXPECT_EQ(live_bytes(), before) << name;
  }
}

// Every allocation of `work` fails once, alone and with all that follow. It must throw bad_alloc
// and nothing else, leave nothing behind, and free what it had without memory.
void expect_survival(const char* what, const std::function<void()>& work) {
  work();
  for (const int64_t many : {int64_t{1}, INT64_MAX / 2}) {
    for (int64_t n = 1;; ++n) {
      const int64_t before = live_bytes();
      bool thrown = false;
      fail_allocations(n, many);
      try {
        work();
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      const bool failed = let_allocations_succeed();
      EXPECT_EQ(thrown, failed) << what << ", allocation " << n;
      EXPECT_EQ(live_bytes(), before) << what << ", allocation " << n;
      if (!failed) break;
    }
  }
}

TEST(JsonMemory, OutOfMemoryIsAnException) {
  if (!allocations_can_fail) GTEST_SKIP() << "allocations cannot fail under a sanitizer";
  std::string text = R"({"a text that is not short":[1,[2,{"b":"another text that is long"}]],)";
  for (int i = 0; i < 18; ++i) text += fmt::format("\"a longer name {}\":[{}],", i, i);
  text += "\"n\":123456789012345678901234567890,\"e\":\"\\u00e9 with an escape in it\"}";
  const Json json = parse_json(text, "text").value();
  expect_survival("parsing", [&] { (void)parse_json(text, "text").has_value(); });
  expect_survival("copying", [&] { Json copy = json; });
  expect_survival("changing", [&] {
    Json copy = json;
    for (int i = 0; i < 18; ++i) copy[fmt::format("one more name {}", i)] = json;
    copy.erase("n");
  });
  expect_survival("writing", [&] { (void)json.dump(2).size(); });
  expect_survival("braces", [&] {
    const Json made = {{"a text that is not short", {1, "another text that is long", json}}};
  });
}

}  // namespace
}  // namespace ruv
