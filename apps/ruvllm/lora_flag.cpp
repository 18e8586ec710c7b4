#include "lora_flag.h"

#include <cmath>
#include <filesystem>
#include <optional>

#include "base/number_text.h"

namespace ruv {

namespace {

std::optional<double> whole_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = read_number(text, number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Status check_number(const std::vector<std::string>& texts) {
  if (texts.size() <= kMaxAdapters) return {};
  return fail(Code::invalid, "--lora: given {} times, at most {} are computed together",
              texts.size(), kMaxAdapters);
}

Status load_into(AdapterRegistry& registry, std::string_view flag, const std::string& name,
                 const std::string& path) {
  const Result<AdapterRecord> loaded = registry.load(name, path);
  return loaded ? Status() : with_context(flag, loaded.error());
}

}  // namespace

Result<LoraFile> parse_lora(const std::string& text) {
  LoraFile file{.path = text};
  const size_t at = text.rfind('=');
  const std::optional<double> scale =
      at == text.npos ? std::nullopt : whole_number(std::string_view(text).substr(at + 1));
  if (scale) {
    file.path.resize(at);
    file.scale = static_cast<float>(*scale);
  }
  if (file.path.empty()) return fail(Code::invalid, "--lora: '{}' has no path", text);
  if (!std::isfinite(file.scale)) {
    return fail(Code::invalid, "--lora: '{}': the scale is not a finite number", text);
  }
  return file;
}

void add_lora_flag(CommandLine& line, std::vector<std::string>& texts) {
  line.texts(
      "--lora", texts,
      "Adapter (LoRA) to compute with: a folder of PEFT or MLX, or a GGUF file, which may be a "
      "control vector, as PATH or PATH=SCALE; may be given several times");
}

void add_adapter_flags(CommandLine& line, ServedAdapters& adapters) {
  add_lora_flag(line, adapters.lora);
  line.texts("--lora-modules", adapters.modules,
             "Adapter that requests may name as their model or in `lora`: NAME=PATH; may be given "
             "several times");
  line.text("--lora-dir", adapters.folder,
            "Folder from which clients with the scope `manage` may load adapters");
  line.integer("--lora-memory", adapters.memory_mebibytes, 1, 1 << 20,
               "MiB that adapters may fill; those that were not used lately are read again");
}

Result<std::unique_ptr<AdapterRegistry>> open_registry(const ServedAdapters& adapters,
                                                       std::shared_ptr<const Model> model,
                                                       int n_threads,
                                                       std::vector<AdapterUse>& usual) {
  TRY(check_number(adapters.lora));
  auto registry = std::make_unique<AdapterRegistry>(
      std::move(model),
      AdapterRegistryOptions{.max_bytes = adapters.memory_mebibytes << 20, .n_threads = n_threads});
  for (const std::string& text : adapters.lora) {
    const LoraFile file = TRY(parse_lora(text));
    const std::string name = std::filesystem::path(file.path).lexically_normal().stem().string();
    TRY(load_into(*registry, "--lora", name, file.path));
    usual.push_back({TRY(registry->find(name)), file.scale});
  }
  for (const std::string& text : adapters.modules) {
    const size_t at = text.find('=');
    if (at == 0 || at == text.npos || at + 1 == text.size()) {
      return fail(Code::invalid, "--lora-modules: '{}' is not NAME=PATH", text);
    }
    TRY(load_into(*registry, "--lora-modules", text.substr(0, at), text.substr(at + 1)));
  }
  return registry;
}

Result<std::vector<AdapterUse>> open_adapters(const std::vector<std::string>& texts,
                                              std::shared_ptr<const Model> model, int n_threads) {
  TRY(check_number(texts));
  std::vector<AdapterUse> adapters;
  for (const std::string& text : texts) {
    const LoraFile file = TRY(parse_lora(text));
    adapters.push_back({TRY(load_adapter(model, file.path, n_threads)), file.scale});
  }
  return adapters;
}

}  // namespace ruv
