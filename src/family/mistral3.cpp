// Ministral 3: Llama with queries that grow with their position.
#include "family/families.h"

namespace ruv::family {
namespace {
// The slope of the growth is in rope_parameters, and so is the context that it counts in.
constexpr HfClass kClasses[] = {{.model_type = "ministral3",
                                 .class_names = "Ministral3ForCausalLM Ministral3Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 262144,
                                 .n_heads = 32,
                                 .n_kv_heads = 8,
                                 .head_dim = 128,
                                 .null_head_dim = true,
                                 .windows = HfWindows::all,
                                 .growth = HfGrowth::rope}};
}  // namespace

constinit const FamilyRecord mistral3{
    .name = "mistral3",
    .published = "Ministral 3 3B to 14B",
    .block = {.windows = Windows::all, .growth = Growth::all},
    .gguf_keys = "attention.temperature_scale attention.temperature_length",
    .neighbour_rows = true,
    .classes = kClasses};
}  // namespace ruv::family
