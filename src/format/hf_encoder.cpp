// Keys of classes whose rows see each other: token types, where positions begin, and the width of
// the embeddings.
#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {

Status read_hf_encoder(const Members& config, int64_t width, HfValues& out) {
  constexpr std::string_view kTypes = "type_vocab_size", kPadding = "pad_token_id";
  constexpr std::string_view kWidth = "embedding_size";
  const HfClass& hf = out.hf();
  out.set("attention.causal", false, "");
  // A class without token types has no table of them, whatever a key says.
  if (out.family().block.token_types) {
    const bool is_said = hf.has_token_types && config.has(kTypes);
    const int64_t n = is_said ? TRY(config.integer(kTypes)) : hf.token_types;
    out.set("token_type_count", n, config.path_of(kTypes));
  }
  if (hf.whole_embeddings && config.is_set(kWidth) && TRY(config.positive(kWidth)) != width) {
    return config.wrong(kWidth, "differs from the hidden size", Code::unsupported);
  }
  if (!hf.groups_key.empty()) {
    out.set("layer_group_count", TRY(config.positive_or(hf.groups_key, 1)),
            config.path_of(hf.groups_key));
  }
  // Embeddings that are narrower than the stream pass a matrix.
  if (hf.embedding_width > 0) {
    const int64_t n = TRY(config.positive_or(kWidth, hf.embedding_width));
    if (n > width) return config.wrong(kWidth, "is above the hidden size", Code::unsupported);
    out.set("embedding_length_in", n, config.path_of(kWidth));
  }
  // The padding token takes the first row but its id; the rows before that are not used.
  if (!hf.positions_after_padding) return {};
  const int64_t padding = config.has(kPadding) ? TRY(config.integer(kPadding)) : hf.padding;
  out.set("unplaced_token", padding, config.path_of(kPadding));
  out.set("position_offset", padding + 1, config.path_of(kPadding));
  return {};
}

Status read_hf_glu(const Members& config, HfValues& out) {
  const std::string_view key = out.hf().glu_key;
  const std::string text = TRY(config.text_or(key, ""));
  if (text != "geglu" && text != "reglu") {
    return config.wrong(
        key,
        config.has(key) ? fmt::format("is '{}'; geglu and reglu are supported", quoted_name(text))
                        : "is missing; geglu and reglu are supported",
        Code::unsupported);
  }
  out.set("hidden_act", std::string(text == "geglu" ? "gelu" : "relu"), config.path_of(key));
  return {};
}

}  // namespace ruv
