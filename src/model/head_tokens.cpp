#include "model/head_tokens.h"

#include <cstring>

namespace ruv {
namespace {

constexpr std::string_view kCount = "draft_vocab_size";

Result<std::vector<Token>> tokens_of(const TensorInfo& tensor, const Model& head) {
  const ModelFile& file = *head.file;
  if (tensor.dtype != DType::i64 || tensor.shape.size() != 1 || tensor.shape[0] < 1) {
    return fail(Code::corrupt, "{}: tensor '{}' is not a row of 64-bit integers", file.path(),
                file.shown_tensor(kHeadTokens));
  }
  const bool are_distances = file.container() != "gguf" && head.head->has_layer();
  std::vector<Token> tokens(static_cast<size_t>(tensor.shape[0]));
  for (size_t i = 0; i < tokens.size(); ++i) {
    int64_t number = 0;
    std::memcpy(&number, tensor.bytes.data() + i * sizeof number, sizeof number);
    const auto output = static_cast<int64_t>(i);
    const int64_t least = are_distances ? -output : 0;
    if (number < least || number >= head.h.n_vocab + least) {
      return fail(Code::corrupt, "{}: tensor '{}': number {} is {}, which gives none of {} tokens",
                  file.path(), file.shown_tensor(kHeadTokens), i, number, head.h.n_vocab);
    }
    tokens[i] = static_cast<Token>(number - least);
  }
  return tokens;
}

}  // namespace

Result<std::vector<Token>> read_head_tokens(const WeightSource& source, const Model& head) {
  const ModelFile& file = *head.file;
  const bool is_said = file.find(kCount) != nullptr;
  const int64_t n_said = is_said ? TRY(file.integer(kCount)) : head.h.n_vocab;
  if (!source.has(kHeadTokens)) {
    if (n_said == head.h.n_vocab) return std::vector<Token>();
    return fail(Code::not_found, "{}: tensor '{}' is missing, and '{}' is {} of {} tokens",
                file.path(), file.shown_tensor(kHeadTokens), file.shown_key(kCount), n_said,
                head.h.n_vocab);
  }
  std::vector<Token> tokens = TRY(tokens_of(*file.find_tensor(kHeadTokens), head));
  if (is_said && n_said != std::ssize(tokens)) {
    return fail(Code::corrupt, "{}: tensor '{}' has {} numbers, but '{}' is {}", file.path(),
                file.shown_tensor(kHeadTokens), tokens.size(), file.shown_key(kCount), n_said);
  }
  return tokens;
}

}  // namespace ruv
