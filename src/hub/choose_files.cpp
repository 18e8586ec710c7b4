// GGUF files are grouped into whole models by their names; the rest is lists of names. Nothing here
// looks at contents.
#include "hub/choose_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace ruv {
namespace {

// Without a wish: what most people take first, then what is near to it, then what loses more.
constexpr std::string_view kPreferred[] = {
    "Q4_K_M", "Q4_K_S",  "Q4_K_L",  "Q4_0",    "IQ4_NL",  "IQ4_XS",  "Q5_K_M", "Q5_K_S",
    "Q4_1",   "Q5_0",    "Q5_1",    "Q5_K_L",  "Q6_K",    "Q6_K_L",  "Q8_0",   "MXFP4",
    "BF16",   "F16",     "Q3_K_L",  "Q3_K_M",  "Q3_K_S",  "IQ3_M",   "IQ3_S",  "IQ3_XS",
    "Q2_K",   "IQ2_M",   "F32",     "Q2_K_S",  "Q2_K_L",  "IQ3_XXS", "IQ2_S",  "IQ2_XS",
    "IQ1_M",  "IQ1_S",   "TQ2_0",   "TQ1_0",   "Q4_K",    "IQ2_XXS", "Q5_K",   "Q3_K_XL",
    "Q3_K",   "Q2_K_XL", "Q4_K_XL", "Q5_K_XL", "Q6_K_XL", "Q8_K_XL", "FP16"};

// What describes a safetensors model beside its weights.
constexpr std::string_view kModelFiles[] = {"config.json",
                                            "generation_config.json",
                                            "tokenizer.json",
                                            "tokenizer_config.json",
                                            "tokenizer.model",
                                            "special_tokens_map.json",
                                            "added_tokens.json",
                                            "vocab.json",
                                            "vocab.txt",
                                            "merges.txt",
                                            "spiece.model",
                                            "sentencepiece.bpe.model",
                                            "spm.model",
                                            "source.spm",
                                            "target.spm",
                                            "chat_template.jinja",
                                            "chat_template.json",
                                            "modules.json",
                                            "adapter_config.json",
                                            "sentence_bert_config.json",
                                            "config_sentence_transformers.json",
                                            "tekken.json",
                                            "rwkv_vocab_v20230424.txt"};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return result;
}

// What follows the last '/'.
std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_letter_or_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// As a word of its own: Q4_K is not in Q4_K_M.
bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_letter_or_digit(text[at - 1]);
    const size_t end = at + word.size();
    if (begins && (end == text.size() || !is_letter_or_digit(text[end]))) return true;
  }
  return false;
}

// "model-00002-of-00005.gguf" has the stem "model", the number 2 and the count 5.
struct PartName {
  std::string stem;
  int index = 1;
  int count = 1;
};

// As split files number their parts; never 0.
std::optional<int> five_digits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_all = error == std::errc() && end == text.data() + text.size();
  return is_all && text.size() == 5 && value > 0 ? std::optional(value) : std::nullopt;
}

PartName part_name(std::string_view path) {
  constexpr size_t kTail = std::string_view("-00001-of-00002").size();
  const std::string_view stem = path.substr(0, path.rfind('.'));
  if (stem.size() > kTail) {
    const std::string_view tail = stem.substr(stem.size() - kTail);
    const std::optional<int> index = five_digits(tail.substr(1, 5));
    const std::optional<int> count = five_digits(tail.substr(10, 5));
    if (tail[0] == '-' && tail.substr(6, 4) == "-of-" && index && count && *index <= *count)
      return {std::string(stem.substr(0, stem.size() - kTail)), *index, *count};
  }
  return {std::string(stem)};
}

// A GGUF file with all of its parts.
struct GgufParts {
  std::string stem;
  std::vector<RepoFile> parts;
  int count = 1;
  uint64_t n_bytes = 0;
  bool is_whole() const { return parts.size() == static_cast<size_t>(count); }
};

// Weights of what reads images, and statistics for quantising, are not models.
bool is_beside_a_model(std::string_view path) {
  const std::string name = upper(name_of(path));
  return name.find("MMPROJ") != name.npos || name.find("IMATRIX") != name.npos;
}

// Sorted by stem. Parts of different counts are different files.
std::vector<GgufParts> gguf_files(const std::vector<RepoFile>& files) {
  std::map<std::pair<std::string, int>, GgufParts> found;
  for (const RepoFile& file : files) {
    if (!upper(file.path).ends_with(".GGUF")) continue;
    const PartName part = part_name(file.path);
    GgufParts& whole = found[{part.stem, part.count}];
    whole.stem = part.stem;
    whole.count = part.count;
    whole.parts.push_back(file);
    whole.n_bytes += file.n_bytes;
  }
  std::vector<GgufParts> all;
  for (auto& [key, whole] : found) {
    std::ranges::sort(whole.parts, {}, &RepoFile::path);
    all.push_back(std::move(whole));
  }
  return all;
}

Result<ChosenFiles> chosen(const GgufParts& file) {
  if (!file.is_whole()) {
    return fail(Code::not_found, "'{}' has {} of its {} parts here", file.stem, file.parts.size(),
                file.count);
  }
  return ChosenFiles{file.parts, file.parts.front().path};
}

std::string list_of(const std::vector<GgufParts>& files) {
  constexpr size_t kShown = 40;
  std::string text;
  for (size_t i = 0; i < std::min(files.size(), kShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", files[i].parts.front().path);
  return files.size() > kShown ? text + ", …" : text;
}

// The preferred type that some file has; else the smallest file.
const GgufParts& usual_choice(const std::vector<GgufParts>& files) {
  for (const std::string_view type : kPreferred) {
    const auto has_type = [&](const GgufParts& file) {
      return file.is_whole() && quant_in_name(file.stem) == type;
    };
    const auto found = std::ranges::find_if(files, has_type);
    if (found != files.end()) return *found;
  }
  return *std::ranges::min_element(files, {}, &GgufParts::n_bytes);
}

Result<ChosenFiles> choose_gguf(std::vector<GgufParts> files, std::string_view want) {
  if (want.empty()) {
    std::erase_if(files, [](const GgufParts& file) { return is_beside_a_model(file.stem); });
    if (files.empty()) return fail(Code::unsupported, "it holds no model's weights");
    return chosen(usual_choice(files));
  }
  // A path wins over a type of that name.
  std::vector<GgufParts> matching;
  for (const GgufParts& file : files) {
    const bool is_named =
        std::ranges::any_of(file.parts, [want](const RepoFile& part) { return part.path == want; });
    if (is_named) return chosen(file);
    const bool has_type = has_word(upper(file.stem), upper(want)) && !is_beside_a_model(file.stem);
    if (has_type) matching.push_back(file);
  }
  if (matching.size() == 1) return chosen(matching.front());
  if (matching.size() > 1) {
    return fail(Code::invalid, "'{}' is in several files, name one: {}", want, list_of(matching));
  }
  return fail(Code::not_found, "it has no '{}'; it has {}", want, list_of(files));
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// "1_Pooling/config.json", "2_Dense/model.safetensors": the parts of an embedding model.
bool is_of_step_folder(std::string_view path) {
  const size_t slash = path.find('/');
  if (slash == path.npos || path.find('/', slash + 1) != path.npos) return false;
  const std::string_view folder = path.substr(0, slash);
  const std::string_view name = path.substr(slash + 1);
  return is_digits(folder.substr(0, folder.find('_'))) && folder.find('_') != folder.npos &&
         (name == "config.json" || name.ends_with(".safetensors"));
}

// Every part of weights in parts is there.
Status check_parts(const std::vector<RepoFile>& files) {
  std::map<std::pair<std::string, int>, int> n_parts;
  for (const RepoFile& file : files) {
    const PartName part = part_name(file.path);
    ++n_parts[{part.stem, part.count}];
  }
  for (const auto& [part, n] : n_parts) {
    if (part.second > 1 && n != part.second)
      return fail(Code::not_found, "'{}' has {} of its {} parts here", part.first, n, part.second);
  }
  return {};
}

Result<ChosenFiles> choose_safetensors(const std::vector<RepoFile>& files) {
  const auto is_weights = [](const RepoFile& file) {
    return file.path.find('/') == file.path.npos && file.path.ends_with(".safetensors");
  };
  const bool has_model = std::ranges::any_of(files, [&](const RepoFile& file) {
    return is_weights(file) && file.path.starts_with("model");
  });
  ChosenFiles result;
  bool has_weights = false;
  for (const RepoFile& file : files) {
    // Beside model*.safetensors others are the same weights in another form.
    const bool is_ours = is_weights(file) && (!has_model || file.path.starts_with("model"));
    const bool is_known = std::ranges::find(kModelFiles, file.path) != std::end(kModelFiles);
    const bool is_index = file.path.ends_with(".safetensors.index.json");
    if (!is_ours && !is_known && !is_index && !is_of_step_folder(file.path)) continue;
    has_weights |= is_ours;
    result.files.push_back(file);
  }
  TRY(check_parts(result.files));
  // Weights come last, so that where they are all the rest is.
  std::stable_partition(result.files.begin(), result.files.end(),
                        [&](const RepoFile& file) { return !is_weights(file); });
  if (has_weights) return result;
  return fail(Code::unsupported, "it has neither GGUF nor safetensors files");
}

}  // namespace

std::string quant_in_name(std::string_view path) {
  const std::string name = upper(name_of(path));
  std::string_view best;
  for (const std::string_view type : kPreferred) {
    if (type.size() > best.size() && has_word(name, type)) best = type;
  }
  return std::string(best);
}

std::vector<ChosenFiles> all_models(const std::vector<RepoFile>& files) {
  std::vector<ChosenFiles> models;
  for (GgufParts& file : gguf_files(files)) {
    if (!file.is_whole() || is_beside_a_model(file.stem)) continue;
    std::string opened = file.parts.front().path;
    models.push_back({std::move(file.parts), std::move(opened)});
  }
  if (Result<ChosenFiles> tensors = choose_safetensors(files))
    models.push_back(std::move(*tensors));
  return models;
}

Result<ChosenFiles> choose_files(const std::vector<RepoFile>& files, std::string_view want) {
  std::vector<GgufParts> ggufs = gguf_files(files);
  if (!ggufs.empty()) return choose_gguf(std::move(ggufs), want);
  if (want.empty()) return choose_safetensors(files);
  for (const RepoFile& file : files) {
    if (file.path == want) return ChosenFiles{{file}, file.path};
  }
  return fail(Code::not_found, "it has no '{}' and no GGUF files", want);
}

}  // namespace ruv
