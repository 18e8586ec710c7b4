#include "api_key.h"

#include <cstdlib>

#include "base/file.h"

namespace ruv {
namespace {

constexpr const char* kVariable = "RUVLLM_API_KEY";

// One key, which must be there.
Result<ApiKeys> checked(const std::string& where, const std::string& text) {
  Result<ApiKeys> keys = ApiKeys::parse(text);
  if (!keys) return fail(Code::invalid, "{}: {}", where, keys.error().message());
  if (keys->empty()) return fail(Code::invalid, "{}: there is no key", where);
  return keys;
}

// A key alone, whatever characters it begins with.
Result<ApiKeys> single(const std::string& where, std::string_view key) {
  if (key.empty()) return fail(Code::invalid, "{}: the key is empty", where);
  for (const unsigned char c : key) {
    if (c <= ' ' || c >= 0x7F)
      return fail(Code::invalid, "{}: a key is one line of ASCII characters without spaces", where);
  }
  return ApiKeys(key);
}

}  // namespace

void add_api_key_flags(CommandLine& line, ApiKeySource& source) {
  line.text("--api-key", source.key,
            "Key that requests must carry; users of this machine can see it in the list of "
            "processes. Else --api-key-file, else the variable RUVLLM_API_KEY, else none");
  line.text("--api-key-file", source.file,
            "File with a key on each line, or with names, digests and limits: docs/http.md; read "
            "again on "
            "SIGHUP");
}

Result<ApiKeys> api_keys_of(const CommandLine& line, const ApiKeySource& source) {
  if (line.given("--api-key") && line.given("--api-key-file"))
    return fail(Code::invalid, "give either --api-key or --api-key-file");
  if (line.given("--api-key")) return single("--api-key", source.key);
  if (line.given("--api-key-file")) return keys_in_file(source);
  const char* const variable = std::getenv(kVariable);
  if (variable == nullptr) return ApiKeys();
  return single(kVariable, variable);
}

Result<ApiKeys> keys_in_file(const ApiKeySource& source) {
  return checked("--api-key-file " + source.file, TRY(read_text_file(source.file)));
}

}  // namespace ruv
