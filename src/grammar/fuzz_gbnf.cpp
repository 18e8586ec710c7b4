// Reads hostile GBNF grammars, folds them, and compares both forms on a text.
#include <cstddef>
#include <cstdint>

#include "grammar/rules/fuzz_rules.h"
#include "grammar/rules/gbnf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruv;
  fuzz_rules({reinterpret_cast<const char*>(data), size},
             [](Languages& languages, std::string_view text, const GrammarTokens& tokens) {
               return read_gbnf(languages, text, tokens);
             });
  return 0;
}
