// InternLM 2: Llama under another name, known from GGUF files only.
#include "family/families.h"

namespace ruv::family {
constinit const FamilyRecord internlm2{
    .name = "internlm2", .published = "InternLM 2 and 2.5, 1.8B to 20B", .neighbour_rows = true};
}  // namespace ruv::family
