// Drafting heads that read the same state (Medusa, arXiv 2401.10774): their configs, and the names
// of their tensors. Heads have numbers in both kinds of names, and so have the blocks of a head:
// the authors number a head's output matrix as one block more.
#include <charconv>

#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr std::string_view kHeadsKey = "medusa_num_heads", kHeadBlocksKey = "medusa_num_layers";
constexpr int64_t kMostHeads = 64;  // of heads and of blocks, far above any that is published

// The number by its usual name or by the name that the class gives it.
Result<int64_t> read_head_count(const Members& config, std::string_view usual,
                                std::string_view other, std::string_view as, HfValues& out) {
  const bool is_usual = config.is_set(usual);
  if (is_usual && config.is_set(other)) {
    return config.wrong(other, fmt::format("is there beside '{}'", usual), Code::unsupported);
  }
  const std::string_view key = is_usual || !config.is_set(other) ? usual : other;
  const int64_t n = TRY(config.positive_or(key, 0));
  if (n > kMostHeads) {
    return config.wrong(key, fmt::format("is {}, at most {} are supported", n, kMostHeads),
                        Code::unsupported);
  }
  out.set(as, n, config.path_of(key));
  return n;
}

// Sets the key where the config has it. Gives 0 where it has not.
Result<int64_t> read_head_size(const Members& config, std::string_view key, std::string_view as,
                               HfValues& out) {
  if (!config.is_set(key)) return 0;
  const int64_t n = TRY(config.positive(key));
  out.set(as, n, config.path_of(key));
  return n;
}

// Whether outputs are fewer than the model's.
Result<bool> read_head_vocabulary(const Members& config, HfValues& out) {
  constexpr std::string_view kAll = "vocab_size", kSome = "truncated_vocab_size";
  const int64_t n_all = TRY(read_head_size(config, kAll, kAll, out));
  if (!config.is_set(kSome)) return false;
  const int64_t n = TRY(config.positive(kSome));
  if (n_all == 0) return config.wrong(kAll, fmt::format("is missing beside '{}'", kSome));
  if (n > n_all) return config.wrong(kSome, fmt::format("is {} of {} tokens", n, n_all));
  if (n < n_all) out.set("draft_vocab_size", n, config.path_of(kSome));
  return n < n_all;
}

// Takes "12." off; below 0: it begins otherwise.
int64_t take_place(std::string_view& name) {
  int64_t number = -1;
  const char* const end = name.data() + name.size();
  const auto [after, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || after == end || *after != '.') return -1;
  // One number has one name.
  if (fmt::format("{}", number) != std::string_view(name.data(), after)) return -1;
  name.remove_prefix(static_cast<size_t>(after - name.data()) + 1);
  return number;
}

bool take_start(std::string_view& name, std::string_view start) {
  if (!name.starts_with(start)) return false;
  name.remove_prefix(start.size());
  return true;
}

// A tensor of a head by its name in a file.
struct HeadTensor {
  int64_t head = -1;   // below 0: it is of none
  int64_t block = -1;  // below 0: the output matrix
  std::string_view ending = {};
  bool has_class_name = false;
};

HeadTensor head_tensor(std::string_view name, int64_t n_blocks) {
  take_start(name, "medusa_heads.");
  HeadTensor tensor;
  if (take_start(name, "blocks.")) {
    tensor = {.head = take_place(name), .has_class_name = true};
    tensor.block = take_start(name, "layers.") ? take_place(name) : -1;
    if (tensor.block < 0) return {};
  } else if (take_start(name, "lm_heads.")) {
    tensor = {.head = take_place(name), .has_class_name = true};
  } else {
    tensor.head = take_place(name);
    const int64_t place = take_place(name);
    const bool is_block = take_start(name, "linear.");
    if (place < 0 || is_block != (place < n_blocks) || place > n_blocks) return {};
    tensor.block = is_block ? place : -1;
  }
  tensor.ending = name;
  const bool is_known = name == "weight" || (name == "bias" && tensor.block >= 0);
  return is_known && tensor.block < n_blocks ? tensor : HeadTensor();
}

// Where a config has no class, its type may be an empty text.
bool names_class(const Members& config) {
  const bool has_type = config.is_set("model_type") && config.shown("model_type") != "\"\"";
  return config.is_set("architectures") || has_type;
}

}  // namespace

bool has_parallel_heads(const Members& config) {
  return config.has(kHeadsKey) && !names_class(config);
}

Status read_hf_parallel_heads(const Members& config, HfValues& out) {
  constexpr std::string_view kBias = "medusa_fc_bias", kShared = "original_lm_head";
  HfParallelHeads heads;
  heads.n = TRY(read_head_count(config, kHeadsKey, "num_heads", "ahead.head_count", out));
  heads.n_blocks =
      TRY(read_head_count(config, kHeadBlocksKey, "num_hidden_layers", "ahead.block_count", out));
  TRY(read_head_size(config, "hidden_size", "embedding_length", out));
  heads.has_tokens = TRY(read_head_vocabulary(config, out));
  heads.is_of_class = names_class(config);
  const std::optional<bool> bias = TRY(config.truth(kBias));
  heads.class_has_bias = bias.value_or(false);
  if (bias || !heads.is_of_class) {
    out.set("ahead.block_bias", bias.value_or(true), config.path_of(kBias));
  }
  out.set("ahead.own_outputs", heads.is_of_class, "architectures");
  heads.shares_output = TRY(config.truth(kShared)).value_or(false);
  out.set("ahead.shared_output", heads.shares_output, config.path_of(kShared));
  out.set_parallel(heads);
  return {};
}

bool HfParallelHeads::is_behind(std::string_view hf_name) const {
  return n > 0 && head_tensor(hf_name, n_blocks).head >= n;
}

std::string HfParallelHeads::gguf_of(std::string_view hf_name) const {
  if (hf_name == "token_map") return has_tokens ? "d2t" : "";
  if (hf_name == "lm_head.weight") return shares_output ? "ahead.0.output.weight" : "";
  const HeadTensor tensor = head_tensor(hf_name, n_blocks);
  const bool is_repeated = shares_output && tensor.block < 0 && tensor.head > 0;
  if (tensor.head < 0 || tensor.head >= n || is_repeated) return {};
  if (tensor.block < 0) return fmt::format("ahead.{}.output.{}", tensor.head, tensor.ending);
  if (tensor.ending == "bias" && tensor.has_class_name && !class_has_bias) return {};
  return fmt::format("ahead.{}.block.{}.{}", tensor.head, tensor.block, tensor.ending);
}

std::string HfParallelHeads::hf_of(std::string_view gguf_name) const {
  if (gguf_name == "d2t") return "token_map";
  std::string_view name = gguf_name;
  const int64_t head = take_start(name, "ahead.") ? take_place(name) : -1;
  if (head < 0) return std::string(gguf_name);
  if (take_start(name, "output.")) {
    return is_of_class ? fmt::format("lm_heads.{}.{}", head, name)
                       : fmt::format("{}.{}.{}", head, n_blocks, name);
  }
  const int64_t block = take_start(name, "block.") ? take_place(name) : -1;
  return is_of_class ? fmt::format("blocks.{}.layers.{}.{}", head, block, name)
                     : fmt::format("{}.{}.linear.{}", head, block, name);
}

}  // namespace ruv
