// Keys that the kernel keeps for a user: Linux's keyrings.
#pragma once

#include <string>

#include "base/result.h"

namespace ruv {

// The payload of the key of type "user" with this description, from the keyrings of the process, or
// else of the user (`keyctl add user NAME … @u`). Fails: not_found, invalid (it may not be read, or
// expired), unsupported (another system, or one that keeps no keys).
Result<std::string> read_user_key(const std::string& name);

}  // namespace ruv
