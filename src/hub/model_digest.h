// The files that make a model on this machine, and a digest that says whether they are the same.
#pragma once

#include <string>
#include <vector>

#include "hub/local_names.h"

namespace ruv {

struct DigestedModel {
  std::string sha256;
  int64_t n_bytes = 0;
  std::vector<VersionFile> files;  // by path
};

// Reads a GGUF file with all its parts, a folder's safetensors model, or another file. The
// digest is that of the file; with several files, SHA-256 of what `sha256sum` prints of them,
// sorted by path. Requires: an absolute path. Fails: unavailable (a file changes meanwhile), as
// choose_files and digest_of_file.
Result<DigestedModel> digest_model(const std::string& path);

// Whether a version's files are those that were named. A file whose stamp is another one is hashed
// again. Fails: corrupt (it was changed), and as digest_of_file.
Status check_version_files(const std::string& source, const std::vector<VersionFile>& files);

}  // namespace ruv
