// Any bytes as JSON: they are refused with a place, or what is read is written so that it reads as
// the same again, with and without indentation.
#include <cstdlib>

#include "base/json.h"
#include "base/utf8.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

// Every member is found under its name, the elements stand where they are counted.
void walk(const ruv::Json& json) {
  if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) walk(json[i]);
  }
  if (!json.is_object()) return;
  size_t n = 0;
  for (const auto& [key, value] : json.items()) {
    expect(json.find(key) == &value);
    expect(ruv::is_valid_utf8(key));
    walk(value);
    ++n;
  }
  expect(n == json.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto json = ruv::parse_json(text, "fuzz", {.depth = 64, .values = 1 << 16});
  if (!json) {
    expect(json.error().message().starts_with("fuzz: offset "));
    return 0;
  }
  walk(*json);
  const std::string dumped = json->dump();
  expect(ruv::is_valid_utf8(dumped));
  const auto again = ruv::parse_json(dumped, "again");
  expect(again && *again == *json && again->dump() == dumped);
  const auto indented = ruv::parse_json(json->dump(1), "indented");
  expect(indented && *indented == *json);
  ruv::Json copy = *json;
  expect(copy == *json);
  copy = nullptr;
  expect(json->dump() == dumped);
  return 0;
}
