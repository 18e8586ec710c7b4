// Tensors are found by where they lie: a tensor of the model is a part of one of the checkpoint,
// whatever either calls it, and what training changed replaces those numbers.
#include "train/write_checkpoint.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/json_writer.h"
#include "format/safetensors.h"

namespace ruv {
namespace {

constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kConfig = "config.json";
// Beside them, what transformers has in such a folder that does not depend on the weights.
constexpr std::string_view kCopied[] = {"generation_config.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "vocab.txt",
                                        "merges.txt",
                                        "tokenizer.model",
                                        "spiece.model",
                                        "sentencepiece.bpe.model",
                                        "chat_template.jinja",
                                        "chat_template.json",
                                        "modules.json",
                                        "sentence_bert_config.json",
                                        "preprocessor_config.json",
                                        "processor_config.json",
                                        "LICENSE"};
constexpr int64_t kNumbersAtOnce = int64_t{1} << 20;
constexpr float kMostOfF16 = 65504.0F;

struct TypeNames {
  DType dtype;
  std::string_view in_file, in_config;
};
constexpr TypeNames kTypeNames[] = {{DType::f32, "F32", "float32"},
                                    {DType::f16, "F16", "float16"},
                                    {DType::bf16, "BF16", "bfloat16"}};

const TypeNames* names_of(DType dtype) {
  const auto found = std::ranges::find(kTypeNames, dtype, &TypeNames::dtype);
  return found == std::end(kTypeNames) ? nullptr : found;
}

// Numbers that replace some of a tensor's.
struct Replaced {
  int64_t begin = 0;
  const TrainedTensor* by = nullptr;
};

// A tensor of the checkpoint, and what of it was trained.
struct OutTensor {
  SafetensorsTensor stored;
  std::vector<Replaced> replaced = {};
  DType dtype = DType::f32;  // where something is replaced

  int64_t n_numbers() const {
    int64_t n = 1;
    for (const int64_t length : stored.shape) n *= length;
    return n;
  }
  uint64_t n_bytes() const {
    return replaced.empty() ? stored.bytes.size()
                            : static_cast<uint64_t>(format_of(dtype).bytes_of(n_numbers()));
  }
  std::string_view type_name() const {
    return replaced.empty() ? stored.dtype_name : names_of(dtype)->in_file;
  }
};

Result<std::vector<OutTensor>> stored_tensors(const ModelFile& file) {
  std::vector<OutTensor> tensors;
  for (const MappedFile& part : file.files()) {
    for (SafetensorsTensor& tensor : TRY(parse_safetensors(part.bytes(), part.path()))) {
      tensors.push_back({std::move(tensor)});
    }
  }
  std::ranges::sort(tensors, {}, [](const OutTensor& t) { return t.stored.bytes.data(); });
  return tensors;
}

// Finds where the trained tensor lies.
Status replace(const ModelFile& file, const TrainedTensor& trained, DType dtype,
               std::vector<OutTensor>& tensors) {
  const TensorInfo& info = *file.find_tensor(trained.name);
  const auto after = std::ranges::upper_bound(
      tensors, info.bytes.data(), {}, [](const OutTensor& t) { return t.stored.bytes.data(); });
  const bool is_plain = info.steps.empty() && info.maker == nullptr && after != tensors.begin();
  OutTensor* const in = is_plain ? &*std::prev(after) : nullptr;
  if (in == nullptr || in->stored.dtype != info.dtype || names_of(info.dtype) == nullptr) {
    return fail(Code::unsupported, "{}: '{}' does not lie in the checkpoint as it is trained",
                file.path(), file.shown_tensor(trained.name));
  }
  const int64_t size = format_of(info.dtype).bytes_of(1);
  const int64_t begin = (info.bytes.data() - in->stored.bytes.data()) / size;
  CHECK(begin + std::ssize(trained.numbers) <= in->n_numbers());
  in->replaced.push_back({begin, &trained});
  in->dtype = dtype;
  return {};
}

// Numbers [begin, end) of a tensor of which some are replaced.
std::vector<float> numbers_of(const OutTensor& tensor, int64_t begin, int64_t end) {
  std::vector<float> numbers(static_cast<size_t>(end - begin));
  const Format& format = format_of(*tensor.stored.dtype);
  format.decode(tensor.stored.bytes.data() + format.bytes_of(begin), numbers.data(), end - begin);
  for (const Replaced& part : tensor.replaced) {
    const int64_t first = std::max(begin, part.begin);
    const int64_t last = std::min<int64_t>(end, part.begin + std::ssize(part.by->numbers));
    if (first >= last) continue;
    std::copy_n(part.by->numbers.begin() + (first - part.begin), last - first,
                numbers.begin() + (first - begin));
  }
  return numbers;
}

Status write_numbers(const OutTensor& tensor, FileWriter& out) {
  if (tensor.replaced.empty()) return out.write(tensor.stored.bytes);
  const Format& format = format_of(tensor.dtype);
  const float most = tensor.dtype == DType::f16 ? kMostOfF16 : INFINITY;
  std::vector<std::byte> bytes;
  for (int64_t at = 0; at < tensor.n_numbers(); at += kNumbersAtOnce) {
    const int64_t end = std::min(at + kNumbersAtOnce, tensor.n_numbers());
    const std::vector<float> numbers = numbers_of(tensor, at, end);
    if (!std::ranges::all_of(numbers, [&](float x) { return std::fabs(x) <= most; })) {
      return fail(Code::invalid, "tensor '{}': has a number that {} cannot hold",
                  tensor.stored.name, format.name);
    }
    bytes.resize(static_cast<size_t>(format.bytes_of(end - at)));
    format.encode(numbers.data(), nullptr, bytes.data(), end - at);
    TRY(out.write(bytes));
  }
  return {};
}

// With what transformers asks for: that tensors are PyTorch's.
std::string checkpoint_header(std::span<const OutTensor> tensors) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.key("__metadata__");
  out.begin_object();
  out.key("format");
  out.text("pt");
  out.end_object();
  uint64_t offset = 0;
  for (const OutTensor& tensor : tensors) {
    out.key(tensor.stored.name);
    out.begin_object();
    out.key("dtype");
    out.text(tensor.type_name());
    out.key("shape");
    out.begin_array();
    for (const int64_t length : tensor.stored.shape) out.integer(length);
    out.end_array();
    out.key("data_offsets");
    out.begin_array();
    out.integer(offset);
    offset += tensor.n_bytes();
    out.integer(offset);
    out.end_array();
    out.end_object();
  }
  out.end_object();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

// The type of all tensors, or float32 where they have several.
std::string_view type_of_all(std::span<const OutTensor> tensors) {
  const std::string_view first = tensors.front().type_name();
  const bool is_one =
      std::ranges::all_of(tensors, [&](const OutTensor& t) { return t.type_name() == first; });
  const auto found = std::ranges::find(kTypeNames, first, &TypeNames::in_file);
  return is_one && found != std::end(kTypeNames) ? found->in_config : kTypeNames[0].in_config;
}

// config.json with the type in the place of that of the model, under either name.
Result<std::string> checkpoint_config(const std::string& path, std::string_view type) {
  const std::string text = TRY(read_text_file(path));
  Json config = TRY(parse_json(text, path));
  bool changes = false;
  for (const char* const key : {"torch_dtype", "dtype"}) {
    Json* const found = config.find(key);
    if (found == nullptr || !found->is_string() || found->text() == type) continue;
    *found = Json(type);
    changes = true;
  }
  return changes ? config.dump(2) + "\n" : text;
}

Status write_text_file(const std::string& path, std::string_view text, const FileTarget& target) {
  FileWriter out = TRY(FileWriter::create(path, target));
  TRY(out.write(as_bytes(text)));
  return out.commit();
}

}  // namespace

Result<std::vector<std::string>> checkpoint_files(const Model& model, const std::string& folder) {
  const ModelFile& file = *model.file;
  if (file.container() != "safetensors") {
    return fail(Code::unsupported,
                "{}: is not a folder with safetensors, as folders are made of; "
                "give a file to write GGUF",
                file.path());
  }
  const Result<FileId> from = id_of(file.path());
  const Result<FileId> to = id_of(folder);
  if (from && to && *from == *to) {
    return fail(Code::invalid, "{}: is the folder of the model that is read", folder);
  }
  std::vector<std::string> names = {std::string(kWeights), std::string(kConfig)};
  for (const std::string_view name : kCopied) {
    if (file_exists(fmt::format("{}/{}", file.path(), name))) names.emplace_back(name);
  }
  return names;
}

Status write_trained_checkpoint(const Model& model, const Parameters<float>& parameters,
                                DType dtype, const std::string& folder, FileTarget target) {
  if (names_of(dtype) == nullptr) {
    return fail(Code::invalid, "trained models are written as f32, f16 or bf16, not {}",
                format_of(dtype).name);
  }
  const ModelFile& file = *model.file;
  const std::vector<std::string> names = TRY(checkpoint_files(model, folder));
  const std::vector<TrainedTensor> trained = TRY(trained_tensors(model, parameters));
  std::vector<OutTensor> tensors = TRY(stored_tensors(file));
  for (const TrainedTensor& tensor : trained) TRY(replace(file, tensor, dtype, tensors));
  for (const MappedFile& part : file.files()) target.never.push_back(part.id());
  FileWriter out = TRY(FileWriter::create(fmt::format("{}/{}", folder, kWeights), target));
  const std::string header = checkpoint_header(tensors);
  const uint64_t length = header.size();
  TRY(out.write(std::as_bytes(std::span(&length, 1))));
  TRY(out.write(as_bytes(header)));
  for (const OutTensor& tensor : tensors) TRY(write_numbers(tensor, out));
  TRY(out.commit());
  for (const std::string& name : std::span(names).subspan(1)) {
    const std::string from = fmt::format("{}/{}", file.path(), name);
    const std::string text = name == kConfig ? TRY(checkpoint_config(from, type_of_all(tensors)))
                                             : TRY(read_text_file(from));
    TRY(write_text_file(fmt::format("{}/{}", folder, name), text, target));
  }
  return {};
}

}  // namespace ruv
