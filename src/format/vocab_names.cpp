#include "format/vocab_names.h"

#include <algorithm>
#include <iterator>

namespace ruv {
namespace {

struct VocabName {
  std::string_view name;
  TokenizerKind kind;
};
constexpr VocabName kNames[] = {{"llama", TokenizerKind::sentencepiece_bpe},
                                {"gpt2", TokenizerKind::byte_bpe},
                                {"t5", TokenizerKind::unigram},
                                {"bert", TokenizerKind::wordpiece},
                                {"rwkv", TokenizerKind::rwkv_world}};

struct SchemeRow {
  std::string_view pre;
  SchemeTraits traits;
};
constexpr SchemeTraits kLlama3 = {.whole_words = true, .bos = true};
constexpr SchemeTraits kNfc = {.nfc = true};
constexpr SchemeRow kSchemes[] = {{"llama-bpe", kLlama3}, {"llama3", kLlama3},
                                  {"llama-v3", kLlama3},  {"falcon3", kLlama3},
                                  {"pixtral", kLlama3},   {"tekken", {.whole_words = true}},
                                  {"qwen2", kNfc},        {"qwen3", kNfc},
                                  {"qwen35", kNfc},       {"deepseek-r1-qwen", kNfc},
                                  {"mpt", kNfc},          {"olmo", kNfc}};

}  // namespace

std::optional<TokenizerKind> vocab_kind_of(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &VocabName::name);
  if (found == std::end(kNames)) return std::nullopt;
  return found->kind;
}

std::string vocab_names() {
  std::string names;
  for (const VocabName& row : kNames) {
    if (!names.empty()) names += &row == std::end(kNames) - 1 ? " and " : ", ";
    names += row.name;
  }
  return names;
}

std::string_view vocab_name_of(TokenizerKind kind) {
  return std::ranges::find(kNames, kind, &VocabName::kind)->name;
}

SchemeTraits scheme_traits_of(std::string_view pre) {
  const auto* const found = std::ranges::find(kSchemes, pre, &SchemeRow::pre);
  return found == std::end(kSchemes) ? SchemeTraits() : found->traits;
}

}  // namespace ruv
