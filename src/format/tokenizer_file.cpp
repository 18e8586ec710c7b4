// The first bytes of a file decide which reader takes it.
#include "format/tokenizer_file.h"

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "base/folder.h"
#include "format/gguf.h"
#include "format/gguf_vocab.h"
#include "format/rwkv_vocab.h"
#include "format/sentencepiece_model.h"
#include "format/tiktoken_ranks.h"
#include "format/tokenizer_json.h"
#include "format/tokenizer_json_config.h"

namespace ruv {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The text of tokenizer_config.json beside `path`; empty when there is none.
Result<std::string> config_beside(const std::string& path) {
  const std::string config = folder_of(path) + "/tokenizer_config.json";
  if (!file_exists(config)) return std::string();
  return read_text_file(config);
}

// The file of a folder that holds the tokenizer.
Result<std::string> file_in(const std::string& folder) {
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model", "tiktoken.model",
                           "sentencepiece.bpe.model"}) {
    std::string path = folder + "/" + name;
    if (file_exists(path)) return path;
  }
  std::vector<std::string> found;
  for (FolderEntry& entry : files_in(folder)) {
    const std::string_view name = name_of(entry.path);
    if (name.ends_with(".tiktoken") || name.starts_with("rwkv_vocab")) {
      found.push_back(std::move(entry.path));
    }
  }
  if (found.empty()) {
    return fail(Code::not_found,
                "{}: no tokenizer.json, tokenizer.model, spiece.model, *.tiktoken or rwkv_vocab*",
                folder);
  }
  return *std::min_element(found.begin(), found.end());
}

bool is_json(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && text[at] == '{';
}

}  // namespace

// In this order: GGUF by its magic, JSON, RWKV lines, rank lines, else SentencePiece.
Result<TokenizerSpec> read_tokenizer_spec(const std::string& given, std::string_view scheme) {
  if (given.ends_with(".safetensors")) {
    return fail(Code::invalid, "{}: give the folder that also holds the tokenizer", given);
  }
  const std::string path = is_directory(given) ? TRY(file_in(given)) : given;
  const MappedFile file = TRY(MappedFile::open(path));
  const std::string_view text = as_text(file.bytes());
  if (text.starts_with("GGUF")) {
    const GgufContents contents = TRY(parse_gguf(file.bytes(), path));
    return tokenizer_spec_from_metadata(contents.metadata, path);
  }
  const std::string config = TRY(config_beside(path));
  if (is_json(text)) return tokenizer_spec_from_json(text, config, path);
  if (looks_like_rwkv(text)) return tokenizer_spec_from_rwkv(text, path);
  TokenizerSpec spec =
      TRY(looks_like_ranks(text) ? tokenizer_spec_from_ranks(text, name_of(path), scheme, path)
                                 : tokenizer_spec_from_sentencepiece(file.bytes(), path));
  TRY(apply_tokenizer_config(config, path, spec));
  return spec;
}

Result<std::shared_ptr<const Tokenizer>> open_tokenizer_file(const std::string& path,
                                                             std::string_view scheme) {
  auto tokenizer = Tokenizer::create(TRY(read_tokenizer_spec(path, scheme)));
  if (!tokenizer) return tl::unexpected(with_context(path, tokenizer.error()));
  return tokenizer;
}

}  // namespace ruv
