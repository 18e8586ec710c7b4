// The list of families: one line each. A record is defined in the file of its name.
#pragma once

#include "family/family.h"

#define RUV_FAMILIES(X) \
  X(llama)              \
  X(qwen2)              \
  X(qwen3)              \
  X(qwen3moe)           \
  X(qwen2moe)           \
  X(olmoe)              \
  X(granitemoe)         \
  X(dots1)              \
  X(ernie4_5_moe)       \
  X(hunyuan_moe)        \
  X(glm4moe)            \
  X(minimax_m2)         \
  X(lfm2moe)            \
  X(flex_olmo)          \
  X(exaone_moe)         \
  X(hy_v3)              \
  X(phimoe)             \
  X(afmoe)              \
  X(gemma)              \
  X(gemma2)             \
  X(gemma3)             \
  X(gemma4)             \
  X(phi3)               \
  X(gpt2)               \
  X(starcoder2)         \
  X(lfm2)               \
  X(olmo)               \
  X(olmo2)              \
  X(granite)            \
  X(granite_swa)        \
  X(dbrx)               \
  X(smollm3)            \
  X(command_r)          \
  X(cohere2)            \
  X(stablelm)           \
  X(nemotron)           \
  X(arcee)              \
  X(chatglm)            \
  X(glm4)               \
  X(exaone4)            \
  X(phi2)               \
  X(seed_oss)           \
  X(ernie4_5)           \
  X(hunyuan_dense)      \
  X(helium)             \
  X(qwen3next)          \
  X(qwen35)             \
  X(minicpm3)           \
  X(deepseek2)          \
  X(mistral3)           \
  X(gpt_oss)            \
  X(jais2)              \
  X(vaultgemma)         \
  X(llama4)             \
  X(gpt_neo)            \
  X(nanochat)           \
  X(persimmon)          \
  X(bitnet)             \
  X(apertus)            \
  X(mistral4)           \
  X(hyperclovax)        \
  X(gptneox)            \
  X(falcon)             \
  X(bloom)              \
  X(mpt)                \
  X(opt)                \
  X(gptj)               \
  X(codegen)            \
  X(starcoder)          \
  X(internlm2)          \
  X(xverse)             \
  X(exaone)             \
  X(qwen35moe)          \
  X(rwkv4)              \
  X(rwkv5)              \
  X(rwkv6)              \
  X(rwkv7)              \
  X(recurrent_gemma)    \
  X(olmo_hybrid)        \
  X(mamba)              \
  X(mamba2)             \
  X(granitehybrid)      \
  X(falcon_h1)          \
  X(jamba)              \
  X(nemotron_h)         \
  X(nemotron_h_moe)     \
  X(bert)               \
  X(nomic_bert)         \
  X(jina_bert_v3)       \
  X(gte)                \
  X(eurobert)           \
  X(modern_bert)        \
  X(gemma_embedding)    \
  X(mpnet)              \
  X(deberta)            \
  X(model2vec)

namespace ruv::family {
#define RUV_DECLARE(name) extern const FamilyRecord name;
RUV_FAMILIES(RUV_DECLARE)
#undef RUV_DECLARE
}  // namespace ruv::family
