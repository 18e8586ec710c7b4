// The families' records. Lists of keys follow the configuration and model classes of transformers
// 5.23.
#include "format/hf_family.h"

#include <algorithm>
#include <array>

namespace ruv {
namespace {

constexpr std::string_view kGeluTanh = "gelu_pytorch_tanh";

// What nearly all classes read.
#define RUV_DECODER_KEYS                                                                      \
  " vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads "          \
  "num_key_value_heads head_dim max_position_embeddings tie_word_embeddings rope_parameters " \
  "rope_scaling rope_theta partial_rotary_factor original_max_position_embeddings "
#define RUV_GEMMA_KEYS                                                   \
  RUV_DECODER_KEYS                                                       \
  "hidden_activation rms_norm_eps attention_bias query_pre_attn_scalar " \
  "final_logit_softcapping sliding_window layer_types "

constexpr NeutralKey kCausal[] = {{"use_bidirectional_attention", " null false "}};
constexpr NeutralKey kGpt2Neutral[] = {{"add_cross_attention", " false "}};

constexpr std::array kFamilies = {
    HfFamily{.model_type = "llama",
             .classes = " LlamaForCausalLM LlamaModel LLaMAForCausalLM ",
             .gguf = "llama",
             .max_positions = 2048,
             .null_kv_heads = true,
             .qkv_bias = "attention_bias",
             .output_bias = "attention_bias",
             .mlp_bias = "mlp_bias",
             .honoured = RUV_DECODER_KEYS "hidden_act rms_norm_eps attention_bias mlp_bias ",
             .without_effect = " pretraining_tp "},
    HfFamily{.model_type = "mistral",
             .classes = " MistralForCausalLM MistralModel ",
             .gguf = "llama",
             .max_positions = 131072,
             .n_kv_heads = 8,
             .windows = HfWindows::all,
             .window = 4096,
             .honoured = RUV_DECODER_KEYS "hidden_act rms_norm_eps sliding_window "},
    HfFamily{.model_type = "mixtral",
             .classes = " MixtralForCausalLM MixtralModel ",
             .gguf = "llama",
             .norm_eps = 1e-5,
             .max_positions = 131072,
             .n_kv_heads = 8,
             .windows = HfWindows::all,
             .rope_base = 1e6,
             .experts = true,
             .honoured = RUV_DECODER_KEYS
             "hidden_act rms_norm_eps sliding_window num_local_experts num_experts "
             "num_experts_per_tok ",
             .without_effect = " output_router_logits router_aux_loss_coef router_jitter_noise "},
    HfFamily{.model_type = "qwen2",
             .classes = " Qwen2ForCausalLM Qwen2Model ",
             .gguf = "qwen2",
             .max_positions = 32768,
             .n_kv_heads = 32,
             .null_kv_heads = true,
             .windows = HfWindows::upper,
             .window = 4096,
             .qkv_bias = "true",
             .honoured = RUV_DECODER_KEYS
             "hidden_act rms_norm_eps sliding_window use_sliding_window max_window_layers "
             "layer_types "},
    HfFamily{.model_type = "qwen3",
             .classes = " Qwen3ForCausalLM Qwen3Model ",
             .gguf = "qwen3",
             .max_positions = 32768,
             .n_kv_heads = 32,
             .null_kv_heads = true,
             .head_dim = 128,
             .windows = HfWindows::upper,
             .window = 4096,
             .qkv_bias = "attention_bias",
             .output_bias = "attention_bias",
             .honoured = RUV_DECODER_KEYS
             "hidden_act rms_norm_eps sliding_window use_sliding_window max_window_layers "
             "layer_types attention_bias "},
    HfFamily{.model_type = "gemma",
             .classes = " GemmaForCausalLM GemmaModel ",
             .gguf = "gemma",
             .act = kGeluTanh,
             .max_positions = 8192,
             .n_heads = 16,
             .n_kv_heads = 16,
             .head_dim = 256,
             .qkv_bias = "attention_bias",
             .output_bias = "attention_bias",
             .norms_minus_one = true,
             .tied = true,
             .honoured = RUV_DECODER_KEYS "hidden_act rms_norm_eps attention_bias ",
             .without_effect = "",
             .neutral = kCausal},
    HfFamily{.model_type = "gemma2",
             .classes = " Gemma2ForCausalLM Gemma2Model ",
             .gguf = "gemma2",
             .act_key = "hidden_activation",
             .act = kGeluTanh,
             .max_positions = 8192,
             .n_heads = 8,
             .n_kv_heads = 4,
             .head_dim = 256,
             .windows = HfWindows::periodic,
             .window = 4096,
             .window_period = 2,
             .query_scalar = 256,
             .attn_softcap = true,
             .final_softcap = true,
             .qkv_bias = "attention_bias",
             .output_bias = "attention_bias",
             .norms_minus_one = true,
             .tied = true,
             .honoured = RUV_GEMMA_KEYS "attn_logit_softcapping ",
             .without_effect = "",
             .neutral = kCausal},
    HfFamily{.model_type = "gemma3_text",
             .classes = " Gemma3ForCausalLM Gemma3TextModel ",
             .gguf = "gemma3",
             .act_key = "hidden_activation",
             .act = kGeluTanh,
             .max_positions = 131072,
             .n_heads = 8,
             .n_kv_heads = 4,
             .head_dim = 256,
             .windows = HfWindows::periodic,
             .window = 4096,
             .window_period = 6,
             .period_key = "sliding_window_pattern",
             .rope = HfRope::by_kind,
             .rope_base = 1e6,
             .query_scalar = 256,
             .final_softcap = true,
             .qkv_bias = "attention_bias",
             .output_bias = "attention_bias",
             .norms_minus_one = true,
             .tied = true,
             .honoured = RUV_GEMMA_KEYS "sliding_window_pattern rope_local_base_freq ",
             // Attention is never given this cap.
             .without_effect = " attn_logit_softcapping _sliding_window_pattern ",
             .neutral = kCausal},
    HfFamily{.model_type = "phi3",
             .classes = " Phi3ForCausalLM Phi3Model ",
             .gguf = "phi3",
             .norm_eps = 1e-5,
             .max_positions = 4096,
             .null_kv_heads = true,
             .windows = HfWindows::all,
             .rope = HfRope::partial,
             .honoured = RUV_DECODER_KEYS "hidden_act rms_norm_eps sliding_window "},
    HfFamily{.model_type = "gpt2",
             .classes = " GPT2LMHeadModel GPT2Model ",
             .gguf = "gpt2",
             .act_key = "activation_function",
             .act = "gelu_new",
             .norm_eps_key = "layer_norm_epsilon",
             .layer_norm = true,
             .norm_eps = 1e-5,
             .gpt_names = true,
             .max_positions = 1024,
             .ignores_head_dim = true,
             .rope = HfRope::none,
             .scales_attention = true,
             .qkv_bias = "true",
             .output_bias = "true",
             .mlp_bias = "true",
             .tied = true,
             .honoured = " vocab_size n_embd n_layer n_head n_positions n_inner "
                         "activation_function layer_norm_epsilon tie_word_embeddings hidden_size "
                         "num_hidden_layers num_attention_heads max_position_embeddings "
                         "scale_attn_weights scale_attn_by_inverse_layer_idx ",
             // The order of a product and the heads of other tasks.
             .without_effect = " reorder_and_upcast_attn n_ctx summary_type summary_use_proj "
                               "summary_activation summary_proj_to_labels summary_first_dropout "
                               "summary_last_dropout classifier_dropout hidden_dropout num_labels ",
             .neutral = kGpt2Neutral},
    HfFamily{.model_type = "starcoder2",
             .classes = " Starcoder2ForCausalLM Starcoder2Model ",
             .gguf = "starcoder2",
             .act = kGeluTanh,
             .norm_eps_key = "norm_epsilon",
             .layer_norm = true,
             .norm_eps = 1e-5,
             .max_positions = 4096,
             .n_heads = 24,
             .n_kv_heads = 2,
             .windows = HfWindows::all,
             .qkv_bias = "use_bias",
             .output_bias = "use_bias",
             .mlp_bias = "use_bias",
             .tied = true,
             .honoured = RUV_DECODER_KEYS "hidden_act norm_epsilon use_bias sliding_window "},
};

// The class whose text_config is a gemma3_text config.
constexpr HfFamily nested_gemma3() {
  for (const HfFamily& family : kFamilies) {
    if (family.model_type != "gemma3_text") continue;
    HfFamily nested = family;
    nested.model_type = "gemma3";
    nested.classes = " Gemma3ForConditionalGeneration Gemma3Model ";
    nested.nested = true;
    return nested;
  }
  return {};
}

constexpr auto kAll = [] {
  std::array<HfFamily, kFamilies.size() + 1> all{};
  std::copy(kFamilies.begin(), kFamilies.end(), all.begin());
  all.back() = nested_gemma3();
  return all;
}();

// A config that is quantised, computed without a causal mask or different from layer to layer.
constexpr NeutralKey kAlwaysNeutral[] = {{"is_causal", " true "},
                                         {"is_encoder_decoder", " false "},
                                         {"per_layer_config", " null "},
                                         {"quantization_config", " null "},
                                         {"attention_chunk_size", " null "}};

}  // namespace

std::span<const HfFamily> hf_families() { return kAll; }

const HfFamily* find_hf_family(std::string_view model_type) {
  const auto* const found = std::find_if(kAll.begin(), kAll.end(), [&](const HfFamily& family) {
    return family.model_type == model_type;
  });
  return found == kAll.end() ? nullptr : found;
}

std::string_view hf_keys_without_effect() {
  return " architectures model_type transformers_version auto_map _name_or_path name_or_path "
         "_commit_hash dtype torch_dtype _attn_implementation attn_implementation "
         "_attn_implementation_autoset _attn_implementation_internal _experts_implementation "
         "use_cache cache_implementation return_dict output_attentions output_hidden_states "
         "initializer_range initializer_factor attention_dropout hidden_dropout resid_pdrop "
         "embd_pdrop attn_pdrop residual_dropout embedding_dropout chunk_size_feed_forward "
         "bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id id2label "
         "label2id num_labels problem_type task_specific_params finetuning_task prefix "
         "tokenizer_class torchscript pruned_heads unsloth_version unsloth_fixed do_sample "
         "max_length temperature top_k top_p gradient_checkpointing is_decoder ";
}

std::span<const NeutralKey> hf_neutral_keys() { return kAlwaysNeutral; }

std::string_view hf_rope_keys() {
  return " rope_theta rope_type type partial_rotary_factor factor original_max_position_embeddings "
         "attention_factor short_factor long_factor low_freq_factor high_freq_factor ";
}

std::string_view hf_rope_keys_without_effect() {
  return " beta_fast beta_slow mscale mscale_all_dim truncate mrope_section ";
}

std::string_view hf_outer_keys() { return " text_config tie_word_embeddings "; }

std::string_view hf_outer_keys_without_effect() {
  return " vision_config mm_tokens_per_image boi_token_index eoi_token_index image_token_index "
         "boi_token_id eoi_token_id image_token_id ";
}

bool is_word_of(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != word.npos) return false;
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || list[at - 1] == ' ';
    const bool ends = end == list.size() || list[end] == ' ';
    if (begins && ends) return true;
  }
  return false;
}

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const size_t begin = list.find_first_not_of(' ');
    if (begin == list.npos) break;
    list.remove_prefix(begin);
    const size_t end = std::min(list.find(' '), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(end);
  }
  return words;
}

}  // namespace ruv
