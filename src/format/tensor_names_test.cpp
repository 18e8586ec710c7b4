// Names of every family there and back, and names that only look like them.
#include "format/tensor_names.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TensorNames names(std::string_view family) {
  EXPECT_NE(find_family(family), nullptr);
  return TensorNames(find_family(family));
}

std::string gguf(std::string_view hf, std::string_view family) {
  return names(family).gguf_of(hf).gguf;
}

TEST(TensorNames, CommonNames) {
  EXPECT_EQ(gguf("model.embed_tokens.weight", "llama"), "token_embd.weight");
  EXPECT_EQ(gguf("model.norm.weight", "llama"), "output_norm.weight");
  EXPECT_EQ(gguf("lm_head.weight", "llama"), "output.weight");
  EXPECT_EQ(gguf("model.layers.31.self_attn.q_proj.weight", "llama"), "blk.31.attn_q.weight");
  EXPECT_EQ(gguf("model.layers.0.self_attn.k_proj.bias", "qwen2"), "blk.0.attn_k.bias");
  EXPECT_EQ(gguf("model.layers.7.self_attn.q_norm.weight", "qwen3"), "blk.7.attn_q_norm.weight");
  EXPECT_EQ(gguf("model.layers.2.mlp.gate_up_proj.weight", "phi3"), "blk.2.ffn_up.weight");
  EXPECT_EQ(gguf("model.layers.2.self_attn.qkv_proj.weight", "phi3"), "blk.2.attn_qkv.weight");
  EXPECT_EQ(gguf("model.layers.1.block_sparse_moe.experts.3.w2.weight", "llama"),
            "blk.1.ffn_down.3.weight");
}

TEST(TensorNames, TheSameHfNameMeansAnotherNormInSandwichFamilies) {
  constexpr std::string_view kName = "model.layers.4.post_attention_layernorm.weight";
  EXPECT_EQ(gguf(kName, "llama"), "blk.4.ffn_norm.weight");
  EXPECT_EQ(gguf(kName, "gemma"), "blk.4.ffn_norm.weight");
  EXPECT_EQ(gguf(kName, "gemma2"), "blk.4.post_attention_norm.weight");
  EXPECT_EQ(gguf(kName, "gemma3"), "blk.4.post_attention_norm.weight");
  EXPECT_EQ(gguf("model.layers.4.pre_feedforward_layernorm.weight", "gemma3"),
            "blk.4.ffn_norm.weight");
  EXPECT_EQ(gguf("model.layers.4.post_feedforward_layernorm.weight", "gemma2"),
            "blk.4.post_ffw_norm.weight");
}

TEST(TensorNames, MatricesOfLatentAttention) {
  EXPECT_EQ(gguf("model.layers.3.self_attn.q_a_proj.weight", "minicpm3"), "blk.3.attn_q_a.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.q_a_layernorm.weight", "minicpm3"),
            "blk.3.attn_q_a_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.q_b_proj.weight", "minicpm3"), "blk.3.attn_q_b.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.kv_a_proj_with_mqa.bias", "deepseek2"),
            "blk.3.attn_kv_a_mqa.bias");
  EXPECT_EQ(gguf("model.layers.3.self_attn.kv_a_layernorm.weight", "deepseek2"),
            "blk.3.attn_kv_a_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.indexer.wq_b.weight", "deepseek32"),
            "blk.3.indexer.attn_q_b.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.indexer.wk.weight", "glm-dsa"),
            "blk.3.indexer.attn_k.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.indexer.weights_proj.weight", "glm-dsa"),
            "blk.3.indexer.proj.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.indexer.k_norm.bias", "deepseek32"),
            "blk.3.indexer.k_norm.bias");
  EXPECT_EQ(gguf("model.layers.3.self_attn.kv_b_proj.weight", "deepseek2"),
            "blk.3.attn_kv_b.weight");
}

TEST(TensorNames, SelectiveScans) {
  EXPECT_EQ(gguf("backbone.embeddings.weight", "mamba"), "token_embd.weight");
  EXPECT_EQ(gguf("backbone.layers.3.mixer.A_log", "mamba"), "blk.3.ssm_a");
  EXPECT_EQ(gguf("layers.3.mixer.dt_proj.bias", "mamba"), "blk.3.ssm_dt.bias");
  EXPECT_EQ(gguf("backbone.layers.3.mixer.x_proj.weight", "mamba"), "blk.3.ssm_x.weight");
  EXPECT_EQ(gguf("backbone.layers.3.mixer.dt_bias", "mamba2"), "blk.3.ssm_dt.bias");
  EXPECT_EQ(gguf("backbone.layers.3.mixer.D", "mamba2"), "blk.3.ssm_d");
  EXPECT_EQ(gguf("backbone.norm_f.weight", "mamba2"), "output_norm.weight");
  EXPECT_EQ(names("mamba2").hf_of("blk.3.ssm_norm.weight"), "backbone.layers.3.mixer.norm.weight");
}

TEST(TensorNames, MatrixMemories) {
  EXPECT_EQ(gguf("backbone.blocks.3.mlstm_layer.igate_preact.bias", "xlstm"),
            "blk.3.memory_in.bias");
  EXPECT_EQ(gguf("backbone.blocks.3.mlstm_layer.ogate_preact.weight", "xlstm"),
            "blk.3.memory_gate.weight");
  EXPECT_EQ(gguf("backbone.out_norm.weight", "xlstm"), "output_norm.weight");
}

TEST(TensorNames, FamiliesBeforeLlama) {
  EXPECT_EQ(gguf("transformer.layers.3.attn.qkv_proj.weight", "openelm"), "blk.3.attn_qkv.weight");
  EXPECT_EQ(gguf("transformer.layers.3.ffn.proj_1.weight", "openelm"), "blk.3.ffn_gate.weight");
  EXPECT_EQ(gguf("gpt_neox.embed_in.weight", "gptneox"), "token_embd.weight");
  EXPECT_EQ(gguf("layers.3.attention.dense.bias", "gptneox"), "blk.3.attn_output.bias");
  EXPECT_EQ(gguf("embed_out.weight", "gptneox"), "output.weight");
  EXPECT_EQ(gguf("transformer.h.3.ln_attn.weight", "falcon"), "blk.3.attn_norm_2.weight");
  EXPECT_EQ(gguf("transformer.h.3.ln_mlp.bias", "falcon"), "blk.3.attn_norm.bias");
  EXPECT_EQ(gguf("transformer.h.3.input_layernorm.weight", "falcon"), "blk.3.attn_norm.weight");
  EXPECT_EQ(gguf("word_embeddings_layernorm.weight", "bloom"), "token_embd_norm.weight");
  EXPECT_EQ(gguf("transformer.blocks.1.attn.Wqkv.weight", "mpt"), "blk.1.attn_qkv.weight");
  EXPECT_EQ(gguf("decoder.layers.1.final_layer_norm.bias", "opt"), "blk.1.ffn_norm.bias");
  EXPECT_EQ(gguf("model.decoder.final_layer_norm.bias", "opt"), "output_norm.bias");
  EXPECT_EQ(gguf("transformer.h.0.mlp.fc_in.bias", "gptj"), "blk.0.ffn_up.bias");
  EXPECT_EQ(gguf("transformer.h.0.attn.qkv_proj.weight", "codegen"), "blk.0.attn_qkv.weight");
  EXPECT_EQ(gguf("transformer.h.0.attn.c_attn.bias", "starcoder"), "blk.0.attn_qkv.bias");
}

TEST(TensorNames, SinksExpertsAndDistances) {
  EXPECT_EQ(gguf("model.layers.2.self_attn.sinks", "granite_swa"), "blk.2.attn_sinks.weight");
  EXPECT_EQ(gguf("model.layers.2.block_sparse_moe.experts.down_proj", "granite_swa"),
            "blk.2.ffn_down_exps.weight");
  EXPECT_EQ(gguf("transformer.blocks.1.norm_attn_norm.norm_2.weight", "dbrx"),
            "blk.1.attn_output_norm.weight");
  EXPECT_EQ(gguf("transformer.blocks.1.ffn.experts.mlp.w2", "dbrx"), "blk.1.ffn_down_exps.weight");
  EXPECT_EQ(gguf("mpnet.encoder.relative_attention_bias.weight", "mpnet"), "attn_rel_b.weight");
  EXPECT_EQ(gguf("encoder.layer.1.attention.attn.o.bias", "mpnet"), "blk.1.attn_output.bias");
  EXPECT_EQ(gguf("deberta.encoder.LayerNorm.bias", "deberta-v2"), "rel_embd_norm.bias");
  EXPECT_EQ(gguf("encoder.layer.1.attention.self.pos_key_proj.weight", "deberta-v2"),
            "blk.1.attn_pos_k.weight");
}

TEST(TensorNames, NormsAndNumbersOfFurtherDecoders) {
  EXPECT_EQ(gguf("model.layers.3.self_attn.q_layernorm.norms.5.weight", "stablelm"),
            "blk.3.attn_q_norm.5.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.attn_sub_norm.weight", "bitnet"),
            "blk.3.attn_sub_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.mlp.ffn_sub_norm.weight", "bitnet"), "blk.3.ffn_sub_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.pre_feedforward_layernorm.weight", "vaultgemma"),
            "blk.3.ffn_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.post_attention_layernorm.weight", "hyperclovax"),
            "blk.3.ffn_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.post_norm1.weight", "hyperclovax"),
            "blk.3.post_attention_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.post_norm2.weight", "hyperclovax"), "blk.3.post_ffw_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.feedforward_layernorm.weight", "apertus"),
            "blk.3.ffn_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.mlp.act_fn.alpha_p", "apertus"), "blk.3.xielu.alpha_p");
  EXPECT_EQ(gguf("transformer.h.3.attn.attention.out_proj.bias", "gpt_neo"),
            "blk.3.attn_output.bias");
  EXPECT_EQ(gguf("model.layers.3.mlp.fc1.weight", "nanochat"), "blk.3.ffn_up.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.query_key_value.bias", "persimmon"),
            "blk.3.attn_qkv.bias");
  EXPECT_EQ(gguf("model.final_layernorm.weight", "persimmon"), "output_norm.weight");
}

TEST(TensorNames, ExpertsOfLlama4AndMistral4) {
  const MappedName fused =
      names("llama4").gguf_of("model.layers.3.feed_forward.experts.gate_up_proj");
  EXPECT_EQ(fused.gguf, "blk.3.ffn_gate_exps.weight");
  EXPECT_EQ(fused.other, "blk.3.ffn_up_exps.weight");
  EXPECT_EQ(
      gguf("language_model.model.layers.3.feed_forward.shared_expert.down_proj.weight", "llama4"),
      "blk.3.ffn_down_shexp.weight");
  EXPECT_EQ(gguf("model.layers.3.feed_forward.router.weight", "llama4"),
            "blk.3.ffn_gate_inp.weight");
  EXPECT_EQ(gguf("model.layers.3.mlp.experts.down_proj", "mistral4"), "blk.3.ffn_down_exps.weight");
}

TEST(TensorNames, LayersOfLfm2) {
  EXPECT_EQ(gguf("model.embedding_norm.weight", "lfm2"), "token_embd_norm.weight");
  EXPECT_EQ(gguf("model.layers.0.operator_norm.weight", "lfm2"), "blk.0.attn_norm.weight");
  EXPECT_EQ(gguf("model.layers.2.self_attn.q_proj.weight", "lfm2"), "blk.2.attn_q.weight");
  EXPECT_EQ(gguf("model.layers.2.self_attn.q_layernorm.weight", "lfm2"),
            "blk.2.attn_q_norm.weight");
  EXPECT_EQ(gguf("model.layers.2.self_attn.k_layernorm.weight", "lfm2"),
            "blk.2.attn_k_norm.weight");
  EXPECT_EQ(gguf("model.layers.2.self_attn.out_proj.weight", "lfm2"), "blk.2.attn_output.weight");
  EXPECT_EQ(gguf("model.layers.0.conv.in_proj.weight", "lfm2"), "blk.0.shortconv.in_proj.weight");
  EXPECT_EQ(gguf("model.layers.0.conv.out_proj.bias", "lfm2"), "blk.0.shortconv.out_proj.bias");
  EXPECT_EQ(gguf("model.layers.0.ffn_norm.weight", "lfm2"), "blk.0.ffn_norm.weight");
  EXPECT_EQ(gguf("model.layers.0.feed_forward.w1.weight", "lfm2"), "blk.0.ffn_gate.weight");
  EXPECT_EQ(gguf("model.layers.0.feed_forward.w2.weight", "lfm2"), "blk.0.ffn_down.weight");
  EXPECT_EQ(gguf("model.layers.0.feed_forward.w3.weight", "lfm2"), "blk.0.ffn_up.weight");
  const MappedName conv = names("lfm2").gguf_of("model.layers.0.conv.conv.weight");
  EXPECT_EQ(conv.gguf, "blk.0.shortconv.conv.weight");
  EXPECT_TRUE(conv.form.depthwise);
}

TEST(TensorNames, LinearAttentionOfQwen35) {
  EXPECT_EQ(gguf("model.layers.0.linear_attn.in_proj_qkv.weight", "qwen35"),
            "blk.0.attn_qkv.weight");
  EXPECT_EQ(gguf("model.language_model.layers.7.linear_attn.in_proj_z.weight", "qwen35"),
            "blk.7.attn_gate.weight");
  EXPECT_EQ(gguf("model.layers.0.linear_attn.in_proj_a.weight", "qwen35"),
            "blk.0.ssm_alpha.weight");
  EXPECT_EQ(gguf("model.layers.0.linear_attn.in_proj_b.weight", "qwen35"), "blk.0.ssm_beta.weight");
  EXPECT_EQ(gguf("model.layers.0.linear_attn.A_log", "qwen35"), "blk.0.ssm_a");
  EXPECT_EQ(gguf("layers.0.linear_attn.dt_bias", "qwen35"), "blk.0.ssm_dt.bias");
  EXPECT_EQ(gguf("model.layers.0.linear_attn.norm.weight", "qwen35"), "blk.0.ssm_norm.weight");
  EXPECT_EQ(gguf("model.layers.0.linear_attn.out_proj.weight", "qwen35"), "blk.0.ssm_out.weight");
  EXPECT_EQ(gguf("model.layers.0.post_attention_layernorm.weight", "qwen35"),
            "blk.0.post_attention_norm.weight");
  EXPECT_TRUE(names("qwen35").gguf_of("model.layers.0.linear_attn.conv1d.weight").form.depthwise);
  EXPECT_EQ(names("qwen35").hf_of("blk.3.ssm_a"), "model.layers.3.linear_attn.A_log");
  EXPECT_EQ(names("qwen35").hf_of("blk.3.ssm_dt.bias"), "model.layers.3.linear_attn.dt_bias");
}

TEST(TensorNames, LinearAttentionAndExpertsOfQwen3Next) {
  EXPECT_EQ(gguf("model.layers.0.linear_attn.in_proj_qkvz.weight", "qwen3next"),
            "blk.0.ssm_in.weight");
  EXPECT_EQ(gguf("model.layers.0.linear_attn.in_proj_ba.weight", "qwen3next"),
            "blk.0.ssm_ba.weight");
  EXPECT_EQ(gguf("model.layers.0.mlp.shared_expert_gate.weight", "qwen3next"),
            "blk.0.ffn_gate_inp_shexp.weight");
  EXPECT_EQ(gguf("model.layers.0.mlp.shared_expert.up_proj.weight", "qwen35moe"),
            "blk.0.ffn_up_shexp.weight");
  EXPECT_EQ(gguf("model.layers.0.mlp.experts.gate_up_proj", "qwen35moe"),
            "blk.0.ffn_gate_exps.weight");
}

TEST(TensorNames, ExpertsOfNemotronH) {
  constexpr std::string_view kFamily = "nemotron_h_moe";
  EXPECT_EQ(gguf("backbone.layers.3.mixer.gate.weight", kFamily), "blk.3.ffn_gate_inp.weight");
  EXPECT_EQ(gguf("model.layers.3.mixer.gate.e_score_correction_bias", kFamily),
            "blk.3.exp_probs_b.bias");
  EXPECT_EQ(gguf("backbone.layers.3.mixer.experts.7.up_proj.weight", kFamily),
            "blk.3.ffn_up.7.weight");
  EXPECT_EQ(gguf("model.layers.3.mixer.experts.down_proj", kFamily), "blk.3.ffn_down_exps.weight");
  EXPECT_EQ(gguf("backbone.layers.3.mixer.fc1_latent_proj.bias", kFamily),
            "blk.3.ffn_latent_down.bias");
  EXPECT_EQ(gguf("model.layers.3.mixer.fc2_latent_proj.weight", kFamily),
            "blk.3.ffn_latent_up.weight");
  EXPECT_EQ(gguf("model.layers.3.mixer.shared_experts.up_proj.weight", kFamily),
            "blk.3.ffn_up_shexp.weight");
}

TEST(TensorNames, LinearAttentionOfKimi) {
  constexpr std::string_view kFamily = "kimi-linear";
  EXPECT_EQ(gguf("model.layers.0.self_attn.f_a_proj.weight", kFamily), "blk.0.ssm_f_a.weight");
  EXPECT_EQ(gguf("model.layers.0.self_attn.forget_gate.f_b_proj.weight", kFamily),
            "blk.0.ssm_f_b.weight");
  EXPECT_EQ(gguf("model.layers.0.self_attn.A_log", kFamily), "blk.0.ssm_a");
  EXPECT_EQ(gguf("model.layers.0.self_attn.dt_bias", kFamily), "blk.0.ssm_dt.bias");
  EXPECT_EQ(gguf("model.layers.0.self_attn.b_proj.weight", kFamily), "blk.0.ssm_beta.weight");
  EXPECT_EQ(gguf("model.layers.0.self_attn.g_a_proj.weight", kFamily), "blk.0.ssm_g_a.weight");
  EXPECT_EQ(gguf("model.layers.0.self_attn.g_b_proj.weight", kFamily), "blk.0.ssm_g_b.weight");
  EXPECT_EQ(gguf("model.layers.0.self_attn.o_norm.weight", kFamily), "blk.0.ssm_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.self_attn.kv_b_proj.weight", kFamily), "blk.3.attn_kv_b.weight");
  EXPECT_EQ(gguf("model.layers.1.block_sparse_moe.experts.2.w3.weight", kFamily),
            "blk.1.ffn_up.2.weight");
  EXPECT_TRUE(names(kFamily).gguf_of("model.layers.0.self_attn.q_conv1d.weight").form.depthwise);
}

TEST(TensorNames, GenerationsOfRwkv) {
  EXPECT_EQ(gguf("rwkv.blocks.0.pre_ln.weight", "rwkv4"), "token_embd_norm.weight");
  EXPECT_EQ(gguf("rwkv.blocks.2.attention.time_decay", "rwkv4"), "blk.2.time_mix_decay.weight");
  EXPECT_EQ(gguf("rwkv.blocks.2.feed_forward.time_mix_receptance", "rwkv4"),
            "blk.2.channel_mix_lerp_r.weight");
  EXPECT_EQ(gguf("blocks.2.att.time_first", "rwkv4"), "blk.2.time_mix_first.weight");
  EXPECT_EQ(names("rwkv4").hf_of("blk.2.time_mix_key.weight"),
            "rwkv.blocks.2.attention.key.weight");
  EXPECT_EQ(gguf("blocks.1.att.ln_x.bias", "rwkv5"), "blk.1.time_mix_ln.bias");
  EXPECT_EQ(gguf("blocks.1.att.time_maa_w2", "rwkv6"), "blk.1.time_mix_w2.weight");
  EXPECT_EQ(gguf("blocks.1.att.x_rwkvag", "rwkv7"), "blk.1.time_mix_lerp_fused.weight");
  EXPECT_EQ(gguf("blocks.1.ffn.x_k", "rwkv7"), "blk.1.channel_mix_lerp_k.weight");
}

TEST(TensorNames, RecurrencesOfRecurrentGemma) {
  EXPECT_EQ(gguf("model.layers.1.temporal_block.rg_lru.recurrent_param", "recurrent_gemma"),
            "blk.1.recurrence_decay.weight");
  EXPECT_EQ(gguf("model.layers.1.temporal_block.linear_y.bias", "recurrent_gemma"),
            "blk.1.recurrence_y.bias");
  EXPECT_TRUE(names("recurrent_gemma")
                  .gguf_of("model.layers.1.temporal_block.conv_1d.weight")
                  .form.depthwise);
}

TEST(TensorNames, ExpertsOfQwen3Moe) {
  EXPECT_EQ(gguf("model.layers.2.mlp.gate.weight", "qwen3moe"), "blk.2.ffn_gate_inp.weight");
  EXPECT_EQ(gguf("model.layers.2.mlp.experts.11.gate_proj.weight", "qwen3moe"),
            "blk.2.ffn_gate.11.weight");
  EXPECT_EQ(gguf("model.layers.2.mlp.experts.0.up_proj.weight", "qwen3moe"),
            "blk.2.ffn_up.0.weight");
  EXPECT_EQ(gguf("model.layers.2.mlp.experts.5.down_proj.weight", "qwen3moe"),
            "blk.2.ffn_down.5.weight");
  EXPECT_EQ(gguf("model.layers.1.mlp.gate_proj.weight", "qwen3moe"), "blk.1.ffn_gate.weight");
}

TEST(TensorNames, BesideExperts) {
  EXPECT_EQ(gguf("model.layers.2.mlp.gate.e_score_correction_bias", "qwen3moe"),
            "blk.2.exp_probs_b.bias");
  EXPECT_EQ(names("qwen3moe").hf_of("blk.2.exp_probs_b.bias"),
            "model.layers.2.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(gguf("model.layers.2.mlp.shared_experts.down_proj.weight", "qwen3moe"),
            "blk.2.ffn_down_shexp.weight");
  EXPECT_FALSE(names("qwen3").gguf_of("model.layers.2.mlp.gate.weight").mapped);
}

TEST(TensorNames, WrappersComeOff) {
  EXPECT_EQ(gguf("language_model.model.layers.1.mlp.up_proj.weight", "gemma3"),
            "blk.1.ffn_up.weight");
  EXPECT_EQ(gguf("model.language_model.layers.1.mlp.up_proj.weight", "gemma3"),
            "blk.1.ffn_up.weight");
  EXPECT_EQ(gguf("language_model.lm_head.weight", "gemma3"), "output.weight");
  EXPECT_EQ(gguf("transformer.h.0.ln_1.bias", "gpt2"), "blk.0.attn_norm.bias");
  EXPECT_EQ(gguf("h.0.ln_1.bias", "gpt2"), "blk.0.attn_norm.bias");
}

TEST(TensorNames, CheckpointsWithoutAHeadLackTheModelInFront) {
  EXPECT_EQ(gguf("embed_tokens.weight", "llama"), "token_embd.weight");
  EXPECT_EQ(gguf("layers.3.self_attn.q_proj.weight", "qwen2"), "blk.3.attn_q.weight");
  EXPECT_EQ(gguf("norm.weight", "gemma3"), "output_norm.weight");
}

TEST(TensorNames, WhatAClassDoesNotHaveHasNoName) {
  EXPECT_FALSE(names("llama").gguf_of("model.layers.0.self_attn.q_norm.weight").mapped);
  EXPECT_FALSE(names("phi3").gguf_of("model.layers.0.self_attn.q_proj.weight").mapped);
  EXPECT_FALSE(names("qwen2").gguf_of("model.layers.0.self_attn.qkv_proj.weight").mapped);
  EXPECT_FALSE(names("starcoder2").gguf_of("model.layers.0.mlp.gate_proj.weight").mapped);
}

TEST(TensorNames, Gpt2MatricesAreConv1d) {
  const MappedName qkv = names("gpt2").gguf_of("h.11.attn.c_attn.weight");
  EXPECT_EQ(qkv.gguf, "blk.11.attn_qkv.weight");
  EXPECT_TRUE(qkv.form.conv1d);
  EXPECT_FALSE(names("gpt2").gguf_of("wte.weight").form.conv1d);
  EXPECT_EQ(gguf("lm_head.weight", "gpt2"), "output.weight");
}

TEST(TensorNames, LayersMayHaveInputsAndExpertsBesideAFeedForward) {
  for (const auto& [hf, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
           {"per_layer_model_projection.weight", "per_layer_model_proj.weight"},
           {"per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
           {"layers.3.per_layer_input_gate.weight", "blk.3.inp_gate.weight"},
           {"layers.3.per_layer_projection.weight", "blk.3.proj.weight"},
           {"layers.3.post_per_layer_input_norm.weight", "blk.3.post_norm.weight"},
           {"layers.3.post_feedforward_layernorm.weight", "blk.3.post_ffw_norm.weight"},
           {"layers.3.post_feedforward_layernorm_1.weight", "blk.3.post_ffw_norm_1.weight"},
           {"layers.3.post_feedforward_layernorm_2.weight", "blk.3.post_ffw_norm_2.weight"},
           {"layers.3.pre_feedforward_layernorm_2.weight", "blk.3.pre_ffw_norm_2.weight"},
           {"layers.3.router.proj.weight", "blk.3.ffn_gate_inp.weight"},
           {"layers.3.router.scale", "blk.3.ffn_gate_inp.scale"},
           {"layers.3.router.per_expert_scale", "blk.3.ffn_down_exps.scale"},
           {"layers.3.experts.gate_up_proj", "blk.3.ffn_gate_up_exps.weight"},
           {"layers.3.experts.down_proj", "blk.3.ffn_down_exps.weight"},
           {"layers.3.layer_scalar", "blk.3.layer_output_scale.weight"}}) {
    EXPECT_EQ(gguf(std::string("model.") + hf, "gemma4"), expected);
    EXPECT_EQ(gguf(std::string("model.language_model.") + hf, "gemma4"), expected);
  }
  for (const std::string_view tower :
       {"model.vision_tower.x.weight", "model.embed_vision.x.weight", "model.audio_tower.x.weight",
        "model.embed_audio.x.weight"}) {
    EXPECT_TRUE(is_ignored_hf_tensor(tower)) << tower;
  }
}

TEST(TensorNames, StreamsAndWhatIsBesideAttention) {
  for (const auto& [hf, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"altup_projections.2.weight", "altup_proj.2.weight"},
           {"altup_unembed_projections.0.weight", "altup_unembd_proj.0.weight"},
           {"layers.3.altup.modality_router.weight", "blk.3.altup_router.weight"},
           {"layers.3.altup.router_norm.weight", "blk.3.altup_router_norm.weight"},
           {"layers.3.altup.prediction_coefs.weight", "blk.3.altup_predict_coef.weight"},
           {"layers.3.altup.correction_coefs.weight", "blk.3.altup_correct_coef.weight"},
           {"layers.3.altup.correct_output_scale", "blk.3.altup_correct_scale.weight"},
           {"layers.3.laurel.linear_left.weight", "blk.3.laurel_l.weight"},
           {"layers.3.laurel.linear_right.weight", "blk.3.laurel_r.weight"},
           {"layers.3.laurel.post_laurel_norm.weight", "blk.3.laurel_post_norm.weight"},
           {"layers.3.per_layer_input_gate.weight", "blk.3.inp_gate.weight"}}) {
    EXPECT_EQ(gguf(std::string("model.") + hf, "gemma3n"), expected);
    EXPECT_EQ(gguf(std::string("model.language_model.") + hf, "gemma3n"), expected);
  }
}

TEST(TensorNames, NamesWithoutThePrefixOfTheClass) {
  EXPECT_EQ(gguf("biogpt.layers.3.fc1.weight", "biogpt"), "blk.3.ffn_up.weight");
  EXPECT_EQ(gguf("layers.3.final_layer_norm.bias", "biogpt"), "blk.3.ffn_norm.bias");
  EXPECT_EQ(gguf("output_projection.weight", "biogpt"), "output.weight");
}

TEST(TensorNames, NormsOfTheStream) {
  EXPECT_EQ(gguf("tokens_embed.weight", "openai-gpt"), "token_embd.weight");
  EXPECT_EQ(gguf("transformer.positions_embed.weight", "openai-gpt"), "position_embd.weight");
  EXPECT_EQ(gguf("transformer.h.3.ln_1.bias", "openai-gpt"), "blk.3.attn_output_norm.bias");
  EXPECT_EQ(gguf("h.3.ln_2.weight", "openai-gpt"), "blk.3.layer_output_norm.weight");
}

TEST(TensorNames, BlocksThatLayersShare) {
  for (const auto& [hf, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"self_attn.q_proj.weight", "blk.3.attn_q.weight"},
           {"self_attn.linear_k_adapter_list.5.0.weight", "blk.3.attn_k_adapter_a.5.weight"},
           {"feed_forward.gate_up_proj.weight", "blk.3.ffn_gate.weight"},
           {"feed_forward.gate_up_proj_adapter_list.5.1.weight",
            "blk.3.ffn_gate_adapter_b.5.weight"},
           {"input_layernorm.weight", "blk.3.attn_norm.weight"}}) {
    EXPECT_EQ(gguf(std::string("model.layers.3.shared_transformer.") + hf, "zamba2"), expected);
  }
  EXPECT_EQ(gguf("model.layers.3.mamba_decoder.input_layernorm.weight", "zamba2"),
            "blk.3.ssm_pre_norm.weight");
  EXPECT_EQ(gguf("model.layers.2.input_layernorm.weight", "zamba2"), "blk.2.attn_norm.weight");
  EXPECT_EQ(gguf("model.layers.3.linear.weight", "zamba2"), "blk.3.block_out.weight");
}

TEST(TensorNames, WhatFitsNoRowKeepsItsName) {
  for (const std::string_view name :
       {"model.layers.x.mlp.up_proj.weight", "model.layers.01.mlp.up_proj.weight",
        "model.layers..mlp.up_proj.weight", "model.layers.1.mlp.up_proj",
        "model.layers.1.mlp.up_proj.weight.weight", "model.layers.9999999.mlp.up_proj.weight",
        "model.norm", "", "weight", ".weight", "h.0.ln_1.weight"}) {
    const MappedName mapped = names("llama").gguf_of(name);
    EXPECT_EQ(mapped.gguf, name);
    EXPECT_FALSE(mapped.mapped) << name;
  }
}

TEST(TensorNames, LayersThatPredictFurtherTokensComeAfterTheOthers) {
  EXPECT_EQ(name_of_ahead("mtp.fc.weight", 4), "model.layers.4.eh_proj.weight");
  EXPECT_EQ(name_of_ahead("mtp.norm.weight", 4), "model.layers.4.shared_head.norm.weight");
  EXPECT_EQ(name_of_ahead("mtp.layers.0.mlp.up_proj.weight", 4),
            "model.layers.4.mlp.up_proj.weight");
  for (const char* const other :
       {"mtp.layers.1.mlp.up_proj.weight", "mtp.other", "model.norm.weight"})
    EXPECT_EQ(name_of_ahead(other, 4), other);
  const FamilyRecord* const glm = find_family("glm4moe");
  EXPECT_EQ(TensorNames(glm).gguf_of("model.layers.46.shared_head.norm.weight").gguf,
            "blk.46.nextn.shared_head_norm.weight");
  EXPECT_EQ(TensorNames(glm).hf_of("blk.46.nextn.hnorm.weight"), "model.layers.46.hnorm.weight");
  EXPECT_TRUE(may_predict_ahead(*glm));
  EXPECT_TRUE(may_predict_ahead(*find_family("deepseek2")));
  EXPECT_FALSE(may_predict_ahead(*find_family("llama")));
  EXPECT_FALSE(TensorNames(find_family("llama")).gguf_of("model.layers.4.hnorm.weight").mapped);
}

TEST(TensorNames, GoesBack) {
  for (const auto& [hf, family] : std::initializer_list<std::pair<const char*, const char*>>{
           {"model.layers.5.self_attn.o_proj.weight", "llama"},
           {"model.layers.5.post_attention_layernorm.weight", "qwen2"},
           {"model.layers.5.post_attention_layernorm.weight", "gemma2"},
           {"model.layers.5.pre_feedforward_layernorm.weight", "gemma3"},
           {"model.layers.5.mlp.gate_up_proj.weight", "phi3"},
           {"model.layers.5.block_sparse_moe.experts.7.w1.weight", "llama"},
           {"h.5.mlp.c_fc.bias", "gpt2"},
           {"model.layers.5.mlp.c_fc.bias", "starcoder2"},
           {"model.layers.5.mlp.c_proj.weight", "starcoder2"}}) {
    EXPECT_EQ(names(family).hf_of(gguf(hf, family)), hf);
  }
  EXPECT_EQ(names("llama").hf_of("rope_freqs.weight"), std::nullopt);
}

TEST(TensorNames, AnUnknownFamilyHasTheNamesThatAllHave) {
  const TensorNames unknown(nullptr);
  EXPECT_EQ(unknown.gguf_of("lm_head.weight").gguf, "output.weight");
  EXPECT_FALSE(unknown.gguf_of("model.layers.0.self_attn.q_proj.weight").mapped);
}

TEST(TensorNames, IgnoresWhatNoDecoderNeeds) {
  EXPECT_TRUE(is_ignored_hf_tensor("model.layers.0.self_attn.rotary_emb.inv_freq"));
  EXPECT_TRUE(is_ignored_hf_tensor("h.0.attn.bias"));
  EXPECT_TRUE(is_ignored_hf_tensor("transformer.h.0.attn.masked_bias"));
  EXPECT_TRUE(is_ignored_hf_tensor("vision_tower.x.weight"));
  EXPECT_FALSE(is_ignored_hf_tensor("h.0.attn.c_attn.bias"));
  EXPECT_FALSE(is_ignored_hf_tensor("model.layers.0.self_attn.q_proj.bias"));
}

TEST(TensorNames, QuotedNamesAreSafeToShow) {
  EXPECT_EQ(quoted_name("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
  EXPECT_EQ(quoted_name(std::string_view("a\n\0\x1B\x7F", 5)), "a????");
  EXPECT_EQ(quoted_name("\xFF"), "\xEF\xBF\xBD");
  EXPECT_LT(quoted_name(std::string(100000, 'x')).size(), 110U);
  EXPECT_LT(quoted_name(std::string(100000, '\xFF')).size(), 400U);
}

}  // namespace
}  // namespace ruv
