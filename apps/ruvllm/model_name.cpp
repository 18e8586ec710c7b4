#include "model_name.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "data_folder.h"
#include "hub/model_digest.h"
#include "known_models.h"
#include "nearest_name.h"
#include "registry_model.h"
#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

// A file or folder that is not there, and no misspelt name.
bool looks_like_path(const std::string& name) {
  constexpr std::array kEndings = {".gguf", ".safetensors", ".json", ".model",
                                   ".bin",  ".tiktoken",    ".txt",  ".pth"};
  const bool has_ending =
      std::ranges::any_of(kEndings, [&](const char* end) { return name.ends_with(end); });
  if (name.empty() || name.front() == '.' || has_ending) return true;
  // owner/repo where no folder is called owner was written without its hf:.
  const size_t slash = name.find('/');
  return slash != name.npos && (!read_hub_reference(name) || is_directory(name.substr(0, slash)));
}

// "; did you mean 'qwen3-4b'?", or what else helps.
std::string advice_for(const std::string& name, const LocalNames& local) {
  if (read_hub_reference(name)) return fmt::format("; a hub's model is named hf:{}", name);
  const std::string stem = name.substr(0, name.find_first_of(":@"));
  std::vector<std::string> names;
  for (const LocalModel& model : local.models()) names.push_back(model.name);
  for (const KnownModel& model : known_models()) names.emplace_back(model.name);
  const std::string meant = nearest_name(stem, names);
  if (!meant.empty()) return fmt::format("; did you mean '{}'?", meant);
  return "; `ruvllm list` shows the models that are here, `ruvllm list --known` short names";
}

std::string served_name(const HubReference& hub) {
  return hub.want.empty() ? hub.repo : hub.repo + ":" + hub.want;
}

// As Ollama's API names it.
std::string served_name(const RegistryReference& reference) {
  const RegistryReference usual;
  std::string name = reference.space == usual.space ? "" : reference.space + "/";
  name += reference.name;
  return reference.tag == usual.tag ? name : name + ":" + reference.tag;
}

}  // namespace

Result<MeantName> meant_name(const std::string& name) {
  if (name.starts_with("hf:")) return MeantName{.hub = TRY(read_hub_reference(name))};
  if (name.starts_with(kRegistryScheme))
    return MeantName{.registry = TRY(read_registry_reference(name))};
  const std::string names_file = local_names_file();
  const LocalNames names = names_file.empty() ? LocalNames() : TRY(load_local_names(names_file));
  const Result<LocalName> local = read_local_name(name);
  if (local && names.find(local->name) != nullptr) return MeantName{.local = *local};
  if (const std::optional<HubReference> known = find_known(name)) return MeantName{.hub = known};
  return fail(Code::not_found, "'{}' is neither a file nor the name of a model{}", name,
              advice_for(name, names));
}

Result<MeantName> meant_remote(const std::string& name) {
  const bool is_bare = name.find('/') != name.npos && !name.starts_with(kRegistryScheme);
  if (is_bare) return MeantName{.hub = TRY(read_hub_reference(name))};
  MeantName meant = TRY(meant_name(name));
  if (!meant.local) return meant;
  const LocalVersion version = TRY(TRY(load_local_names(local_names_file())).version(*meant.local));
  if (version.source.starts_with('/'))
    return fail(Code::invalid, "'{}' is a file of this machine: {}", name, version.source);
  return MeantName{.hub = TRY(read_hub_reference(version.source))};
}

Result<MeantModel> meant_model(const std::string& name) {
  if (file_exists(name) || is_directory(name)) return MeantModel{.path = name};
  Result<MeantName> meant = meant_name(name);
  if (!meant) {
    const bool is_path = meant.error().code() == Code::not_found && looks_like_path(name);
    if (is_path) return MeantModel{.path = name};
    return tl::unexpected(meant.error());
  }
  MeantModel model;
  if (meant->local) {
    LocalVersion version = TRY(TRY(load_local_names(local_names_file())).version(*meant->local));
    model.served = name;
    if (version.source.starts_with('/')) {
      model.path = version.source;
      model.files = std::move(version.files);
    } else {
      model.hub = TRY(read_hub_reference(version.source));
    }
    return model;
  }
  model.served = meant->registry           ? served_name(*meant->registry)
                 : name.starts_with("hf:") ? served_name(*meant->hub)
                                           : name;
  model.hub = std::move(meant->hub);
  model.registry = std::move(meant->registry);
  return model;
}

Result<ChosenModel> located(const MeantModel& model) {
  RemoteCall call;
  call.prefer_local = true;
  if (model.hub) return ChosenModel{.path = TRY(fetch_remote(*model.hub, call)).path};
  if (model.registry) {
    FetchedModel fetched = TRY(fetch_registry_model(*model.registry, call));
    if (!fetched.unused.empty() && !is_quiet()) {
      const std::string unused = fmt::format("{}", fmt::join(fetched.unused, "; "));
      fmt::print(stderr, "ruvllm: {}: not used: {}\n", text_of(*model.registry),
                 shown_text(unused, kWholeText));
    }
    return ChosenModel{fetched.pulled.path, std::move(fetched.defaults)};
  }
  TRY(check_version_files(model.path, model.files));
  return ChosenModel{.path = model.path};
}

}  // namespace ruv
