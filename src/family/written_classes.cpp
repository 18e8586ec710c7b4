// By the type alone, so that one line lists them all.
#include "family/written_classes.h"

#include "family/word_list.h"

namespace ruv {
namespace {

constexpr std::string_view kTypes =
    "llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 gemma3_text phi3 gpt2 "
    "gpt_neox starcoder2 stablelm olmo olmo2 granite smollm3 cohere cohere2 arcee seed_oss "
    "ernie4_5 helium hunyuan_v1_dense";

}  // namespace

bool is_written_class(const HfClass& hf) { return is_word_of(kTypes, hf.model_type); }

}  // namespace ruv
