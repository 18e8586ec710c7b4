// Ministral 3: Llama with queries that grow with their position.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr std::string_view kRope = R"({"rope_type": "yarn", "rope_theta": 1000000.0,
    "factor": 16.0, "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0,
    "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1})";
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
                                 .default_rope = kRope,
                                 .growth = HfGrowth::rope}};
}  // namespace

constinit const FamilyRecord mistral3{
    .name = "mistral3",
    .published = "Ministral 3 3B to 14B",
    .block = {.windows = Windows::all, .growth = Growth::all},
    .gguf_keys =
        "attention.temperature_scale attention.temperature_length "
        "rope.scaling.yarn_log_multiplier",
    .neighbour_rows = true,
    .classes = kClasses};
}  // namespace ruv::family
