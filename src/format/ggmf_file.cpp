// A ggmf file on disk as a ModelFile. It says little more than its tensors: which generation it is
// follows from one that only that generation has, the numbers from their shapes.
#include <algorithm>

#include "base/file.h"
#include "format/ggmf.h"
#include "format/tensor_names.h"
#include "format/tokenizer_file.h"

namespace ruv {
namespace {

constexpr double kNormEps = 1e-5;
// The file does not say it, and nothing depends on a token's place.
constexpr int64_t kAnyContext = int64_t{1} << 20;

std::string folder_around(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

class GgmfFile final : public ModelFile {
 public:
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path,
                                                 const ModelFileOptions& options);

  Result<TokenizerSpec> tokenizer_spec() const override {
    return read_tokenizer_spec(folder_around(path_));
  }
  std::string chat_template() const override { return {}; }
  std::string shown_tensor(std::string_view name) const override {
    const auto known = names_.find(name);
    return known != names_.end() ? known->second : std::string(name);
  }

 private:
  const TensorInfo* stored(const GgmfContents& contents, std::string_view name) const {
    for (const TensorInfo& tensor : contents.tensors) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
  Status choose_family(const GgmfContents& contents);
  Status set_numbers(const GgmfContents& contents);
  void set(std::string_view key, MetaValue value) {
    metadata_.insert_or_assign(fmt::format("{}.{}", architecture_, key), std::move(value));
  }

  std::map<std::string, std::string, std::less<>> names_;  // of the file, by GGUF name
};

Status GgmfFile::choose_family(const GgmfContents& contents) {
  for (const FamilyRecord* const family : families()) {
    if (family->ggmf.sign.empty() || stored(contents, family->ggmf.sign) == nullptr) continue;
    family_ = family;
    architecture_ = family->name;
    metadata_.insert_or_assign("general.architecture", architecture_);
    return {};
  }
  return fail(Code::unsupported, "{}: its tensors are of no generation that is supported", path_);
}

Status GgmfFile::set_numbers(const GgmfContents& contents) {
  const GgmfShapes& shapes = family_->ggmf;
  set("block_count", contents.n_layers);
  set("embedding_length", contents.n_embd);
  set("vocab_size", contents.n_vocab);
  set("context_length", kAnyContext);
  set("attention.layer_norm_epsilon", kNormEps);
  const TensorInfo* const key = stored(contents, "blocks.0.ffn.key.weight");
  if (key == nullptr) {
    return fail(Code::not_found, "{}: tensor 'blocks.0.ffn.key.weight' is missing", path_);
  }
  set("feed_forward_length", key->shape.front());
  if (shapes.heads.empty()) return {};
  const TensorInfo* const heads = stored(contents, shapes.heads);
  if (heads == nullptr) {
    return fail(Code::not_found, "{}: tensor '{}' is missing", path_, shapes.heads);
  }
  // One row for each head.
  set("wkv.head_size", heads->n_elements() / heads->shape.front());
  return {};
}

Result<std::unique_ptr<ModelFile>> GgmfFile::open(const std::string& path,
                                                  const ModelFileOptions& options) {
  auto file = std::make_unique<GgmfFile>();
  file->path_ = path;
  file->container_ = "ggmf";
  file->files_.push_back(TRY(MappedFile::open(path)));
  GgmfContents contents = TRY(parse_ggmf(file->files_.back().bytes(), path));
  TRY(file->choose_family(contents));
  TRY(file->set_numbers(contents));
  const TensorNames names(file->family_);
  for (TensorInfo& tensor : contents.tensors) {
    if (std::ranges::count(options.ignored_keys, tensor.name) > 0) {
      file->ignored_keys_.push_back(tensor.name);
      continue;
    }
    MappedName name = names.gguf_of(tensor.name);
    file->names_.emplace(name.gguf, tensor.name);
    tensor.name = std::move(name.gguf);
    file->tensors_.push_back(std::move(tensor));
  }
  TRY(file->index_tensors());
  return file;
}

}  // namespace

Result<std::unique_ptr<ModelFile>> open_ggmf(const std::string& path,
                                             const ModelFileOptions& options) {
  return GgmfFile::open(path, options);
}

}  // namespace ruv
