// Baichuan: Llama, and in one size scores that fall with the distance in place of rotated heads.
// Known from GGUF files only, whose output matrix is normalised where the model's is.
#include "family/families.h"

namespace ruv::family {
constinit const FamilyRecord baichuan{.name = "baichuan",
                                      .published = "Baichuan 1 and 2, 7B and 13B",
                                      .alibi_depth = 40,
                                      .neighbour_rows = true};
}  // namespace ruv::family
