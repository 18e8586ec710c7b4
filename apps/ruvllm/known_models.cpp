#include "known_models.h"

#include <algorithm>

namespace ruv {
namespace {

constexpr KnownModel kKnown[] = {
    {"deepseek-r1-1.5b", "bartowski/DeepSeek-R1-Distill-Qwen-1.5B-GGUF", "Q4_K_M", "reasons"},
    {"deepseek-r1-7b", "bartowski/DeepSeek-R1-Distill-Qwen-7B-GGUF", "Q4_K_M", "reasons"},
    {"gemma-2-2b", "bartowski/gemma-2-2b-it-GGUF", "Q4_K_M", "chat"},
    {"gemma-3-1b", "ggml-org/gemma-3-1b-it-GGUF", "Q4_K_M", "chat"},
    {"gemma-3-4b", "ggml-org/gemma-3-4b-it-GGUF", "Q4_K_M", "chat"},
    {"gpt-oss-20b", "ggml-org/gpt-oss-20b-GGUF", "MXFP4", "chat, tools, reasons"},
    {"granite-3.3-2b", "ibm-granite/granite-3.3-2b-instruct-GGUF", "Q4_K_M", "chat, tools"},
    {"llama-3.1-8b", "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", "Q4_K_M", "chat, tools"},
    {"llama-3.2-1b", "bartowski/Llama-3.2-1B-Instruct-GGUF", "Q4_K_M", "chat"},
    {"llama-3.2-3b", "bartowski/Llama-3.2-3B-Instruct-GGUF", "Q4_K_M", "chat, tools"},
    {"mistral-7b", "bartowski/Mistral-7B-Instruct-v0.3-GGUF", "Q4_K_M", "chat, tools"},
    {"phi-3.5-mini", "bartowski/Phi-3.5-mini-instruct-GGUF", "Q4_K_M", "chat"},
    {"phi-4-mini", "unsloth/Phi-4-mini-instruct-GGUF", "Q4_K_M", "chat, tools"},
    {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "Q4_K_M", "chat"},
    {"qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct-GGUF", "Q4_K_M", "chat, tools"},
    {"qwen2.5-3b", "Qwen/Qwen2.5-3B-Instruct-GGUF", "Q4_K_M", "chat, tools"},
    {"qwen2.5-7b", "bartowski/Qwen2.5-7B-Instruct-GGUF", "Q4_K_M", "chat, tools"},
    {"qwen2.5-coder-1.5b", "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "Q4_K_M", "code"},
    {"qwen2.5-coder-7b", "bartowski/Qwen2.5-Coder-7B-Instruct-GGUF", "Q4_K_M", "code"},
    {"qwen3-0.6b", "Qwen/Qwen3-0.6B-GGUF", "Q8_0", "chat, tools, reasons"},
    {"qwen3-1.7b", "Qwen/Qwen3-1.7B-GGUF", "Q8_0", "chat, tools, reasons"},
    {"qwen3-14b", "Qwen/Qwen3-14B-GGUF", "Q4_K_M", "chat, tools, reasons"},
    {"qwen3-4b", "Qwen/Qwen3-4B-GGUF", "Q4_K_M", "chat, tools, reasons"},
    {"qwen3-8b", "Qwen/Qwen3-8B-GGUF", "Q4_K_M", "chat, tools, reasons"},
    {"qwen3-embedding-0.6b", "Qwen/Qwen3-Embedding-0.6B-GGUF", "Q8_0", "embeddings"},
    {"smollm2-1.7b", "bartowski/SmolLM2-1.7B-Instruct-GGUF", "Q4_K_M", "chat"},
    {"smollm2-135m", "bartowski/SmolLM2-135M-Instruct-GGUF", "Q8_0", "chat"},
    {"smollm2-360m", "bartowski/SmolLM2-360M-Instruct-GGUF", "Q8_0", "chat"},
    {"smollm3-3b", "ggml-org/SmolLM3-3B-GGUF", "Q4_K_M", "chat, tools, reasons"},
    {"tinyllama-1.1b", "TheBloke/TinyLlama-1.1B-Chat-v1.0-GGUF", "Q4_K_M", "chat"},
};

}  // namespace

std::span<const KnownModel> known_models() { return kKnown; }

std::optional<HubReference> find_known(std::string_view name) {
  const size_t colon = name.find(':');
  const auto found = std::ranges::find(kKnown, name.substr(0, colon), &KnownModel::name);
  if (found == std::end(kKnown)) return std::nullopt;
  const std::string_view type = colon == name.npos ? found->type : name.substr(colon + 1);
  if (!check_file_path(type).ok()) return std::nullopt;
  return HubReference{std::string(found->repo), std::string(type), "main"};
}

}  // namespace ruv
