// Model: a family's record, a file's numbers, and named weights, with tokenizer and chat template.
// Immutable after loading; adapters are separate values.
#pragma once

#include <memory>

#include "chat/chat_template.h"
#include "device/kv_pages.h"
#include "format/model_file.h"
#include "model/rope.h"
#include "ruv/model.h"
#include "text/tokenizer.h"

namespace ruv {

// Weights are (n_out, n_in). Empty ones do not exist in this model.
struct LayerWeights {
  Vector attn_norm, attn_norm_bias;
  Weight q, k, v, o;
  Vector q_bias, k_bias, v_bias, o_bias;
  Vector q_norm, k_norm;  // (head_dim)
  Vector key_centre;      // model/key_centre.h
  Vector attn_post_norm, ffn_post_norm;
  Vector ffn_norm, ffn_norm_bias;
  Weight gate, up, down;
  Vector gate_bias, up_bias, down_bias;
};

struct Model {
  const FamilyRecord* family = nullptr;
  HParams h;
  RopePlans rope;
  const Kernels* kernels = nullptr;  // whose layout the weights have
  Weight token_embd;                 // plain rows
  Weight position_embd;              // plain rows; learned positions only
  std::vector<LayerWeights> layers;
  Vector output_norm, output_norm_bias;
  Weight output;
  bool from_packed_file = false;
  std::vector<std::string> remarks;                   // ModelInfo::remarks
  std::unique_ptr<const ModelFile> file;              // plain rows point into it
  std::shared_ptr<const MappedFile> packed_file;      // packed weights point into it; null: none
  std::shared_ptr<const Tokenizer> tokenizer;         // null: the file has none
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the file has none
  // Why a tokenizer or template the file does have cannot be used.
  Status tokenizer_status, chat_template_status;

  // Ids that may be generated: embeddings are often padded beyond the tokenizer's vocabulary.
  int64_t n_usable_tokens() const {
    return tokenizer != nullptr ? tokenizer->vocab_size() : h.n_vocab;
  }
  KvShape kv_shape() const { return {h.n_layers, h.n_kv_heads, h.head_dim}; }
  // The positions of layer i for sequences of up to n_ctx tokens.
  const RopePlan& rope_of(int64_t layer, int64_t n_ctx) const {
    return window_of(layer) > 0 ? local_rope(n_ctx) : global_rope(n_ctx);
  }
  // The plan of layers with a window; the global one if the family has one base for all layers.
  const RopePlan& local_rope(int64_t n_ctx) const {
    return rope.local.inv_freq.empty() ? global_rope(n_ctx) : rope.local;
  }
  const RopePlan& global_rope(int64_t n_ctx) const {
    return rope.original_ctx > 0 && n_ctx > rope.original_ctx ? rope.extended : rope.global;
  }
  int64_t window_of(int64_t layer) const {
    return h.local_layers[static_cast<size_t>(layer)] ? h.window : 0;
  }
};

// The file that could not be read when a part of it was needed (MappedFile::is_damaged); null: all
// is well. Any thread.
const MappedFile* damaged_file(const Model& model);

}  // namespace ruv
