// Files that subcommands write: what they may replace, the same for all.
#pragma once

#include <string>

#include "base/file.h"
#include "base/result.h"
#include "ruv/model.h"

namespace ruv {

inline constexpr const char* kForceHelp =
    "Replace a file of that name once the new one is complete; never one that is read here";

// A writer of a new file, or with `force` of one in place of another: never of the model's files or
// of `input`. Fails: as FileWriter::create.
Result<FileWriter> create_output(const std::string& path, bool force, const Model& model,
                                 const std::string& input);

}  // namespace ruv
