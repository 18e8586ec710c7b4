// Heads of Medusa (arXiv 2401.10774) for models of any family. Folders of its authors have a config
// without a class; others are written for engines that read a class of their own.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kPlain[] = {{"logit_scale", " 1 1.0 "}, {"version", " 1 2 \"1\" \"2\" "}};
// The ignored keys are of trees of drafts, which chains do not need.
constexpr HfClass kClasses[] = {
    {.model_type = "medusa",
     .class_names = "MedusaModel",
     .rope = HfRope::none,
     .without_effect = "base_model_name_or_path max_paths topk max_seq_len num_lookahead_tokens",
     .neutral = kPlain}};
}  // namespace

constinit const FamilyRecord medusa{.name = "medusa",
                                    .is_draft_head = true,
                                    .published = "Medusa heads for Vicuna, Zephyr and others",
                                    .block = {.has_layers = false, .positions = Positions::none},
                                    .last_norm = "",
                                    .usual_names = false,
                                    .base_prefix = "",
                                    .classes = kClasses};
}  // namespace ruv::family
