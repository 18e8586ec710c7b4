// XVERSE: Llama under another name, known from GGUF files only.
#include "family/families.h"

namespace ruv::family {
constinit const FamilyRecord xverse{
    .name = "xverse", .published = "XVERSE 7B to 65B", .neighbour_rows = true};
}  // namespace ruv::family
