// Qwen3: Llama with normalised queries and keys.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "qwen3",
                                 .class_names = "Qwen3ForCausalLM Qwen3Model",
                                 .max_positions = 32768,
                                 .n_kv_heads = 32,
                                 .null_kv_heads = true,
                                 .head_dim = 128,
                                 .windows = HfWindows::upper,
                                 .window = 4096,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"}};

constexpr RankPrompt kReranker = {
    .heading = "# Qwen3-Reranker",
    .text =
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the "
        "Query and the Instruct provided. Note that the answer can only be \"yes\" or "
        "\"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, retrieve "
        "relevant passages that answer the query\n<Query>: {query}\n<Document>: "
        "{document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    .yes = "yes",
    .no = "no"};
}  // namespace

constinit const FamilyRecord qwen3{
    .name = "qwen3",
    .published = "Qwen3 0.6B to 32B, Qwen3-Embedding, Qwen3-Reranker",
    .block = {.qk_norm = QkNorm::heads},
    .classes = kClasses,
    .ranks = kReranker};
}  // namespace ruv::family
