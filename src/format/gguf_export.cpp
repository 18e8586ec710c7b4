// Tensors on their way to a GGUF file. Names and keys are facts of the format and of the readers
// that exist.
#include "format/gguf_export.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/elementary.h"
#include "family/word_list.h"
#include "format/gguf_delta_net.h"
#include "format/gguf_encoder.h"
#include "format/gguf_pieces.h"
#include "format/gguf_state_space.h"
#include "format/gguf_time_mix.h"
#include "format/gguf_word_pieces.h"
#include "format/rope_scaling.h"
#include "format/row_order.h"
#include "format/sentence_files.h"
#include "format/tensor_names.h"
#include "format/vocab_names.h"
#include "format/xielu.h"

namespace ruv {
namespace {

constexpr size_t kMaxGgufDims = 4;
// Tensors of which a checkpoint has one for each expert or head, and how they end once stacked; the
// key that counts them.
struct StackedRole {
  std::string_view name, ending, count;
  int64_t fewer = 0;  // than the key counts
};
constexpr StackedRole kStackedRoles[] = {{"ffn_gate.", "_exps.weight", "expert_count"},
                                         {"ffn_down.", "_exps.weight", "expert_count"},
                                         {"ffn_up.", "_exps.weight", "expert_count"},
                                         {"attn_q_norm.", ".weight", "attention.head_count"},
                                         {"attn_k_norm.", ".weight", "attention.head_count_kv"},
                                         {"altup_proj.", ".weight", "altup.num_inputs", 1},
                                         {"altup_unembd_proj.", ".weight", "altup.num_inputs", 1}};

// "blk.3.ffn_up.7.weight" as {"blk.3.ffn_up_exps.weight", 7}; an empty name for others.
struct ExpertName {
  std::string stacked;
  int64_t expert = 0;
  const StackedRole* role = nullptr;
};
ExpertName expert_name_of(std::string_view name) {
  for (const StackedRole& role : kStackedRoles) {
    const size_t at = name.find(role.name);
    if (at == name.npos || (at != 0 && !name.starts_with("blk."))) continue;
    const std::string_view rest = name.substr(at + role.name.size());
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0 || digits > 6 || rest.substr(digits) != ".weight") continue;
    const std::string_view stem = name.substr(0, at + role.name.size() - 1);
    return {fmt::format("{}{}", stem, role.ending), std::stoll(std::string(rest.substr(0, digits))),
            &role};
  }
  return {};
}

// Puts an expert where its number says. Fails: corrupt when it does not fit the others.
Status stack_expert(const ModelFile& model, const TensorInfo& info, const ExpertName& name,
                    std::vector<ExportTensor>& tensors) {
  auto found = std::find_if(tensors.begin(), tensors.end(),
                            [&](const ExportTensor& other) { return other.name == name.stacked; });
  const int64_t n_experts = TRY(model.integer(name.role->count)) - name.role->fewer;
  if (name.expert >= n_experts || n_experts > static_cast<int64_t>(model.tensors().size())) {
    return fail(Code::corrupt, "{}: tensor '{}': the config's {} is {}", model.path(),
                quoted_name(info.name), model.shown_key(name.role->count),
                n_experts + name.role->fewer);
  }
  if (found == tensors.end()) {
    ExportTensor stacked{.name = name.stacked, .shape = info.shape};
    stacked.shape.insert(stacked.shape.begin(), n_experts);
    stacked.parts.resize(static_cast<size_t>(n_experts));
    found = tensors.insert(tensors.end(), std::move(stacked));
  }
  if (!std::equal(info.shape.begin(), info.shape.end(), found->shape.begin() + 1,
                  found->shape.end())) {
    return fail(Code::corrupt, "{}: tensor '{}': its shape differs from other experts'",
                model.path(), quoted_name(info.name));
  }
  found->parts[static_cast<size_t>(name.expert)] = &info;
  return {};
}

Status check_experts(const ModelFile& model, const std::vector<ExportTensor>& tensors) {
  for (const ExportTensor& tensor : tensors) {
    const auto missing = std::find(tensor.parts.begin(), tensor.parts.end(), nullptr);
    if (missing == tensor.parts.end()) continue;
    return fail(Code::corrupt, "{}: tensor '{}': expert {} is missing", model.path(), tensor.name,
                missing - tensor.parts.begin());
  }
  return {};
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// Heads in rows of q or k: of the layers that have any where the file counts them for each.
Result<int64_t> head_count_of(const ModelFile& model, bool of_keys) {
  constexpr std::string_view kKeys = "attention.head_count_kv";
  if (!of_keys || model.find(kKeys) == nullptr) return model.integer("attention.head_count");
  const std::vector<int64_t> counts = TRY(model.integers(kKeys));
  return counts.empty() ? 0 : std::ranges::max(counts);
}

// The groups of rows in which halves become neighbours, and how many of a group's rows are rotated.
// Nothing where rows stay.
Status set_rotary_rows(const ModelFile& model, const TensorInfo& info, ExportTensor& tensor) {
  const bool moves = model.family() != nullptr && model.family()->neighbour_rows;
  if (!moves || model.rope_order() == RopeOrder::neighbours) return {};
  const bool q = ends_with_any(info.name, {".attn_q.weight", ".attn_q.bias"});
  const bool k = ends_with_any(info.name, {".attn_k.weight", ".attn_k.bias"});
  if (!q && !k) return {};
  const int64_t n_heads = TRY(head_count_of(model, k));
  if (n_heads < 1 || info.shape.empty() || info.shape[0] % (2 * n_heads) != 0) {
    return fail(Code::corrupt, "{}: tensor '{}': its rows are not {} heads of an even size",
                model.path(), quoted_name(info.name), n_heads);
  }
  tensor.rotary_group = info.shape[0] / n_heads;
  tensor.rotary_dims = tensor.rotary_group;
  if (model.find("rope.dimension_count") == nullptr) return {};
  const int64_t n_dims = TRY(model.integer("rope.dimension_count"));
  if (n_dims < 2 || n_dims > tensor.rotary_group || n_dims % 2 != 0) {
    return fail(Code::corrupt, "{}: '{}' {} of heads of {} is out of range", model.path(),
                model.shown_key("rope.dimension_count"), n_dims, tensor.rotary_group);
  }
  tensor.rotary_dims = n_dims;
  return {};
}

// Tokens without a row of the table have its first one; readers of GGUF files want a row for each.
Status complete_table(const ModelFile& model, ExportTensor& tensor) {
  const bool is_table = tensor.name == "per_layer_token_embd.weight" && tensor.shape.size() == 2;
  const TensorInfo* const embeddings = model.find_tensor("token_embd.weight");
  if (!is_table || embeddings == nullptr || embeddings->shape.empty()) return {};
  const int64_t n_own = tensor.shape[0], n = embeddings->shape[0];
  if (n_own >= n || n_own < 1) return {};
  for (int64_t row = 0; row < n; ++row) tensor.row_order.push_back(row < n_own ? row : 0);
  tensor.shape[0] = n;
  return {};
}

// The heads in the rows of a fused matrix. Fails: corrupt.
Result<HeadCounts> fused_heads_of(const ModelFile& model, const TensorInfo& info) {
  const HeadCounts counts = {TRY(model.integer("attention.head_count")),
                             TRY(model.integer("attention.head_count_kv")),
                             TRY(model.integer("attention.key_length"))};
  constexpr int64_t kMost = int64_t{1} << 20;
  const bool in_range = counts.n_heads >= 1 && counts.n_kv_heads >= 1 && counts.head_dim >= 1 &&
                        counts.n_heads <= kMost && counts.head_dim <= kMost &&
                        counts.n_kv_heads <= counts.n_heads &&
                        counts.n_heads % counts.n_kv_heads == 0;
  if (!in_range || info.shape.empty() || info.shape[0] != counts.n_rows()) {
    return fail(Code::corrupt, "{}: tensor '{}': its rows are not those of {} and {} heads of {}",
                model.path(), quoted_name(info.name), counts.n_heads, counts.n_kv_heads,
                counts.head_dim);
  }
  return counts;
}

// Queries, keys and values of a fused matrix on their own, as files have them that order the rows
// of heads as neighbours. Nothing for other tensors.
Result<std::vector<ExportTensor>> split_fused(const ModelFile& model, const TensorInfo& info) {
  std::vector<ExportTensor> parts;
  constexpr std::string_view kFused = ".attn_qkv.";
  const bool moves = model.family() != nullptr && model.family()->neighbour_rows &&
                     model.rope_order() == RopeOrder::halves;
  const size_t at = info.name.find(kFused);
  if (!moves || at == info.name.npos || info.shape.empty()) return parts;
  const HeadCounts counts = TRY(fused_heads_of(model, info));
  const int64_t n_dims = model.find("rope.dimension_count") == nullptr
                             ? counts.head_dim
                             : TRY(model.integer("rope.dimension_count"));
  if (n_dims < 2 || n_dims > counts.head_dim || n_dims % 2 != 0) {
    return fail(Code::corrupt, "{}: '{}' {} of heads of {} is out of range", model.path(),
                model.shown_key("rope.dimension_count"), n_dims, counts.head_dim);
  }
  int64_t first = 0;
  for (const auto& [name, n_heads] : {std::pair(".attn_q.", counts.n_heads),
                                      {".attn_k.", counts.n_kv_heads},
                                      {".attn_v.", counts.n_kv_heads}}) {
    ExportTensor part{.name = info.name, .shape = info.shape, .parts = {&info}};
    part.name.replace(at, kFused.size(), name);
    part.shape[0] = n_heads * counts.head_dim;
    const bool is_rotated = std::string_view(name) != ".attn_v.";
    for (int64_t i = 0; i < part.shape[0]; ++i) {
      const int64_t inner = i % counts.head_dim;
      const int64_t from = is_rotated ? neighbours_from_halves(inner, n_dims) : inner;
      part.row_order.push_back(fused_row_of(model.qkv_rows(), first + i - inner + from, counts));
    }
    first += part.shape[0];
    parts.push_back(std::move(part));
  }
  return parts;
}

// The order in which the rows of a fused matrix are written; empty: as they are.
Result<std::vector<int64_t>> fused_order_of(const ModelFile& model, const TensorInfo& info) {
  const QkvRows order = model.qkv_rows();
  if (order == QkvRows::one_after_another ||
      !ends_with_any(info.name, {".attn_qkv.weight", ".attn_qkv.bias"})) {
    return std::vector<int64_t>();
  }
  const HeadCounts counts = TRY(fused_heads_of(model, info));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < counts.n_rows(); ++i) rows.push_back(fused_row_of(order, i, counts));
  return rows;
}

// The divisors of rotary frequencies that llama3 scaling amounts to.
Result<std::vector<float>> llama3_divisors_of(const ModelFile& model) {
  const Llama3Scaling scaling = TRY(llama3_scaling_of(model));
  const double base = TRY(model.number("rope.freq_base"));
  const int64_t n_dims = TRY(model.integer("rope.dimension_count"));
  if (!scaling.is_valid() || n_dims < 2 || n_dims > (1 << 16)) {
    return fail(Code::corrupt, "{}: rope.scaling: numbers out of range", model.path());
  }
  return llama3_divisors(scaling, base, n_dims);
}

void add_made(std::vector<ExportTensor>& tensors, std::string name, std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  tensors.push_back({.name = std::move(name), .shape = {n}, .made = std::move(values)});
}

std::vector<float> numbers_of(const MetaValue* value) {
  const auto* array =
      value == nullptr ? nullptr : std::get_if<std::shared_ptr<const MetaArray>>(value);
  std::vector<float> numbers;
  if (array == nullptr) return numbers;
  for (const double number : (*array)->numbers) numbers.push_back(static_cast<float>(number));
  for (const int64_t number : (*array)->integers) numbers.push_back(static_cast<float>(number));
  return numbers;
}

std::string scaling_type(const ModelFile& model) {
  const MetaValue* value = model.find("rope.scaling.type");
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

// GGUF keeps per-frequency divisors as tensors, configs as numbers or arrays.
Status add_rope_tensors(const ModelFile& model, std::vector<ExportTensor>& tensors) {
  const std::string type = scaling_type(model);
  if (model.find("rope.freq_divisors") != nullptr) {
    add_made(tensors, "rope_freqs.weight", numbers_of(model.find("rope.freq_divisors")));
  }
  if (type == "llama3") add_made(tensors, "rope_freqs.weight", TRY(llama3_divisors_of(model)));
  if (type != "longrope") return {};
  add_made(tensors, "rope_factors_long.weight", numbers_of(model.find("rope.scaling.long_factor")));
  add_made(tensors, "rope_factors_short.weight",
           numbers_of(model.find("rope.scaling.short_factor")));
  return {};
}

// Tensors of divisors are those of a model whose sides have one set of positions.
Status check_side_scalings(const ModelFile& model) {
  if (model.family() == nullptr || !model.family()->block.unlike_sides) return {};
  for (const std::string_view key : {"rope.scaling.type", "encoder.rope.scaling.type"}) {
    if (model.find(key) == nullptr) continue;
    const std::string type = TRY(model.text(key));
    if (type != "llama3") continue;
    return fail(Code::unsupported,
                "{}: '{}' is llama3, which a GGUF file cannot say of an encoder or of the decoder "
                "beside it",
                model.path(), model.shown_key(key));
  }
  return {};
}

// Keys that a GGUF file of the same model does not have: tensors express them, or they only
// describe the file that was read.
bool is_dropped(const ModelFile& model, std::string_view key) {
  if (key.starts_with("split.") || key == "general.alignment" || key == "general.file_type" ||
      key == "general.quantization_version" || key.starts_with("quantize.")) {
    return true;
  }
  if (model.container() == "gguf") return false;
  if (key.starts_with("tokenizer.")) return true;  // written from the TokenizerSpec
  const FamilyRecord* const family = model.family();
  const bool bare_norms = family != nullptr && !family->block.qk_norm_weights;
  if (bare_norms && key.ends_with(".use_qk_norm")) return false;
  // Tensors say it: those with a router have experts, and a bias or norm is there or not.
  for (const std::string_view name :
       {".expert_layers", ".expert_choice_bias", ".use_qk_norm", ".lm_head_bias",
        ".output_dense_bias", ".ssm.norm", ".attention.values_are_keys", ".rope.freq_divisors",
        ".altup.correct_scale", ".laurel.rank"}) {
    if (key.ends_with(name)) return true;
  }
  if (has_scales_in_weights(model)) {
    for (const std::string_view name :
         {".embedding_scale", ".logit_scale", ".attention.key_scale", ".ssm.scales",
          ".attention.scales", ".feed_forward.scales"}) {
      if (key.ends_with(name)) return true;
    }
  }
  if (is_said_by_tables(model, key)) return true;
  const size_t at = key.find(".rope.scaling.");
  if (at == key.npos) return false;
  const std::string_view name = key.substr(at + std::string_view(".rope.scaling.").size());
  const std::string type = scaling_type(model);
  if (name == "finetuned") return false;  // whether there are positions
  if (name == "factor_swa") return false;
  if (type == "llama3") return true;
  return type == "longrope" && name != "original_context_length" && name != "attn_factor";
}

// The layers that the file is to have: those that predict tokens further ahead only where GGUF
// files of the family have them.
struct KeptLayers {
  int64_t n = 0, n_left_out = 0;
};
KeptLayers kept_layers(const ModelFile& model) {
  constexpr std::string_view kAhead = "nextn_predict_layers";
  const FamilyRecord* const family = model.family();
  const int64_t n = model.integer("block_count").value_or(0);
  const int64_t n_ahead = model.integer(kAhead).value_or(0);
  if (model.container() == "gguf" || family == nullptr || n_ahead == 0) return {n, 0};
  // A tensor of a type that is not read is not there.
  const std::string first = fmt::format("blk.{}.nextn.eh_proj.weight", n - n_ahead);
  const bool keeps = is_word_of(family->gguf_keys, kAhead) && model.find_tensor(first) != nullptr;
  return keeps ? KeptLayers{n, 0} : KeptLayers{n - n_ahead, n_ahead};
}

bool is_left_out(const KeptLayers& kept, const std::string& name) {
  int64_t layer = -1;
  if (kept.n_left_out == 0 || !name.starts_with("blk.")) return false;
  std::from_chars(&name[4], name.data() + name.size(), layer);
  return layer >= kept.n;
}

// The value of a key without those layers; nothing: the key is left out too.
std::optional<MetaValue> without_layers(const KeptLayers& kept, std::string_view key,
                                        const MetaValue& value) {
  if (kept.n_left_out == 0) return value;
  if (key.ends_with(".nextn_predict_layers")) return std::nullopt;
  if (key.ends_with(".block_count")) return kept.n;
  const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(&value);
  if (array == nullptr || !key.ends_with(".attention.head_count_kv")) return value;
  MetaArray fewer = **array;
  fewer.integers.resize(std::min(fewer.integers.size(), static_cast<size_t>(kept.n)));
  return std::make_shared<const MetaArray>(std::move(fewer));
}

// Configs are decimal text, so that their numbers are seldom exact float32; readers of GGUF want
// float32 all the same.
void add_config_value(GgufWriter& out, std::string_view key, const MetaValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    return out.add_f32(key, static_cast<float>(*number));
  }
  const auto* array = std::get_if<std::shared_ptr<const MetaArray>>(&value);
  if (array != nullptr && !(*array)->numbers.empty()) return out.add_f32s(key, numbers_of(&value));
  out.add(key, value);
}

constexpr std::string_view kTable = "tokenizer.ggml.precompiled_charsmap";

// A normalisation table keeps the width of its numbers, which readers ask for.
Status add_table(const ModelFile& model, const MetaValue& value, GgufWriter& out) {
  const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(&value);
  std::string bytes;
  if (array != nullptr) {
    for (const int64_t byte : (*array)->integers) {
      if (byte < -128 || byte > 255) {
        return fail(Code::corrupt, "{}: '{}' holds no bytes", model.path(), kTable);
      }
      bytes += static_cast<char>(byte);
    }
  }
  out.add_bytes(kTable, as_bytes(bytes));
  return {};
}

std::string_view folder_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);  // the whole path when there is no slash
}

void add_id(GgufWriter& out, std::string_view name, const std::optional<Token>& id) {
  if (id) out.add_u32(fmt::format("tokenizer.ggml.{}_token_id", name), static_cast<uint32_t>(*id));
}

// Scores for vocabularies whose order of merging is given by ranked merges: earlier is higher.
std::vector<float> scores_of(const TokenizerSpec& spec) {
  if (!spec.scores.empty()) return spec.scores;
  std::map<std::string_view, size_t> ids;
  for (size_t id = 0; id < spec.tokens.size(); ++id) ids.emplace(spec.tokens[id], id);
  std::vector<float> scores(spec.tokens.size(), 0.0F);
  std::vector<bool> known(spec.tokens.size());
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    std::string merged = spec.merges[rank];
    const size_t space = merged.find(' ', 1);
    if (space == merged.npos) continue;
    merged.erase(space, 1);
    const auto id = ids.find(merged);
    if (id == ids.end() || known[id->second]) continue;
    known[id->second] = true;
    scores[id->second] = -static_cast<float>(rank);
  }
  return scores;
}

// What a GGUF file can say of a tokenizer: nearly the same would give other tokens.
Status check_exportable(const ModelFile& model, const TokenizerSpec& spec) {
  std::string_view what;
  if (spec.kind == TokenizerKind::byte_bpe) {
    if (spec.pre.empty()) what = "splits words by a rule that has no name there";
    if (spec.raw_tokens) what = "merges by ranks instead of a list of merges";
    if (!spec.word_end.empty()) what = "marks the ends of words";
  } else if (spec.kind == TokenizerKind::wordpiece) {
    if (!is_berts(spec)) what = "has other steps than BERT's";
  } else if (spec.kind == TokenizerKind::unigram) {
    what = unwritten_pieces(spec);
  } else if (spec.kind != TokenizerKind::sentencepiece_bpe) {
    what = "is of a kind that is not written";
  } else if (!spec.splits.empty() || !spec.normalizers.empty()) {
    what = "has steps that have no name there";
  }
  const auto is_usual = [](const std::vector<Token>& stated, const std::optional<Token>& usual) {
    return stated.empty() || (stated.size() == 1 && usual == stated.front());
  };
  if (!is_usual(spec.lead, spec.bos) || !is_usual(spec.trail, spec.eos)) {
    what = "puts other tokens than bos and eos around a text";
  }
  if (what.empty()) return {};
  return fail(Code::unsupported, "{}: a GGUF file cannot hold this tokenizer, which {}",
              model.path(), what);
}

Status add_tokenizer(const ModelFile& model, GgufWriter& out) {
  Result<TokenizerSpec> found = model.tokenizer_spec();
  if (!found && found.error().code() == Code::not_found) return {};
  TokenizerSpec spec = TRY(written_spec(model, TRY(std::move(found))));
  TRY(check_exportable(model, spec));
  // Embeddings may have more rows than the vocabulary has tokens; readers want them equal.
  const TensorInfo* embedding = model.find_tensor("token_embd.weight");
  const size_t n_rows = embedding == nullptr || embedding->bytes.empty() || embedding->shape.empty()
                            ? 0
                            : static_cast<size_t>(embedding->shape[0]);
  const bool unigram = spec.kind == TokenizerKind::unigram;
  const bool pieces = spec.kind == TokenizerKind::sentencepiece_bpe || unigram;
  std::vector<float> scores = pieces ? scores_of(spec) : std::vector<float>();
  for (size_t id = spec.tokens.size(); id < n_rows; ++id) {
    spec.tokens.push_back(fmt::format("[PAD{}]", id));
    spec.kinds.push_back(TokenKind::unused);
    if (pieces) scores.push_back(0.0F);
  }
  out.add_text("tokenizer.ggml.model", vocab_name_of(spec.kind));
  out.add_text("tokenizer.ggml.pre", spec.pre.empty() ? "default" : spec.pre);
  const bool words = spec.kind == TokenizerKind::wordpiece;
  out.add_texts("tokenizer.ggml.tokens", words ? marked_words(spec) : spec.tokens);
  std::vector<int32_t> kinds;
  for (const TokenKind kind : spec.kinds) kinds.push_back(static_cast<int32_t>(kind) + 1);
  out.add_i32s("tokenizer.ggml.token_type", kinds);
  if (pieces) out.add_f32s("tokenizer.ggml.scores", scores);
  if (!spec.merges.empty()) out.add_texts("tokenizer.ggml.merges", spec.merges);
  add_id(out, "bos", spec.bos);
  add_id(out, "eos", spec.eos);
  if (words) {
    add_id(out, "cls", spec.bos);
    add_id(out, "seperator", spec.eos);  // the format's spelling
  }
  add_id(out, "unknown", spec.unk);
  add_id(out, "padding", spec.pad);
  if (!spec.end_of_turn.empty()) add_id(out, "eot", spec.end_of_turn.front());
  out.add_bool("tokenizer.ggml.add_bos_token", spec.add_bos);
  out.add_bool("tokenizer.ggml.add_eos_token", spec.add_eos);
  if (pieces) out.add_bool("tokenizer.ggml.add_space_prefix", spec.add_space_prefix);
  if (unigram) add_piece_keys(spec, out);
  const std::string chat_template = model.chat_template();
  if (!chat_template.empty()) out.add_text("tokenizer.chat_template", chat_template);
  return {};
}

}  // namespace

int64_t ExportTensor::n_columns() const {
  // Numbers of a vector are rows of one where they move or have factors of their own.
  const bool moves = rotary_group > 0 || !row_order.empty() || !row_factors.empty();
  if (shape.empty() || (shape.size() == 1 && moves)) return 1;
  return shape.back();
}

int64_t ExportTensor::n_rows() const {
  int64_t n = 1;
  for (const int64_t length : shape) n *= length;
  return n_columns() == 0 ? 0 : n / n_columns();
}

RowPlace place_of_row(const ExportTensor& tensor, int64_t row) {
  if (!tensor.row_order.empty()) {
    return {tensor.parts.front(), tensor.row_order[static_cast<size_t>(row)]};
  }
  const int64_t rows_of_part = tensor.n_rows() / static_cast<int64_t>(tensor.parts.size());
  int64_t inner = row % rows_of_part;
  if (tensor.rotary_group > 0) {
    const int64_t at = inner % tensor.rotary_group;
    inner += neighbours_from_halves(at, tensor.rotary_dims) - at;
  }
  if (!tensor.row_order.empty()) inner = tensor.row_order[static_cast<size_t>(inner)];
  return {tensor.parts[static_cast<size_t>(row / rows_of_part)], inner};
}

std::optional<std::string> unstacked_name(std::string_view stacked, int64_t index) {
  for (const StackedRole& role : kStackedRoles) {
    const std::string ending =
        fmt::format("{}{}", role.name.substr(0, role.name.size() - 1), role.ending);
    if (!stacked.ends_with(ending)) continue;
    const std::string_view before = stacked.substr(0, stacked.size() - ending.size());
    if (before.empty() || before.starts_with("blk.")) {
      return fmt::format("{}{}{}.weight", before, role.name, index);
    }
  }
  return std::nullopt;
}

Result<std::vector<ExportTensor>> export_tensors(const ModelFile& model) {
  TRY(check_side_scalings(model));
  std::vector<ExportTensor> tensors;
  const KeptLayers kept = kept_layers(model);
  for (const TensorInfo& info : model.tensors()) {
    if (is_xielu_tensor(info.name) || is_left_out(kept, info.name)) continue;
    const ExpertName expert =
        model.container() == "gguf" ? ExpertName{} : expert_name_of(info.name);
    if (!expert.stacked.empty()) {
      TRY(stack_expert(model, info, expert, tensors));
      continue;
    }
    if (model.container() != "gguf") {
      std::vector<ExportTensor> moved = TRY(export_delta_tensor(model, info));
      if (moved.empty()) moved = TRY(export_state_tensor(model, info));
      if (moved.empty()) moved = TRY(split_fused(model, info));
      for (ExportTensor& one : moved) tensors.push_back(std::move(one));
      if (!moved.empty()) continue;
    }
    ExportTensor tensor{.name = info.name, .shape = info.shape, .parts = {&info}};
    if (tensor.shape.empty()) tensor.shape = {1};
    if (tensor.shape.size() > kMaxGgufDims) {
      return fail(Code::unsupported, "{}: tensor '{}' has {} dimensions; GGUF holds up to {}",
                  model.path(), quoted_name(info.name), info.shape.size(), kMaxGgufDims);
    }
    TRY(set_rotary_rows(model, info, tensor));
    tensor.row_order = TRY(fused_order_of(model, info));
    const bool has_streams = model.family() != nullptr && model.family()->block.streams;
    if (has_streams) TRY(complete_table(model, tensor));
    tensor.plus_one = model.norms_minus_one() && info.name.ends_with("norm.weight") &&
                      !info.name.ends_with(".ssm_norm.weight");
    if (model.container() != "gguf") {
      TRY(adapt_time_mix(model, tensor));
      TRY(adapt_encoder_tensor(model, tensor));
    }
    tensors.push_back(std::move(tensor));
  }
  TRY(check_experts(model, tensors));
  if (model.container() != "gguf") TRY(add_rope_tensors(model, tensors));
  return tensors;
}

// How a folder of sentence-transformers makes vectors. What its vectors would lack in a GGUF file
// is refused; models that rank do not rank from one.
Status add_pooling(const ModelFile& model, GgufWriter& out) {
  const auto files = TRY(read_sentence_files(model.path()));
  if (!files || files->logit_score) return {};
  const auto default_prompt = std::ranges::find(files->prompts, files->default_prompt,
                                                &std::pair<std::string, std::string>::first);
  const bool is_prompted =
      default_prompt != files->prompts.end() && !default_prompt->second.empty();
  const std::string_view lost = !files->dense.empty() ? "dense layers after pooling"
                                : files->lower_case   ? "'do_lower_case'"
                                : is_prompted         ? "'default_prompt_name'"
                                : files->pooling == Pooling::weighted_mean ? "a weighted mean"
                                                                           : "";
  if (!lost.empty()) {
    return fail(Code::unsupported, "{}: GGUF files cannot say {}, which the model's vectors need",
                model.path(), lost);
  }
  out.add_u32(fmt::format("{}.pooling_type", model.architecture()),
              static_cast<uint32_t>(files->pooling));
  if (!files->normalises) {
    out.add_bool(fmt::format("{}.normalize_embeddings", model.architecture()), false);
  }
  return {};
}

Status export_metadata(const ModelFile& model, GgufWriter& out) {
  const bool from_gguf = model.container() == "gguf";
  const KeptLayers kept = kept_layers(model);
  for (const auto& [key, value] : model.metadata()) {
    if (is_dropped(model, key)) continue;
    if (key == kTable) {
      TRY(add_table(model, value, out));
    } else if (from_gguf) {
      out.add(key, value);
    } else if (const auto kept_value = without_layers(kept, key, value); kept_value) {
      add_config_value(out, key, *kept_value);
    }
  }
  if (from_gguf) return {};
  TRY(add_pooling(model, out));
  TRY(export_xielu(model, out));
  if (model.find("general.type") == nullptr) out.add_text("general.type", "model");
  if (model.find("general.name") == nullptr)
    out.add_text("general.name", folder_name(model.path()));
  TRY(add_context_length(model, out));
  TRY(add_token_types(model, out));
  return add_tokenizer(model, out);
}

void read_row(const ExportTensor& tensor, int64_t row, float* dst) {
  const int64_t n = tensor.n_columns();
  if (tensor.parts.empty()) {
    std::copy_n(tensor.made.begin() + row * n, n, dst);
    return;
  }
  const auto [part, at] = place_of_row(tensor, row);
  const Format& format = format_of(part->dtype);
  if (part->steps.empty() && part->maker == nullptr) {
    format.decode(part->bytes.data() + at * format.bytes_of(n), dst, n);
  } else {
    part->decode_row(at, dst);
  }
  if (!tensor.column_order.empty()) {
    const std::vector<float> stored(dst, dst + n);
    for (int64_t i = 0; i < n; ++i) {
      dst[i] = stored[static_cast<size_t>(tensor.column_order[static_cast<size_t>(i)])];
    }
  }
  if (tensor.minus_exp) {
    for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<float>(-exact_exp(double{dst[i]}));
  }
  const float factor =
      tensor.row_factors.empty() ? tensor.factor : tensor.row_factors[static_cast<size_t>(row)];
  if (factor != 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] *= factor;
  }
  if (tensor.plus_one) {
    for (int64_t i = 0; i < n; ++i) dst[i] += 1.0F;
  }
}

Bytes stored_row(const ExportTensor& tensor, int64_t row) {
  if (tensor.parts.empty() || tensor.plus_one || tensor.minus_exp) return {};
  if (!tensor.column_order.empty() || !tensor.row_factors.empty() || tensor.factor != 1) return {};
  const auto [part, at] = place_of_row(tensor, row);
  if (!part->has_whole_rows()) return {};
  const auto row_bytes = static_cast<size_t>(format_of(part->dtype).bytes_of(tensor.n_columns()));
  const size_t begin = part->steps.empty() ? static_cast<size_t>(at) * row_bytes
                                           : static_cast<size_t>(part->row_offset(at));
  return part->bytes.subspan(begin, row_bytes);
}

}  // namespace ruv
