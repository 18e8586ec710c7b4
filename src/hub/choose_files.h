// Which files of a repository make the model that was asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hub/repo_listing.h"

namespace ruv {

struct ChosenFiles {
  std::vector<RepoFile> files;  // what is fetched, in this order
  // What is opened: the file, of a file in parts the first; empty: the folder itself.
  std::string opened;
};

// `want`: a file by its path, or a type of quantisation in any case. Empty: the GGUF file in
// Q4_K_M, else in the next best type for its size; without GGUF files, the config, tokenizer,
// template and weights of a safetensors model. All parts of a file in parts are chosen. Fails:
// not_found, which lists what there is; unsupported (no model that could be opened).
Result<ChosenFiles> choose_files(const std::vector<RepoFile>& files, std::string_view want);

// Every model among the files: each whole GGUF file that is one, with its parts, and the
// safetensors model.
std::vector<ChosenFiles> all_models(const std::vector<RepoFile>& files);

// The type of quantisation in a GGUF file's name, in capitals; empty: it names none.
std::string quant_in_name(std::string_view path);

}  // namespace ruv
