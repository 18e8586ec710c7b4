// The keys that a server asks for: one that is given, or those of a file.
#pragma once

#include <string>

#include "base/result.h"
#include "command_line.h"
#include "net/http/api_keys.h"

namespace ruv {

struct ApiKeySource {
  std::string key;   // --api-key
  std::string file;  // --api-key-file
};

// --api-key and --api-key-file.
void add_api_key_flags(CommandLine& line, ApiKeySource& source);

// Empty: none was given anywhere. An empty key is refused: a server that was to ask for one would
// ask for none. Fails: invalid, and as reading the file.
Result<ApiKeys> api_keys_of(const CommandLine& line, const ApiKeySource& source);
// Those of --api-key-file. Fails: the same.
Result<ApiKeys> keys_in_file(const ApiKeySource& source);

}  // namespace ruv
