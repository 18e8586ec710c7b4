// A folder of a HuggingFace checkpoint as a ModelFile: config.json gives the numbers, one or more
// safetensors files the tensors under their GGUF names.
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/file.h"
#include "family/word_list.h"
#include "format/foreign/foreign.h"
#include "format/hf_config.h"
#include "format/hf_sampling.h"
#include "format/other_containers.h"
#include "format/safetensors.h"
#include "format/tensor_names.h"
#include "format/tensor_parts.h"
#include "format/tokenizer_file.h"

namespace ruv {
namespace {

constexpr size_t kMaxTemplateFileBytes = size_t{64} << 20;

std::string in_folder(const std::string& folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

class SafetensorsFile final : public ModelFile {
 public:
  static Result<std::unique_ptr<ModelFile>> open(const std::string& folder,
                                                 const ModelFileOptions& options);

  Result<TokenizerSpec> tokenizer_spec() const override;
  std::string chat_template() const override { return chat_template_; }
  std::string response_template() const override { return response_template_; }
  std::string shown_tensor(std::string_view name) const override;

 private:
  Status read_config(const ModelFileOptions& options);
  Result<bool> read_parallel_heads();
  Status read_files();
  Status read_quantized();
  Status read_shards(const std::string& index_path);
  Result<std::set<std::string>> add_file(const std::string& path);
  void count_layers_ahead();
  Status add_tensors();
  bool has_experts() const { return integer("expert_count").value_or(0) > 0; }
  Status add_tensor(const TensorNames& names, SafetensorsTensor&& stored, const std::string& path);
  Status join_mx_tensors();
  void read_width();
  void add_parts(TensorInfo tensor, const MappedName& name, const std::string& stored_name);
  void leave_out(std::string name);
  void remark_on_left_out();
  Status check_output();
  Status check_vocabulary() const;
  Status check_embedding_copies() const;
  Status read_chat_template();
  Status read_response_template();

  HfConfig config_;
  std::vector<std::string> names_to_ignore_;
  bool tables_only_ = false;
  // What the files hold, in order, with their paths, until it is added.
  StoredTensors stored_;
  int64_t n_ahead_ = 0;  // layers that predict further tokens
  std::vector<std::string> left_out_;
  // Halves of MXFP4 tensors, by GGUF name.
  struct MxHalves {
    MappedName name;
    std::optional<SafetensorsTensor> codes, scales;
  };
  std::map<std::string, MxHalves> mx_halves_;
  std::vector<SafetensorsTensor> embedding_copies_;
  std::map<std::string, std::string, std::less<>> hf_names_;  // by GGUF name
  std::string chat_template_, response_template_;
};

Result<std::unique_ptr<ModelFile>> SafetensorsFile::open(const std::string& folder,
                                                         const ModelFileOptions& options) {
  auto file = std::make_unique<SafetensorsFile>();
  file->path_ = folder;
  file->container_ = "safetensors";
  TRY(file->read_config(options));
  TRY(file->read_files());
  TRY(file->read_quantized());
  file->count_layers_ahead();
  TRY(file->add_tensors());
  TRY(file->join_mx_tensors());
  file->read_width();
  file->remark_on_left_out();
  TRY(file->read_chat_template());
  TRY(file->read_response_template());
  TRY(file->index_tensors());
  if (!file->config_.names.empty() && file->faults_.empty()) {
    file->faults_.add(file->check_output());
    file->faults_.add(file->check_vocabulary());
    file->faults_.add(file->check_embedding_copies());
  }
  return file;
}

Result<TokenizerSpec> SafetensorsFile::tokenizer_spec() const {
  TokenizerSpec spec = TRY(read_tokenizer_spec(path_));
  // A table has nothing for a text's ends, whatever the tokenizer that it was made with puts there.
  if (family_ != nullptr && !family_->block.has_layers) spec.add_bos = spec.add_eos = false;
  return spec;
}

std::string SafetensorsFile::shown_tensor(std::string_view name) const {
  const auto known = hf_names_.find(name);
  if (known != hf_names_.end()) return known->second;
  if (config_.parallel.n > 0) return config_.parallel.hf_of(name);
  return TensorNames(family_, has_experts()).hf_of(name).value_or(std::string(name));
}

Status SafetensorsFile::read_config(const ModelFileOptions& options) {
  const std::string path = in_folder(path_, "config.json");
  if (!file_exists(path) && file_exists(in_folder(path_, "adapter_config.json"))) {
    return fail(Code::unsupported,
                "{}: an adapter (LoRA), not a model: it has adapter_config.json and no "
                "config.json; give it as --lora beside its model",
                path_);
  }
  if (!file_exists(path)) {
    return fail(Code::not_found,
                "{}: no config.json; a model is a GGUF file, or a folder with config.json and "
                "model.safetensors",
                path_);
  }
  const MappedFile text = TRY(MappedFile::open(path));
  config_ = TRY(parse_hf_config(as_text(text.bytes()), path, options.ignored_keys));
  architecture_ = config_.architecture;
  metadata_ = config_.metadata;
  key_names_ = config_.names;
  family_ = config_.family;
  hf_class_ = config_.hf;
  faults_ = config_.faults;
  remarks_ = config_.remarks;
  read_generation_config(path_, metadata_, remarks_);
  ignored_keys_ = config_.ignored;
  names_to_ignore_ = options.ignored_keys;
  tables_only_ = options.tables_only;
  return {};
}

// The weights of heads that read the same state, whose file has a name of its own. False: there is
// none.
Result<bool> SafetensorsFile::read_parallel_heads() {
  constexpr std::string_view kName = "medusa_lm_head";
  if (config_.parallel.n == 0) return false;
  const std::string own = in_folder(path_, fmt::format("{}.safetensors", kName));
  if (file_exists(own)) {
    TRY(add_file(own));
    return true;
  }
  const bool is_pickle = file_exists(in_folder(path_, fmt::format("{}.pt", kName)));
  if (!is_pickle || file_exists(in_folder(path_, "model.safetensors"))) return false;
  faults_.add(fail(Code::unsupported,
                   "{}: {}.pt is a pickle, and those are not read: convert it to "
                   "{}.safetensors first",
                   path_, kName, kName));
  return true;
}

Status SafetensorsFile::read_files() {
  if (TRY(read_parallel_heads())) return {};
  const std::string single = in_folder(path_, "model.safetensors");
  const std::string index = in_folder(path_, "model.safetensors.index.json");
  if (file_exists(single)) {
    TRY(add_file(single));
    return {};
  }
  if (file_exists(index)) return read_shards(index);
  for (const std::string_view pickle :
       {"pytorch_model.bin", "pytorch_model.bin.index.json", "consolidated.00.pth", "model.pt"}) {
    if (!file_exists(in_folder(path_, pickle))) continue;
    const std::string_view first =
        pickle.ends_with(".json") ? "pytorch_model-00001-of-0000N.bin" : pickle;
    faults_.add(fail(Code::unsupported,
                     "{}: '{}' is a pickle of PyTorch, which may run code and is not read; make "
                     "safetensors of it, each part by itself: {}",
                     path_, pickle, command_for_pickle(first)));
    return {};
  }
  faults_.add(fail(Code::not_found,
                   "{}: neither model.safetensors nor model.safetensors.index.json; convert "
                   "PyTorch files to safetensors first",
                   path_));
  return {};
}

// Matrices that another tool has quantised become tensors of their ordinary names. Where the config
// does not say how, a file of the tool beside it may.
Status SafetensorsFile::read_quantized() {
  const bool is_said = config_.foreign.has_value() || !faults_.empty() ||
                       std::ranges::count(names_to_ignore_, "quantization_config") > 0;
  for (const ForeignFile& known : foreign_config_files()) {
    const std::string path = in_folder(path_, known.name);
    if (is_said || config_.foreign || !file_exists(path)) continue;
    const MappedFile text = TRY(MappedFile::open(path));
    const Json json = TRY(parse_foreign_file(as_text(text.bytes()), path, known.method));
    if (!is_foreign_method(json)) continue;
    Result<ForeignConfig> config =
        parse_foreign_config(Members(json, path), std::string(known.name));
    if (!config) return faults_.keep_unsupported(config.error());
    config_.foreign = std::move(*config);
  }
  if (!config_.foreign) return {};
  return faults_.keep_unsupported(read_foreign_tensors(*config_.foreign, stored_, remarks_));
}

Status SafetensorsFile::read_shards(const std::string& index_path) {
  const MappedFile text = TRY(MappedFile::open(index_path));
  const auto weight_map = TRY(parse_safetensors_index(as_text(text.bytes()), index_path));
  std::map<std::string, std::set<std::string>> names_in;
  for (const auto& [tensor, file] : weight_map) {
    auto names = names_in.find(file);
    if (names == names_in.end()) {
      names = names_in.emplace(file, TRY(add_file(in_folder(path_, file)))).first;
    }
    if (!names->second.contains(tensor)) {
      return fail(Code::corrupt, "{}: tensor '{}' is not in '{}'", index_path, quoted_name(tensor),
                  quoted_name(file));
    }
  }
  return {};
}

// Maps a file and finds its tensors; returns their names in the file.
Result<std::set<std::string>> SafetensorsFile::add_file(const std::string& path) {
  files_.push_back(TRY(MappedFile::open(path)));
  std::vector<SafetensorsTensor> stored = TRY(parse_safetensors(files_.back().bytes(), path));
  std::set<std::string> names;
  for (const SafetensorsTensor& tensor : stored) {
    if (!names.insert(tensor.name).second) {
      return fail(Code::corrupt, "{}: header: tensor '{}' appears twice", path,
                  quoted_name(tensor.name));
    }
  }
  stored_.emplace_back(path, std::move(stored));
  return names;
}

// Checkpoints have them or not, whatever the config says. The keys are then those that a GGUF file
// of the model has.
void SafetensorsFile::count_layers_ahead() {
  const Result<int64_t> n_layers = integer("block_count");
  if (family_ == nullptr || !may_predict_ahead(*family_) || !n_layers) return;
  std::set<std::string> names;
  for (const auto& [path, tensors] : stored_) {
    for (const SafetensorsTensor& tensor : tensors) {
      names.insert(name_of_ahead(tensor.name, *n_layers));
    }
  }
  const auto is_there = [&](int64_t layer) {
    return names.contains(fmt::format("model.layers.{}.eh_proj.weight", layer));
  };
  while (is_there(*n_layers + n_ahead_)) ++n_ahead_;
  if (n_ahead_ == 0) return;
  metadata_[architecture_ + ".block_count"] = *n_layers + n_ahead_;
  metadata_[architecture_ + ".nextn_predict_layers"] = n_ahead_;
  const auto counts = metadata_.find(architecture_ + ".attention.head_count_kv");
  if (counts == metadata_.end()) return;
  const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(&counts->second);
  if (array == nullptr || (*array)->integers.empty()) return;
  // By layer: these attend.
  MetaArray all = **array;
  all.integers.insert(all.integers.end(), static_cast<size_t>(n_ahead_),
                      std::ranges::max(all.integers));
  counts->second = std::make_shared<const MetaArray>(std::move(all));
}

Status SafetensorsFile::add_tensors() {
  const TensorNames names_of_family(family_, has_experts());
  for (auto& [path, tensors] : stored_) {
    for (SafetensorsTensor& tensor : tensors) {
      TRY(add_tensor(names_of_family, std::move(tensor), path));
    }
  }
  stored_.clear();
  return {};
}

Status SafetensorsFile::add_tensor(const TensorNames& names, SafetensorsTensor&& stored,
                                   const std::string& path) {
  if (is_ignored_hf_tensor(stored.name)) return {};
  if (std::ranges::count(names_to_ignore_, stored.name) > 0) {
    ignored_keys_.push_back(stored.name);
    return {};
  }
  if (family_ != nullptr && is_word_of(family_->refused_tensors, stored.name)) {
    faults_.add(fail(Code::unsupported, "{}: tensor '{}' is not supported in this family", path,
                     quoted_name(stored.name)));
    return {};
  }
  if (family_ != nullptr && is_word_of(family_->embedding_copies, stored.name)) {
    embedding_copies_.push_back(std::move(stored));
    return {};
  }
  const int64_t n_layers = integer("block_count").value_or(0) - n_ahead_;
  MappedName name =
      names.gguf_of(n_ahead_ > 0 ? name_of_ahead(stored.name, n_layers) : stored.name);
  if (config_.parallel.is_behind(stored.name)) {
    leave_out(std::move(stored.name));
    return {};
  }
  std::string head = config_.parallel.gguf_of(stored.name);
  if (head.empty()) head = config_.classifier_tensor(stored.name);
  if (!head.empty()) {
    name = {.gguf = std::move(head), .other = {}, .form = {}, .mapped = true};
  } else if (!config_.names.empty() && (!name.mapped || !config_.has_tensor(name.gguf, n_ahead_))) {
    // Drafting heads differ by their tensors; this one only repeats another.
    if (family_ != nullptr && family_->is_draft_head) {
      if (stored.name == "t2d") return {};
      faults_.add(fail(Code::unsupported, "{}: tensor '{}' has no role in such a drafting head",
                       path, quoted_name(stored.name)));
      return {};
    }
    leave_out(std::move(stored.name));
    return {};
  }
  if (name.form.mx != MxPart::none) {
    MxHalves& halves = mx_halves_[name.gguf];
    (name.form.mx == MxPart::codes ? halves.codes : halves.scales) = std::move(stored);
    if (name.form.mx == MxPart::codes) halves.name = std::move(name);
    return {};
  }
  // What only a drafting head needs keeps no model from running.
  const bool is_ahead = n_ahead_ > 0 && !config_.has_tensor(name.gguf);
  if (!stored.dtype && is_ahead) {
    leave_out(std::move(stored.name));
    return {};
  }
  if (!stored.dtype) {
    const Status why = fail(Code::unsupported, "{}: tensor '{}': dtype {} is not supported", path,
                            quoted_name(stored.name), stored.dtype_name);
    faults_.add(why);
    unread_.emplace(std::move(name.gguf), why);
    return {};
  }
  TensorInfo tensor{.name = name.gguf,
                    .dtype = *stored.dtype,
                    .shape = std::move(stored.shape),
                    .bytes = stored.bytes,
                    .maker = std::move(stored.maker)};
  add_parts(std::move(tensor), name, stored.name);
  return {};
}

void SafetensorsFile::add_parts(TensorInfo tensor, const MappedName& name,
                                const std::string& stored_name) {
  hf_names_.emplace(name.gguf, stored_name);
  if (!name.other.empty()) hf_names_.emplace(name.other, stored_name);
  tensor.name = name.gguf;
  const Result<int64_t> n_experts = integer("expert_count");
  for (TensorInfo& part : parts_of(std::move(tensor), name, n_experts.value_or(0))) {
    tensors_.push_back(std::move(part));
  }
}

Status SafetensorsFile::join_mx_tensors() {
  for (const auto& [gguf_name, halves] : mx_halves_) {
    if (!halves.codes || !halves.scales) {
      const SafetensorsTensor& there = halves.codes ? *halves.codes : *halves.scales;
      return fail(Code::corrupt, "{}: tensor '{}': its {} are missing", path_,
                  quoted_name(there.name), halves.codes ? "scales" : "codes");
    }
    Result<TensorInfo> joined = joined_mxfp4(*halves.codes, *halves.scales);
    if (!joined) {
      return fail(Code::corrupt, "{}: tensor '{}': {}", path_, quoted_name(halves.codes->name),
                  joined.error().message());
    }
    add_parts(std::move(*joined), halves.name, halves.codes->name);
  }
  return {};
}

// A model that is its table has no key for its width.
void SafetensorsFile::read_width() {
  const std::string key = architecture_ + ".embedding_length";
  if (family_ == nullptr || family_->block.has_layers || metadata_.contains(key)) return;
  const auto is_matrix = [](const TensorInfo& tensor) { return tensor.shape.size() == 2; };
  const auto found = std::ranges::find_if(tensors_, is_matrix);
  if (found != tensors_.end()) metadata_[key] = found->shape[1];
}

void SafetensorsFile::leave_out(std::string name) { left_out_.push_back(std::move(name)); }

// As in transformers, tensors that the model class does not define are not used.
void SafetensorsFile::remark_on_left_out() {
  if (left_out_.empty()) return;
  constexpr size_t kNamed = 4;
  std::string names;
  for (size_t i = 0; i < std::min(left_out_.size(), kNamed); ++i) {
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", quoted_name(left_out_[i]));
  }
  if (left_out_.size() > kNamed) names += fmt::format(" and {} more", left_out_.size() - kNamed);
  remarks_.push_back(fmt::format("the model class does not use tensors of the file: {}", names));
}

// An output matrix of the file counts even where the config ties it to the embedding (as in
// transformers 5; version 4 took the embedding); a copy of the embedding is not kept twice.
Status SafetensorsFile::check_output() {
  const TensorInfo* const output = find_tensor("output.weight");
  const TensorInfo* const embedding = find_tensor("token_embd.weight");
  const bool writes =
      family_ == nullptr ||
      (family_->block.has_layers && !family_->block.bidirectional && !family_->is_draft_head);
  const std::string without = fmt::format("{}.without_output", architecture_);
  if (writes && config_.classifier != nullptr) return {};
  if (writes && output == nullptr && !config_.tied_embeddings && metadata_.contains(without)) {
    remarks_.push_back(fmt::format(
        "tensor 'lm_head.weight' is missing, and '{}' is false: the model makes vectors of texts "
        "and writes none",
        shown_key("tie_word_embeddings")));
    return {};
  }
  metadata_.erase(without);
  if (!writes) return {};
  if (output == nullptr && !config_.tied_embeddings) {
    return fail(Code::not_found, "{}: tensor 'lm_head.weight' is missing, and '{}' is false", path_,
                shown_key("tie_word_embeddings"));
  }
  const bool may_be_equal = output != nullptr && embedding != nullptr && config_.tied_embeddings;
  if (!may_be_equal || tables_only_) return {};
  const bool same =
      output->dtype == embedding->dtype && output->shape == embedding->shape &&
      std::memcmp(output->bytes.data(), embedding->bytes.data(), output->bytes.size()) == 0;
  if (!same) {
    if (config_.hf->always_tied) return {};
    remarks_.push_back(
        fmt::format("'{}' is true, but tensor '{}' differs from the embedding; it is "
                    "used, as by transformers 5",
                    shown_key("tie_word_embeddings"), shown_tensor("output.weight")));
    return {};
  }
  const auto at = tensor_index_.find("output.weight")->second;
  tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(at));
  tensor_index_.clear();
  return index_tensors();
}

Status SafetensorsFile::check_vocabulary() const {
  const TensorInfo* const embedding = find_tensor("token_embd.weight");
  const Result<int64_t> n_vocab = integer("vocab_size");
  if (embedding == nullptr || !n_vocab || embedding->shape.empty()) return {};
  if (embedding->shape[0] == *n_vocab) return {};
  return fail(Code::corrupt, "{}: tensor '{}' has {} rows, but '{}' is {}", path_,
              shown_tensor("token_embd.weight"), embedding->shape[0], shown_key("vocab_size"),
              *n_vocab);
}

// Classes tie them to the embedding, unless a file has other numbers there.
Status SafetensorsFile::check_embedding_copies() const {
  const TensorInfo* const embedding = find_tensor("token_embd.weight");
  if (embedding == nullptr || tables_only_) return {};
  for (const SafetensorsTensor& copy : embedding_copies_) {
    const bool same = copy.dtype == embedding->dtype && copy.shape == embedding->shape &&
                      std::ranges::equal(copy.bytes, embedding->bytes);
    if (same) continue;
    return fail(Code::unsupported, "{}: tensor '{}' differs from '{}'", path_,
                quoted_name(copy.name), shown_tensor("token_embd.weight"));
  }
  return {};
}

// A member of a JSON file, read without building the rest.
class JsonFileMember {
 public:
  JsonFileMember(std::string path, std::string_view name) : path_(std::move(path)), name_(name) {}

  // Whether the file has it and it is not null. Fails: corrupt.
  Result<bool> find() {
    const MappedFile file = TRY(MappedFile::open(path_));
    if (file.bytes().size() > kMaxTemplateFileBytes) return broken("the file is above 64 MB");
    padded_ = simdjson::padded_string(as_text(file.bytes()));
    TRY(file.check_read());
    if (const auto error = parser_.iterate(padded_).get(document_)) return broken(error);
    const auto missing = document_[name_].get(value_);
    if (missing == simdjson::NO_SUCH_FIELD) return false;
    if (missing) return broken(missing);
    simdjson::ondemand::json_type type;
    if (const auto error = value_.type().get(type)) return broken(error);
    return type != simdjson::ondemand::json_type::null;
  }
  // Requires: it was found. Valid as long as the object.
  simdjson::ondemand::value& value() { return value_; }

  tl::unexpected<Status> broken(std::string_view what) const {
    return fail(Code::corrupt, "{}: {}: {}", path_, name_, what);
  }
  tl::unexpected<Status> broken(simdjson::error_code error) const {
    return broken(std::string_view(simdjson::error_message(error)));
  }

 private:
  std::string path_;
  std::string_view name_;
  simdjson::padded_string padded_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  simdjson::ondemand::value value_;
};

// The text of "chat_template": a text, or a list of named ones of which "default" counts. Empty
// when there is none.
Result<std::string> template_in(const std::string& path) {
  JsonFileMember member(path, "chat_template");
  if (!TRY(member.find())) return std::string();
  std::string_view text;
  if (!member.value().get_string().get(text)) return std::string(text);
  simdjson::ondemand::array named;
  if (member.value().get_array().get(named)) return std::string();
  for (auto element : named) {
    std::string_view name;
    if (element["name"].get_string().get(name)) return member.broken("a template has no name");
    if (name != "default") continue;
    if (element["template"].get_string().get(text)) return member.broken("no text");
    return std::string(text);
  }
  return std::string();
}

// The places in the order that transformers looks at them.
Status SafetensorsFile::read_chat_template() {
  const std::string plain = in_folder(path_, "chat_template.jinja");
  if (file_exists(plain)) {
    const MappedFile file = TRY(MappedFile::open(plain));
    if (file.bytes().size() > kMaxTemplateFileBytes) {
      return fail(Code::corrupt, "{}: above 64 MB", plain);
    }
    chat_template_ = as_text(file.bytes());
    return file.check_read();
  }
  for (const std::string_view name : {"chat_template.json", "tokenizer_config.json"}) {
    const std::string path = in_folder(path_, name);
    if (!file_exists(path) || !chat_template_.empty()) continue;
    chat_template_ = TRY(template_in(path));
  }
  return {};
}

// Its JSON, unchanged; null counts as none.
Status SafetensorsFile::read_response_template() {
  const std::string path = in_folder(path_, "tokenizer_config.json");
  if (!file_exists(path)) return {};
  JsonFileMember member(path, "response_template");
  if (!TRY(member.find())) return {};
  simdjson::ondemand::object object;
  std::string_view text;
  if (member.value().get_object().get(object)) return member.broken("it must be an object");
  if (const auto error = object.raw_json().get(text)) return member.broken(error);
  response_template_ = text.substr(0, text.rfind('}') + 1);  // it brings the spaces that follow
  return {};
}

}  // namespace

Result<std::unique_ptr<ModelFile>> open_safetensors(const std::string& folder,
                                                    const ModelFileOptions& options) {
  return SafetensorsFile::open(folder, options);
}

}  // namespace ruv
