#include "api_key.h"

#include <cstdlib>

#include "base/file.h"

namespace ruv {
namespace {

constexpr const char* kVariable = "RUVLLM_API_KEY";

// Keys go in a header's value.
Result<std::string> checked(const std::string& where, std::string key) {
  if (key.empty()) return fail(Code::invalid, "{}: the key is empty", where);
  for (const unsigned char c : key) {
    if (c <= ' ' || c >= 0x7F)
      return fail(Code::invalid, "{}: a key is one line of ASCII characters without spaces", where);
  }
  return key;
}

}  // namespace

void add_api_key_flags(CommandLine& line, ApiKeySource& source) {
  line.text("--api-key", source.key,
            "Key that requests must carry; users of this machine can see it in the list of "
            "processes. Else --api-key-file, else the variable RUVLLM_API_KEY, else none");
  line.text("--api-key-file", source.file, "File with the key on one line");
}

Result<std::string> api_key_of(const CommandLine& line, const ApiKeySource& source) {
  if (line.given("--api-key") && line.given("--api-key-file"))
    return fail(Code::invalid, "give either --api-key or --api-key-file");
  if (line.given("--api-key")) return checked("--api-key", source.key);
  if (line.given("--api-key-file")) {
    std::string text = TRY(read_text_file(source.file));
    text.erase(text.find_last_not_of("\r\n") + 1);
    return checked("--api-key-file " + source.file, std::move(text));
  }
  const char* const variable = std::getenv(kVariable);
  return variable == nullptr ? std::string() : checked(kVariable, variable);
}

}  // namespace ruv
