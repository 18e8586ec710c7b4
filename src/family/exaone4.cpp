// EXAONE 4: norms after attention and feed-forward, and of each head; where there is a window, only
// windowed layers have positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "exaone4",
                                 .class_names = "Exaone4ForCausalLM Exaone4Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .n_heads = 32,
                                 .n_kv_heads = 32,
                                 .windows = HfWindows::periodic_or_none,
                                 .window = 4096,
                                 .period_key = "sliding_window_pattern"}};
}

constinit const FamilyRecord exaone4{.name = "exaone4",
                                     .published = "EXAONE 4.0 1.2B and 32B",
                                     .block = {.norm_place = NormPlace::post,
                                               .qk_norm = QkNorm::heads,
                                               .windows = Windows::periodic,
                                               .window_period = 4,
                                               .only_windows_rotate = true},
                                     .classes = kClasses};
}  // namespace ruv::family
