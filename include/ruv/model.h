// Loading a model, asking what it is, and turning text into tokens and back. A Model is immutable
// after loading; any number of threads and engines may share one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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
};

struct LoadOptions {
  // Threads that pack the weights; 0: one per core.
  int n_threads = 0;
  // Instruction set to pack for: "ref", "avx2", "avx512", "neon"; empty: the best of this machine
  // (or what the environment variable RUV_ISA names).
  std::string isa;
  // Called now and then while loading, from one thread, with a share in [0, 1].
  std::function<void(LoadStage, double)> progress;
  // Told at most a few times, while loading.
  std::function<void(NoteKind, std::string_view)> note;

  // Keys and tensors of the file that are taken as absent, named as the errors that refuse them
  // name them. What was ignored is told to `note` and stands in ModelInfo::remarks.
  std::vector<std::string> ignored_keys;

  // Folder of packed weights, made when absent; empty: none. The first load of a model writes a
  // file there which the next ones map instead of packing again. Files may be deleted at any time.
  // They are as trusted as the program: keep the folder out of the reach of others.
  std::string packed_cache_dir;
  // All files together; those not used for longest make room.
  int64_t packed_cache_max_bytes = int64_t{32} << 30;
  // Models that pack to less than this are packed each time: it takes a blink.
  int64_t packed_cache_min_bytes = int64_t{64} << 20;
};

// Loads a GGUF file or a HuggingFace folder (config.json, *.safetensors, tokenizer.json).
// Fails: not_found, corrupt (file, offset, field), unsupported (architecture, tensor type, a key
// that asks for something we do not have), out_of_memory.
Result<std::shared_ptr<const Model>> load_model(const std::string& path,
                                                const LoadOptions& options = {});
// Whether load_model would take the file, found out without its weights. Fails: as load_model.
Status check_model(const std::string& path, const LoadOptions& options = {});

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
  int64_t n_vocab = 0;
  int64_t n_ctx_train = 0;
  int64_t weight_bytes = 0;            // memory of the packed weights
  int64_t weight_bytes_per_token = 0;  // read once for each decoded token
  int64_t kv_bytes_per_token = 0;      // f16 keys and values of all layers
  bool from_packed_file = false;       // the weights were mapped, not packed
  bool has_tokenizer = false;
  bool has_chat_template = false;
  // What stands in the file and is not used: keys the model class does not read, keys that were
  // ignored because the caller asked for it.
  std::vector<std::string> remarks;
};
ModelInfo model_info(const Model& model);

// Ids of `text` as a prompt: with bos where the model wants it. `parse_special`: control tokens
// written out in the text become their ids; leave it off for what users say.
// Fails: unsupported when the model has no tokenizer.
Result<std::vector<Token>> tokenize(const Model& model, std::string_view text,
                                    bool parse_special = false);
// The text of ids. Control tokens appear only when `with_special`. Fails: invalid (id out of
// range), unsupported (no tokenizer).
Result<std::string> detokenize(const Model& model, std::span<const Token> ids,
                               bool with_special = false);

// Renders a conversation with the model's own chat template and returns the prompt's ids. Contents
// are never parsed for control tokens. Fails: invalid (the template refuses, or the end does not
// fit the last message), unsupported (no template or tokenizer, a part that is not text).
Result<std::vector<Token>> tokenize_chat(const Model& model, const Conversation& conversation);

}  // namespace ruv
