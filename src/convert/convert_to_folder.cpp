// In this order: the tokenizer's files, files of tensors with headers and without numbers, a
// config.json of each class of the family until one says the same as the file, the numbers.
#include "convert/convert_to_folder.h"

#include <algorithm>

#include "base/patch_file.h"
#include "base/worker_pool.h"
#include "convert/config_writer.h"
#include "convert/partial_folder.h"
#include "convert/same_model.h"
#include "convert/shard_layout.h"
#include "convert/tensor_copy.h"
#include "convert/tokenizer_writer.h"
#include "family/word_list.h"
#include "family/written_classes.h"
#include "format/hf_sampling.h"
#include "format/tokenizer_file.h"
#include "model/examine.h"

namespace ruv {
namespace {

constexpr std::string_view kSampling = "general.sampling.";

// A folder that was read again, with how its tensors are made of the file's.
struct ReadBack {
  std::shared_ptr<const Model> model;
  std::vector<SafetensorsTensor> stored = {};  // of all files
  std::vector<StoredRows> rows = {};           // of each
};

// How far a class came before it was refused: the error of the one that came furthest is reported.
enum class Stage : uint8_t { none, config, readable, same, tensors };

// One call: what was read of the source, the folder as far as it is written, and the result.
class FolderWriter {
 public:
  FolderWriter(std::shared_ptr<const Model> source, PartialFolder folder,
               const FolderOptions& options)
      : source_(std::move(source)),
        file_(*source_->file),
        folder_(std::move(folder)),
        options_(options),
        workers_(options.n_threads) {}

  Result<WrittenFolder> write();

 private:
  Status write_tokenizer();
  Status write_sampling();
  Status write_headers();
  Result<ReadBack> fitting_class();
  Result<ReadBack> try_class(const HfClass& hf, Stage& stage);
  Status check_read_back(const Model& read) const;
  Status copy(const ReadBack& back);
  void list_left_out();
  std::string_view dtype_name() const;

  std::shared_ptr<const Model> source_;
  const ModelFile& file_;
  PartialFolder folder_;
  const FolderOptions& options_;
  WorkerPool workers_;
  std::optional<TokenizerSpec> tokenizer_;
  std::vector<FolderTensor> tensors_;
  std::vector<std::string> names_;  // of files of tensors
  WrittenFolder written_;
};

// A file without a tokenizer gives a folder without.
Status FolderWriter::write_tokenizer() {
  Result<TokenizerSpec> spec = file_.tokenizer_spec();
  if (!spec && spec.error().code() == Code::not_found) return {};
  tokenizer_ = TRY(std::move(spec));
  TRY(folder_.write("tokenizer.json", TRY(tokenizer_json_of(*tokenizer_, file_.path()))));
  TRY(folder_.write("tokenizer_config.json", tokenizer_config_of(*tokenizer_, file_.chat_template(),
                                                                 source_->h.n_ctx_train)));
  const TokenizerSpec read = TRY(read_tokenizer_spec(folder_.path()));
  return check_same_tokenizer(*tokenizer_, read, file_.path());
}

// Ids that end an answer, and how tokens are chosen.
Status FolderWriter::write_sampling() {
  Json config = generation_config_of(file_.metadata());
  if (tokenizer_) {
    if (tokenizer_->bos) config["bos_token_id"] = *tokenizer_->bos;
    Json ends = Json::array();
    if (tokenizer_->eos) ends.push_back(*tokenizer_->eos);
    for (const Token id : tokenizer_->end_of_turn) {
      if (id != tokenizer_->eos) ends.push_back(id);
    }
    if (ends.size() == 1) {
      config["eos_token_id"] = Json(ends.front());
    } else if (ends.size() > 1) {
      config["eos_token_id"] = std::move(ends);
    }
    if (tokenizer_->pad) config["pad_token_id"] = *tokenizer_->pad;
  }
  if (config.empty()) return {};
  return folder_.write("generation_config.json", config.dump(2) + "\n");
}

// Files of the final size, whose numbers are zeros that take no room yet.
Status FolderWriter::write_headers() {
  tensors_ = TRY(folder_tensors(file_, options_.dequantized));
  Result<ShardLayout> made = shard_layout(tensors_, options_.shard_bytes);
  if (!made) return with_context(file_.path(), made.error());
  for (const Shard& shard : made->shards) {
    const PatchFile file = TRY(PatchFile::open(folder_.file(shard.name)));
    TRY(file.resize(shard.n_bytes));
    TRY(file.write_at(0, as_bytes(shard.header)));
    names_.push_back(shard.name);
  }
  written_.n_tensors = std::ssize(tensors_);
  written_.n_bytes = made->n_bytes;
  written_.n_files = std::ssize(names_);
  if (made->index.empty()) return {};
  return folder_.write("model.safetensors.index.json", made->index);
}

// The type of the embedding, which is that of most matrices.
std::string_view FolderWriter::dtype_name() const {
  const TensorInfo* const embeddings = file_.find_tensor("token_embd.weight");
  DType dtype = embeddings == nullptr ? DType::f32 : embeddings->dtype;
  if (format_of(dtype).block_size > 1) dtype = options_.dequantized.value_or(DType::f32);
  return dtype == DType::f16 ? "float16" : dtype == DType::bf16 ? "bfloat16" : "float32";
}

// Besides what the model is: keys and texts that lie beside it.
Status FolderWriter::check_read_back(const Model& read) const {
  for (const auto& [key, value] : file_.metadata()) {
    if (!key.starts_with(kSampling)) continue;
    const auto found = read.file->metadata().find(key);
    if (found != read.file->metadata().end() && same_meta_value(value, found->second)) continue;
    return fail(Code::unsupported, "{}: key '{}' cannot be said by a generation_config.json",
                file_.path(), key);
  }
  if (read.file->chat_template() == file_.chat_template()) return {};
  return fail(Code::unsupported, "{}: key 'tokenizer.chat_template' is not text that a JSON holds",
              file_.path());
}

// A config of this class, read again with the tensors.
Result<ReadBack> FolderWriter::try_class(const HfClass& hf, Stage& stage) {
  const Json config = TRY(hf_config_of(*source_, hf, dtype_name()));
  TRY(folder_.write("config.json", config.dump(2) + "\n"));
  stage = Stage::config;
  const ExaminedModel read = examine_model(folder_.path());
  TRY(Status(read.faults.first()));
  stage = Stage::readable;
  TRY(check_same_model(*source_, *read.model));
  TRY(check_read_back(*read.model));
  stage = Stage::same;
  ReadBack back{.model = read.model};
  for (const MappedFile& file : read.model->file->files()) {
    std::vector<SafetensorsTensor> stored = TRY(parse_safetensors(file.bytes(), file.path()));
    std::ranges::move(stored, std::back_inserter(back.stored));
  }
  back.rows = TRY(row_sources(file_, *read.model->file, back.stored));
  stage = Stage::tensors;
  return back;
}

// A family's classes differ in what they can say; the first that says all of it is taken.
Result<ReadBack> FolderWriter::fitting_class() {
  Stage furthest = Stage::none;
  Status why = fail(Code::unsupported,
                    "{}: folders of family {} are not written; docs/converting.md lists those "
                    "that are",
                    file_.path(), source_->family->name);
  bool is_first = true;
  for (const HfClass& hf : source_->family->classes) {
    if (!is_written_class(hf)) continue;
    Stage stage = Stage::none;
    Result<ReadBack> back = try_class(hf, stage);
    if (back) {
      written_.model_class = hf.class_names.substr(0, hf.class_names.find(' '));
      return back;
    }
    if (is_first || stage > furthest) {
      why = back.error();
      furthest = stage;
    }
    is_first = false;
  }
  return tl::unexpected(why);
}

// The file of a tensor is the one whose bytes it lies in.
Status FolderWriter::copy(const ReadBack& back) {
  uint64_t n_done = 0;
  int64_t index = 0;
  for (const MappedFile& mapped : back.model->file->files()) {
    const PatchFile file = TRY(PatchFile::open(mapped.path()));
    const std::byte* const begin = mapped.bytes().data();
    const std::byte* const end = begin + mapped.bytes().size();
    for (const StoredRows& tensor : back.rows) {
      const std::byte* const place = tensor.to->bytes.data();
      if (place < begin || place > end || tensor.to->bytes.empty()) continue;
      const FolderStep step{tensor.to->name, index++, written_.n_tensors, n_done, written_.n_bytes};
      if (options_.on_tensor && !options_.on_tensor(step)) {
        return fail(Code::cancelled, "{}: stopped before tensor '{}'", folder_.path(), step.tensor);
      }
      auto offset = static_cast<uint64_t>(place - begin);
      TRY(copy_tensor(file_, tensor, workers_, [&](Bytes bytes) -> Status {
        TRY(file.write_at(offset, bytes));
        offset += bytes.size();
        n_done += bytes.size();
        return {};
      }));
      file_.drop_pages();
    }
    TRY(file.sync());
  }
  if (n_done == written_.n_bytes) return {};
  return fail(Code::internal, "{}: {} of {} bytes were written", folder_.path(), n_done,
              written_.n_bytes);
}

// Titles, licences and the like, and tokens that a tokenizer's files do not name.
void FolderWriter::list_left_out() {
  constexpr std::string_view kWritten =
      "general.architecture general.alignment general.file_type general.quantization_version "
      "general.type tokenizer.ggml.model tokenizer.ggml.pre tokenizer.ggml.tokens "
      "tokenizer.ggml.token_type tokenizer.ggml.scores tokenizer.ggml.merges "
      "tokenizer.ggml.bos_token_id tokenizer.ggml.eos_token_id tokenizer.ggml.unknown_token_id "
      "tokenizer.ggml.padding_token_id tokenizer.ggml.eot_token_id tokenizer.ggml.eom_token_id "
      "tokenizer.ggml.add_bos_token tokenizer.ggml.add_eos_token tokenizer.ggml.add_space_prefix "
      "tokenizer.ggml.token_type_count tokenizer.chat_template";
  const std::string own = file_.architecture() + ".";
  for (const auto& [key, value] : file_.metadata()) {
    const bool is_written = is_word_of(kWritten, key) || key.starts_with(own) ||
                            key.starts_with(kSampling) || key.starts_with("split.") ||
                            key.starts_with("quantize.");
    if (!is_written) written_.left_out.push_back(key);
  }
}

Result<WrittenFolder> FolderWriter::write() {
  TRY(write_headers());
  TRY(write_tokenizer());
  TRY(write_sampling());
  const ReadBack back = TRY(fitting_class());
  TRY(copy(back));
  list_left_out();
  TRY(folder_.commit());
  return std::move(written_);
}

// What no folder is made of, whatever its family is.
Status check_source(const ExaminedModel& source, const std::string& path) {
  TRY(Status(source.faults.first()));
  const ModelFile& file = *source.model->file;
  if (file.container() != "gguf") {
    return fail(Code::invalid, "{}: not a GGUF file, which is what a folder is made of", path);
  }
  if (source.model->family->is_draft_head || source.model->head != nullptr ||
      source.model->h.n_ahead > 0) {
    return fail(Code::unsupported, "{}: layers that draft are not written to folders", path);
  }
  if (source.model->classifier != nullptr) {
    return fail(Code::unsupported, "{}: classifiers are not written to folders", path);
  }
  if (!file.unread().empty()) return file.unread().begin()->second;
  return {};
}

}  // namespace

Result<WrittenFolder> convert_to_folder(const std::string& in_path, const std::string& out_path,
                                        const FolderOptions& options) {
  if (options.n_threads < 0) {
    return fail(Code::invalid, "n_threads is {}; give 0 for one per core", options.n_threads);
  }
  ExaminedModel source = examine_model(in_path);
  TRY(check_source(source, in_path));
  std::vector<FileId> ids;
  for (const MappedFile& file : source.model->file->files()) ids.push_back(file.id());
  PartialFolder folder = TRY(PartialFolder::create(out_path, options.replace, ids));
  return FolderWriter(source.model, std::move(folder), options).write();
}

}  // namespace ruv
