#include "hub/registry_reference.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

std::string parts(std::string_view text) {
  const auto read = read_registry_reference(text);
  if (!read) return "refused";
  return read->host + " " + read->space + " " + read->name + " " + read->tag;
}

TEST(RegistryReference, FillsInWhatIsUsual) {
  EXPECT_EQ(parts("ollama:tiny"), "registry.ollama.ai library tiny latest");
  EXPECT_EQ(parts("tiny:1b-q4_0"), "registry.ollama.ai library tiny 1b-q4_0");
  EXPECT_EQ(parts("ollama:me/tiny"), "registry.ollama.ai me tiny latest");
  EXPECT_EQ(parts("ollama:hf.co/Owner/Tiny-1.5-GGUF:Q4_K_M"), "hf.co Owner Tiny-1.5-GGUF Q4_K_M");
  EXPECT_EQ(parts("127.0.0.1:5000/me/tiny"), "127.0.0.1:5000 me tiny latest");
}

TEST(RegistryReference, RefusesWhatWouldLeaveItsFolder) {
  for (const char* text :
       {"",     "ollama:",       "a/b/c/d",      "x:",      "../x",      "a/../b", "h?/a/b",
        "a b",  "host/a/b:../c", "a//b",         "/a",      "a/",        ".x",     "-x",
        "a..b", "x:y:z",         "http://h/a/b", "u@h/a/b", "h:1:2/a/b", "a%2fb"}) {
    EXPECT_EQ(parts(text), "refused") << text;
  }
  EXPECT_EQ(parts(std::string(81, 'a')), "refused");
}

TEST(RegistryReference, IsWrittenAsItIsRead) {
  for (const char* text :
       {"ollama:tiny:latest", "ollama:me/tiny:1b", "ollama:127.0.0.1:5000/library/tiny:1b"}) {
    EXPECT_EQ(text_of(*read_registry_reference(text)), text);
  }
  EXPECT_EQ(endpoint_of(*read_registry_reference("tiny")), "https://registry.ollama.ai");
  EXPECT_EQ(endpoint_of(*read_registry_reference("127.0.0.1:5000/a/b")), "http://127.0.0.1:5000");
  EXPECT_EQ(endpoint_of(*read_registry_reference("localhost.evil/a/b")), "https://localhost.evil");
}

}  // namespace
}  // namespace ruv
