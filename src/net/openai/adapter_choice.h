// The adapters that a request names: in its field `lora`, or as its model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/api_error.h"
#include "net/openai/service.h"

namespace ruv {

struct AdapterChoice {
  std::string name = {};
  int64_t id = -1;  // in place of a name; negative: there is none
  float scale = 1;
};
// Nothing: the request does not say.
using AdapterChoices = std::optional<std::vector<AdapterChoice>>;

// The number of an adapter in lists; later ones get others.
inline int64_t id_of(const AdapterRecord& record) {
  return static_cast<int64_t>(record.generation) - 1;
}

// The field `lora`: a list of names, or of objects with a name or an id, and perhaps a scale;
// empty: the model as it is. Fails: 400.
ApiResult<AdapterChoices> read_adapters(const Json& body);
// The adapters themselves, read from disk where they are not in memory. Without choices that of the
// name `model`, if it is one's. Fails: 400 naming the adapter.
ApiResult<std::optional<std::vector<AdapterUse>>> find_adapters(const OpenAiService& service,
                                                                const AdapterChoices& choices,
                                                                const std::string& model);
// What an answer calls its model: the adapter that the request named as its model, or the model.
std::string shown_model(const OpenAiService& service, const std::string& asked);
// Whether the service has an adapter of that name.
bool names_adapter(const OpenAiService& service, std::string_view name);

}  // namespace ruv
