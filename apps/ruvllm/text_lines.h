// Texts of subcommands that make vectors: where they come from, and how long they may be.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"
#include "open_engine.h"

namespace ruv {

// The texts of the call; where it has none, the lines of `file`, or of stdin where that is empty.
// Fails: invalid (there are none), as read_text_file and read_stdin.
Result<std::vector<std::string>> given_texts(const std::vector<std::string>& texts,
                                             const std::string& file);
// The longest text in tokens: the context's, or fewer where the model says so. Fails: as
// embed_info.
Result<int64_t> most_tokens(const Engine& engine);
// --truncate, --threads, --kv, --ctx and --parallel.
void add_text_flags(CommandLine& line, EngineCall& engine, bool& truncate);

}  // namespace ruv
