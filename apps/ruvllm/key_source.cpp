#include "key_source.h"

#include <cstdlib>

#include "base/file.h"
#include "base/user_keyring.h"

namespace ruv {
namespace {

constexpr std::string_view kEnvironment = "env:";
constexpr std::string_view kKeyring = "keyring:";

Result<std::string> read_source(const std::string& source) {
  if (source.starts_with(kKeyring)) return read_user_key(source.substr(kKeyring.size()));
  if (!source.starts_with(kEnvironment)) return read_text_file(source);
  const char* const value = std::getenv(source.substr(kEnvironment.size()).c_str());
  if (value == nullptr) return fail(Code::not_found, "{}: the variable is not set", source);
  return std::string(value);
}

}  // namespace

Result<std::optional<SealKey>> read_key(std::string_view option, const std::string& source) {
  if (source.empty()) return std::optional<SealKey>();
  const std::string text = TRY(read_source(source));
  std::string place(option);
  place += " " + source;
  return std::optional(TRY(seal_key_of_hex(text, place)));
}

}  // namespace ruv
