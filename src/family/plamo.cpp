// PLaMo: attention and feed-forward side by side after one norm. Known from GGUF files only, whose
// queries lie by key head.
#include "family/families.h"

namespace ruv::family {
constinit const FamilyRecord plamo{
    .name = "plamo", .published = "PLaMo 13B", .block = {.parallel = true, .shared_norm = true}};
}  // namespace ruv::family
