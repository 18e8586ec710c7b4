// Loading a model, asking what it is, and turning text into tokens and back. A Model is immutable
// after loading; any number of threads and engines may share one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ruv/conversation.h"
#include "ruv/status.h"
#include "ruv/token.h"

namespace ruv {

struct Model;  // opaque here; defined in src/model/model.h

enum class LoadStage {
  packing,   // from the model's file to what the instruction set multiplies
  checking,  // of the packed file of an earlier start
};
enum class NoteKind {
  remark,   // what was done and how long it took
  stored,   // a file was written that stays after the program
  problem,  // the model works, but something the caller asked for does not
  choice,   // what was chosen where the caller left it open, with the figures that decided
};

// What is said of a model's use beside its file, as the layers of a registry's model do. What a
// request says itself wins.
struct ModelDefaults {
  // As ModelInfo::sampling; these win.
  std::vector<std::pair<std::string, double>> sampling = {};
  // Texts that end an answer, for requests that name none.
  std::vector<std::string> stop = {};
  // The first message of conversations without a system message; empty: there is none.
  std::string system = {};
};

struct LoadOptions {
  int n_threads = 0;  // that pack the weights; 0: one per core
  // Instruction set to pack for: "ref", "avx2", "avx512", "neon"; empty: the best of this machine
  // (or what the environment variable RUV_ISA names).
  std::string isa;
  // Computes the same bytes as every other machine. Only models with f16 or bf16 weights, on
  // processors that multiply pairs of bf16 (AVX512-BF16), do not do so otherwise: without it their
  // prompts are read faster, with weights and activations rounded to bf16. Not read where `isa` is
  // given.
  bool portable = false;
  bool draft_head = true;  // layers that predict tokens further ahead are loaded, and draft
  std::string draft_head_file = {};  // in their place, a head that is_draft_head(); empty: none
  // Engine::create refuses what no request could ask for. A system message that the chat template
  // does not show is not used, which `note` and ModelInfo::remarks say.
  ModelDefaults defaults = {};
  // Called occasionally while loading, from one thread, with the share done in [0, 1].
  std::function<void(LoadStage, double)> progress;
  std::function<void(NoteKind, std::string_view)> note;  // called a few times, while loading

  // Keys and tensors of the file to treat as absent, by the names in the errors that refuse them.
  // What was ignored is passed to `note` and listed in ModelInfo::remarks.
  std::vector<std::string> ignored_keys;

  // The type that matrices of floats get as they load, one of quantize's ("q4_k_m"), so that a
  // 16-bit model takes a third of its memory; smaller types lose more of the model's quality.
  // Embeddings that are looked up stay as they are. "auto": the best type whose weights fit three
  // quarters of the memory, where floats do not; `note` says which, and why. Empty: as the file has
  // them.
  std::string quantize = {};

  // Folder of packed weights, created when absent; empty: none. The first load of a model writes a
  // file there, which later loads map instead of packing again. Files may be deleted at any time.
  // They are trusted like the program: other users must not be able to write to the folder.
  std::string packed_cache_dir;
  // Limit for all files together; the least recently used are removed first.
  int64_t packed_cache_max_bytes = int64_t{32} << 30;
  // Models with fewer packed bytes than this are packed at every start, which takes little time.
  int64_t packed_cache_min_bytes = int64_t{64} << 20;
  // What stays free on the folder's disk: a file that would leave less is not written.
  int64_t packed_cache_reserve_bytes = 5'000'000'000;
  // Memory that weights may fill; 0: what the machine, or the container that the process is in, has
  // in all. A model of more than 7/8 of it is read from its packed file, if it has one, as it is
  // computed, and its pages stay in memory as the system sees fit; of more than all, it is refused
  // where no such file can be kept.
  int64_t memory_bytes = 0;
};

// Loads a GGUF file or a HuggingFace folder (config.json, *.safetensors, tokenizer.json).
// Fails: not_found, corrupt (file, offset, field), unsupported (architecture, tensor type, a key
// that asks for something we do not have), invalid (LoadOptions), out_of_memory.
Result<std::shared_ptr<const Model>> load_model(const std::string& path,
                                                const LoadOptions& options = {});
// Whether load_model would accept the file, decided without reading its weights. Fails: as
// load_model.
Status check_model(const std::string& path, const LoadOptions& options = {});
// Whether the path can be opened and has heads that draft for a model (EAGLE-3, Medusa).
bool is_draft_head(const std::string& path);

struct ModelInfo {
  std::string name;          // general.name, or the file's own name
  std::string architecture;  // "qwen2"
  std::string format;        // weight format of most bytes: "q8_0"
  std::string isa;           // kernels the weights are packed for
  int64_t n_params = 0;
  int64_t n_layers = 0;
  int64_t n_embd = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t n_ff = 0;
  int64_t n_experts = 0;  // in layers that have them; 0: no layer has
  int64_t n_experts_used = 0;
  int64_t n_vocab = 0;
  int64_t n_ctx_train = 0;
  int64_t weight_bytes = 0;            // memory of the packed weights
  int64_t weight_bytes_per_token = 0;  // read for a decoded token, of experts those it uses
  int64_t kv_bytes_per_token = 0;      // f16 keys and values of all layers
  bool from_packed_file = false;       // the weights were mapped, not packed
  bool has_tokenizer = false;
  bool has_chat_template = false;
  // How the model's makers sample: names of the options table (ruv/options.h) and values, as the
  // file says. Empty: it says nothing.
  std::vector<std::pair<std::string, double>> sampling;
  ModelDefaults defaults;  // LoadOptions::defaults, as far as they are used
  // What of the file is not used: keys that the model class does not read, or that were ignored.
  std::vector<std::string> remarks;
};
ModelInfo model_info(const Model& model);

// The ids of `text` as a prompt, with bos if the model wants it. `parse_special`: control tokens
// written in the text become their ids; leave it off for users' text. Fails: unsupported when the
// model has no tokenizer.
Result<std::vector<Token>> tokenize(const Model& model, std::string_view text,
                                    bool parse_special = false);
// The text of ids. Control tokens appear only when `with_special`. Fails: invalid (id out of
// range), unsupported (no tokenizer).
Result<std::string> detokenize(const Model& model, std::span<const Token> ids,
                               bool with_special = false);

// Renders a conversation with the model's own chat template and returns the prompt's ids. Where it
// has no system message that of ModelDefaults comes first. Contents are never parsed for control
// tokens. Fails: invalid (the template refuses, or the end does not
// fit the last message), unsupported (no template or tokenizer, a part that is not text).
Result<std::vector<Token>> tokenize_chat(const Model& model, const Conversation& conversation);

}  // namespace ruv
