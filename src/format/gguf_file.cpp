// A GGUF file on disk as a ModelFile: maps it and, when it is the first of splits, its siblings
// "<stem>-00001-of-0000N.gguf" … "<stem>-0000N-of-0000N.gguf".
#include "base/file.h"
#include "format/gguf.h"
#include "format/gguf_keys.h"
#include "format/gguf_vocab.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

class GgufFile final : public ModelFile {
 public:
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path,
                                                 const ModelFileOptions& options);

  Result<TokenizerSpec> tokenizer_spec() const override {
    return tokenizer_spec_from_metadata(metadata_, path_);
  }
  std::string chat_template() const override {
    const auto found = metadata_.find(kTemplateKey);
    if (found == metadata_.end()) return {};
    const auto* text = std::get_if<std::string>(&found->second);
    return text == nullptr ? std::string() : *text;
  }

 private:
  Result<GgufContents> add_part(const std::string& path);
  Status add_splits(uint64_t n_splits);
  void take_tensors(GgufContents& contents);
  void take_away(const ModelFileOptions& options);
};

// The optional integer of a split key, checked to be 0 … 65535 as the u16 it is written as.
Result<uint64_t> split_value(const MetaMap& metadata, std::string_view key, uint64_t otherwise,
                             const std::string& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return otherwise;
  const auto* value = std::get_if<int64_t>(&found->second);
  if (value == nullptr || *value < 0 || *value > 0xFFFF) {
    return fail(Code::corrupt, "{}: metadata '{}': not an integer from 0 to 65535", path, key);
  }
  return static_cast<uint64_t>(*value);
}

std::string split_ending(uint64_t number, uint64_t n_splits) {
  return fmt::format("-{:05}-of-{:05}.gguf", number, n_splits);
}

// The path of split `number` (from 1) given the path of another; empty when the file is not named
// as split `own`.
std::string sibling(const std::string& path, uint64_t own, uint64_t number, uint64_t n_splits) {
  const std::string ending = split_ending(own, n_splits);
  if (!path.ends_with(ending)) return {};
  return path.substr(0, path.size() - ending.size()) + split_ending(number, n_splits);
}

Result<GgufContents> GgufFile::add_part(const std::string& path) {
  files_.push_back(TRY(MappedFile::open(path)));
  return parse_gguf(files_.back().bytes(), path);
}

void GgufFile::take_tensors(GgufContents& contents) {
  for (TensorInfo& tensor : contents.tensors) tensors_.push_back(std::move(tensor));
  unread_.merge(contents.unread);
}

void GgufFile::take_away(const ModelFileOptions& options) {
  for (const std::string& key : options.ignored_keys) {
    const size_t n_tensors =
        std::erase_if(tensors_, [&](const TensorInfo& tensor) { return tensor.name == key; });
    const size_t n_unread = unread_.erase(key);
    const bool is_kept = key == "general.architecture" || key.starts_with("split.");
    if (n_tensors + n_unread + (is_kept ? 0 : metadata_.erase(key)) > 0)
      ignored_keys_.push_back(key);
  }
}

Status GgufFile::add_splits(uint64_t n_splits) {
  for (uint64_t number = 2; number <= n_splits; ++number) {
    const std::string path = sibling(path_, 1, number, n_splits);
    if (path.empty()) {
      return fail(Code::invalid, "{}: first of {} split files, so its name must end in '{}'", path_,
                  n_splits, split_ending(1, n_splits));
    }
    GgufContents contents = TRY(add_part(path));
    const uint64_t own = TRY(split_value(contents.metadata, "split.no", 0, path));
    const uint64_t count = TRY(split_value(contents.metadata, "split.count", 0, path));
    if (own != number - 1 || count != n_splits) {
      return fail(Code::corrupt, "{}: says it is split {} of {}, expected {} of {}", path, own + 1,
                  count, number, n_splits);
    }
    take_tensors(contents);
  }
  const auto total = metadata_.find("split.tensors.count");
  if (total == metadata_.end()) return {};
  const auto* n_tensors = std::get_if<int64_t>(&total->second);
  const size_t n_found = tensors_.size() + unread_.size();
  if (n_tensors == nullptr || *n_tensors != static_cast<int64_t>(n_found)) {
    return fail(Code::corrupt,
                "{}: metadata 'split.tensors.count' differs from the {} tensors of {} files", path_,
                n_found, n_splits);
  }
  return {};
}

Result<std::unique_ptr<ModelFile>> GgufFile::open(const std::string& path,
                                                  const ModelFileOptions& options) {
  auto file = std::make_unique<GgufFile>();
  file->path_ = path;
  file->container_ = "gguf";
  GgufContents contents = TRY(file->add_part(path));
  const uint64_t n_splits = TRY(split_value(contents.metadata, "split.count", 1, path));
  const uint64_t split = TRY(split_value(contents.metadata, "split.no", 0, path));
  if (split != 0) {
    const std::string first = sibling(path, split + 1, 1, n_splits);
    return fail(Code::invalid, "{}: split {} of {}; open the first one instead: {}", path,
                split + 1, n_splits, first.empty() ? split_ending(1, n_splits) : first);
  }
  const auto architecture = contents.metadata.find("general.architecture");
  const auto* name = architecture == contents.metadata.end()
                         ? nullptr
                         : std::get_if<std::string>(&architecture->second);
  if (name == nullptr || name->empty() || quoted_name(*name) != *name) {
    return fail(Code::corrupt, "{}: metadata 'general.architecture' is missing or not a short text",
                path);
  }
  file->architecture_ = *name;
  file->family_ = find_family(*name);
  file->metadata_ = std::move(contents.metadata);
  file->take_tensors(contents);
  if (n_splits > 1) TRY(file->add_splits(n_splits));
  file->take_away(options);
  TRY(file->index_tensors());
  for (const auto& [tensor, why] : file->unread_) file->faults_.add(why);
  file->faults_.add(check_gguf_keys(file->metadata_, file->architecture_, path));
  return file;
}

}  // namespace

Result<std::unique_ptr<ModelFile>> open_gguf(const std::string& path,
                                             const ModelFileOptions& options) {
  return GgufFile::open(path, options);
}

}  // namespace ruv
