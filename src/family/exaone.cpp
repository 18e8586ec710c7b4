// EXAONE 3: Llama under another name, known from GGUF files only.
#include "family/families.h"

namespace ruv::family {
constinit const FamilyRecord exaone{.name = "exaone", .published = "EXAONE 3 and 3.5"};
}  // namespace ruv::family
