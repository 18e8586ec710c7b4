// Where the program takes a key from that files are encrypted with.
#pragma once

#include <optional>
#include <string>

#include "base/sealing.h"

namespace ruv {

// The key of a source: a file with 64 hexadecimal digits, "env:NAME", an environment variable with
// those, or "keyring:NAME", a key in Linux's keyrings with those. No source gives no key. `option`
// is quoted in errors. Fails: invalid, not_found, unsupported (a keyring of another system).
Result<std::optional<SealKey>> read_key(std::string_view option, const std::string& source);

}  // namespace ruv
