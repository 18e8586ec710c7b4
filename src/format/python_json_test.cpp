#include "format/python_json.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(PythonJson, NumbersThatAreNotFiniteAreTagged) {
  EXPECT_EQ(with_tagged_floats(R"({"a": [0.0, Infinity], "b": -Infinity, "c":NaN})"),
            R"({"a": [0.0, {"__float__": "Infinity"}], "b": {"__float__": "-Infinity"}, )"
            R"("c":{"__float__": "NaN"}})");
}

TEST(PythonJson, TextsStay) {
  for (const std::string_view text :
       {R"({"a": "Infinity", "NaN": "\" Infinity \\"})", "", "\"", "\"\\", "{\"x\": 1e5}"}) {
    EXPECT_EQ(with_tagged_floats(text), text);
  }
}

}  // namespace
}  // namespace ruv
