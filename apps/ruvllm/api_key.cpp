#include "api_key.h"

#include "base/file.h"

namespace ruv {
namespace {

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
  const OptionGroup group(line, "Access");
  line.alternatives({"--api-key", "--api-key-file"});
  line.secret("--api-key", source.key,
              "Key that requests must carry; users of this machine can see it in the list of "
              "processes, but not what is in --api-key-file or the variable RUVLLM_API_KEY");
  line.text("--api-key-file", source.file,
            "File with a key on each line, or with names, digests and limits: docs/http.md; read "
            "again on SIGHUP");
}

Result<ApiKeys> api_keys_of(const CommandLine& line, const ApiKeySource& source) {
  if (line.given("--api-key") && line.given("--api-key-file"))
    return fail(Code::invalid, "give either --api-key or --api-key-file");
  if (line.given("--api-key")) return single("--api-key", source.key);
  if (line.given("--api-key-file")) return keys_in_file(source);
  return ApiKeys();
}

Result<ApiKeys> keys_in_file(const ApiKeySource& source) {
  return checked("--api-key-file " + source.file, TRY(read_text_file(source.file)));
}

}  // namespace ruv
