// Model2Vec: a table of embeddings and nothing after it. Its vectors are means of rows.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {whole("token_embd.weight", "embeddings")};
// The ignored keys say how the table was made.
constexpr HfClass kClasses[] = {
    {.model_type = "model2vec",
     .class_names = "StaticModel",
     .rope = HfRope::none,
     .tied = true,
     .without_effect = "tokenizer_name apply_pca apply_zipf sif_coefficient hidden_dim "
                       "embedding_dtype vocabulary_quantization pad_token"}};
}  // namespace

constinit const FamilyRecord model2vec{
    .name = "model2vec",
    .published = "Potion and M2V models of Model2Vec, one row for each token",
    .block = {.has_layers = false, .positions = Positions::none},
    .last_norm = "",
    .usual_names = false,
    .own_names = kNames,
    .refused_tensors = "weights mapping",
    .base_prefix = "",
    .classes = kClasses};
}  // namespace ruv::family
