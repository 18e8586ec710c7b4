// Keys of classes that answer a source text.
#include <cmath>

#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {

Status read_hf_gated_act(const Members& config, HfValues& out) {
  constexpr std::string_view kGated = "gated-";
  const HfClass& hf = out.hf();
  const std::string text = TRY(config.text_or(hf.gated_act_key, hf.gated_act));
  const bool is_gated = text.starts_with(kGated);
  std::string act = text.substr(is_gated ? kGated.size() : 0);
  if (act.empty() || act.find('-') != act.npos) {
    return config.wrong(hf.gated_act_key,
                        fmt::format("is '{}'; an activation, or 'gated-' and one, are supported",
                                    quoted_name(text)),
                        Code::unsupported);
  }
  // The older name of this form is for the approximation.
  if (text == "gated-gelu") act = "gelu_new";
  // What the class has made of that key once is written beside it, and counts then.
  constexpr std::string_view kAct = "dense_act_fn", kGates = "is_gated_act";
  const std::string_view act_key = config.is_set(kAct) ? kAct : hf.gated_act_key;
  const std::string_view gates_key = config.is_set(kGates) ? kGates : hf.gated_act_key;
  out.set("hidden_act", TRY(config.text_or(kAct, act)), config.path_of(act_key));
  out.set("feed_forward_gated", TRY(config.truth(kGates)).value_or(is_gated),
          config.path_of(gates_key));
  return {};
}

Status read_hf_source(const Members& config, const HfLayers& layers, int64_t width, HfValues& out) {
  constexpr std::string_view kStart = "decoder_start_token_id", kPadding = "pad_token_id";
  constexpr std::string_view kTied = "tie_word_embeddings";
  const HfClass& hf = out.hf();
  const std::string_view count = hf.sizes.decoder_layers;
  const int64_t n = config.is_set(count) ? TRY(config.positive(count)) : layers.n;
  out.set("decoder_block_count", n, config.path_of(count));
  const std::string_view start = config.is_set(kStart) ? kStart : kPadding;
  const int64_t token = config.is_set(start) ? TRY(config.integer(start)) : 0;
  out.set(kStart, token, config.path_of(start));
  // Classes that divide tied logits write it beside that key, which they set to true.
  constexpr std::string_view kDivides = "scale_decoder_outputs";
  bool divides = hf.divides_tied_logits && TRY(config.truth(kTied)).value_or(true);
  const bool is_said = hf.divides_tied_logits && config.is_set(kDivides);
  if (is_said) divides = TRY(config.truth(kDivides)).value_or(divides);
  out.set("logit_scale", divides ? 1 / std::sqrt(static_cast<double>(width)) : 1.0,
          config.path_of(is_said ? kDivides : kTied));
  return {};
}

Status read_hf_sides(const Members& config, const Members& decoder, HfConfig& config_out,
                     HfValues& out) {
  constexpr std::string_view kStart = "decoder_start_token_id", kFirst = "bos_token_id";
  constexpr std::string_view kTied = "tie_word_embeddings", kVocab = "vocab_size";
  const HfClass& hf = out.hf();
  config_out.tied_embeddings = TRY(config.truth(kTied)).value_or(hf.tied);
  out.set(kTied, config_out.tied_embeddings, config.path_of(kTied));
  const Members& said = config.is_set(kStart) || config.is_set(kFirst) ? config : decoder;
  const std::string_view start = config.is_set(kStart) ? kStart : kFirst;
  const int64_t token = said.is_set(start) ? TRY(said.integer(start)) : 2;
  out.set(kStart, token, said.path_of(start));
  out.choose_side(true);
  const MetaValue* const read = out.find(kVocab);
  out.choose_side(false);
  const MetaValue* const written = out.find(kVocab);
  if (read != nullptr && written != nullptr && *read != *written) {
    return decoder.wrong(kVocab, "differs from the encoder's", Code::unsupported);
  }
  return check_hf_outer_keys(config, out);
}

}  // namespace ruv
