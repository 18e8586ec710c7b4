// EXAONE 4: norms after attention and feed-forward, and of each head; where there is a window, only
// windowed layers have positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kText{.model_type = "exaone4",
                        .class_names = "Exaone4ForCausalLM Exaone4Model",
                        .norm_eps = 1e-5,
                        .max_positions = 2048,
                        .n_heads = 32,
                        .n_kv_heads = 32,
                        .windows = HfWindows::periodic_or_none,
                        .window = 4096,
                        .period_key = "sliding_window_pattern"};

// The class with a tower for images, whose text_config is a config of the other.
constexpr HfClass nested() {
  HfClass hf = kText;
  hf.model_type = "exaone4_5";
  hf.class_names = "Exaone4_5_ForConditionalGeneration Exaone4_5_Model";
  hf.nested = true;
  return hf;
}
constexpr HfClass kClasses[] = {kText, nested()};
}  // namespace

constinit const FamilyRecord exaone4{.name = "exaone4",
                                     .published = "EXAONE 4.0 1.2B and 32B, the text of 4.5 33B",
                                     .block = {.norm_place = NormPlace::post,
                                               .qk_norm = QkNorm::heads,
                                               .windows = Windows::periodic,
                                               .window_period = 4,
                                               .only_windows_rotate = true},
                                     .classes = kClasses};
}  // namespace ruv::family
