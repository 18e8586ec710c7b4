// Texts of a file may hold anything: in the metadata they are JSON strings, which YAML reads as
// they are, and in tables they are escaped.
#include "model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "format/model_file.h"
#include "hub/model_reference.h"
#include "tensor/format.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr size_t kMaxCell = 120;

// What one GGUF file says.
struct CardModel {
  std::string path;
  std::string architecture;
  std::string quantisation;  // of most bytes
  int64_t n_params = 0;
  int64_t n_ctx = 0;  // 0: it does not say
};

bool is_gguf(const PushFile& file) { return !file.from.empty() && file.path.ends_with(".gguf"); }

// Parts after the first are not models of their own.
bool is_later_part_of_model(std::string_view path) {
  return path.find("-of-") != path.npos && path.find("-00001-of-") == path.npos;
}

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxCell)) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::string_view("|<>`\\[]*").find(c) != std::string_view::npos) out += '\\';
    out += byte < 32 || byte == 127 ? ' ' : c;
  }
  return out;
}

std::string yaml_text(std::string_view text) { return Json(text).dump(); }

CardModel describe_model(const ModelFile& file, const std::string& path) {
  CardModel model{.path = path, .architecture = file.architecture(), .quantisation = {}};
  std::map<DType, size_t> n_bytes;
  for (const TensorInfo& tensor : file.tensors()) {
    n_bytes[tensor.dtype] += static_cast<uint64_t>(tensor.n_bytes());
    model.n_params += tensor.n_elements();
  }
  const auto most =
      std::ranges::max_element(n_bytes, {}, [](const auto& entry) { return entry.second; });
  if (most != n_bytes.end()) model.quantisation = format_of(most->first).name;
  model.n_ctx = file.integer("context_length").value_or(0);
  return model;
}

// "owner/name" of a URL of a hub's model, as GGUF files name what they were made of.
std::string base_model_of(const ModelFile& file) {
  const std::string url = file.text("general.base_model.0.repo_url").value_or("");
  constexpr std::string_view kHub = "https://huggingface.co/";
  if (!url.starts_with(kHub)) return {};
  const std::string repo = url.substr(kHub.size());
  return check_repo(repo).ok() ? repo : std::string();
}

std::string front_matter(const CardFacts& facts, const std::vector<CardModel>& models) {
  std::string out = "---\n";
  if (!facts.license.empty()) out += fmt::format("license: {}\n", yaml_text(facts.license));
  if (!facts.base_model.empty()) {
    out += fmt::format("base_model: {}\nbase_model_relation: quantized\n",
                       yaml_text(facts.base_model));
  }
  std::set<std::string> tags;
  if (!models.empty()) tags.insert("gguf");
  for (const CardModel& model : models) tags.insert(model.quantisation);
  if (!tags.empty()) out += "tags:\n";
  for (const std::string& tag : tags) {
    if (!tag.empty()) out += fmt::format("- {}\n", yaml_text(tag));
  }
  return out + "---\n";
}

}  // namespace

Result<std::string> model_card(const CardFacts& given, const std::vector<PushFile>& files) {
  CardFacts facts = given;
  std::vector<CardModel> models;
  for (const PushFile& file : files) {
    if (!is_gguf(file) || is_later_part_of_model(file.path)) continue;
    const std::unique_ptr<ModelFile> opened = TRY(ModelFile::open(file.from));
    models.push_back(describe_model(*opened, file.path));
    if (facts.license.empty()) facts.license = opened->text("general.license").value_or("");
    if (facts.base_model.empty()) facts.base_model = base_model_of(*opened);
  }
  std::string out = front_matter(facts, models);
  out += fmt::format("\n# {}\n", cell(facts.repo.substr(facts.repo.find('/') + 1)));
  if (!models.empty()) {
    out +=
        "\n| model | architecture | parameters | quantisation | context length |\n"
        "|---|---|---|---|---|\n";
  }
  for (const CardModel& model : models) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", cell(model.path), cell(model.architecture),
                       readable_count(model.n_params), cell(model.quantisation),
                       model.n_ctx == 0 ? "-" : fmt::format("{}", model.n_ctx));
  }
  out += "\n| file | size | SHA-256 |\n|---|---|---|\n";
  for (const PushFile& file : files) {
    out += fmt::format("| {} | {} | `{}` |\n", cell(file.path),
                       readable_bytes(static_cast<int64_t>(file.n_bytes)), file.sha256);
  }
  return out;
}

}  // namespace ruv
