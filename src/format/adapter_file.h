// AdapterFile: what an adapter's files hold, whichever program wrote them: a folder of PEFT
// (adapter_config.json and adapter_model.safetensors) or of MLX (adapters.safetensors), or a GGUF
// file. Nothing here knows the model that it is for; model/adapter_load.h does.
//
// An adapter of low rank adds scale · B · A to the weights of the modules that it names, and may
// then make each row of them a length that it gives (DoRA). Embeddings count as matrices (n_embd,
// n_vocab) here, of which a token has a column, as trainers see them. A control vector has nothing
// of this, but directions that are added to the stream between layers.
#pragma once

#include "base/json.h"
#include "format/model_file.h"
#include "format/safetensors.h"

namespace ruv {

enum class AdapterContainer : uint8_t { peft, mlx, gguf };
constexpr std::string_view container_name(AdapterContainer container) {
  return container == AdapterContainer::peft  ? "peft"
         : container == AdapterContainer::mlx ? "mlx"
                                              : "gguf";
}

// The matrices of one module.
struct AdapterModule {
  // The tensor that they add to, as the base's checkpoint calls it, for example
  // "model.layers.0.self_attn.q_proj.weight"; as its GGUF file does in that container.
  std::string tensor = {};
  TensorInfo a = {};           // (rank, n_in)
  TensorInfo b = {};           // (n_out, rank)
  TensorInfo magnitudes = {};  // (n_out, 1), the rows' lengths; no shape: what the sum gives
  TensorInfo biases = {};      // (n_out, 1), in place of the base's; no shape: those
  float scale = 1;             // of B · A
  bool is_embedding = false;   // the file says that it is one; else it may be one nonetheless

  int64_t rank() const { return a.shape.front(); }
  bool has_magnitudes() const { return !magnitudes.shape.empty(); }
};

// The matrices of all experts of a layer for one matrix of theirs, or for two that are one.
struct AdapterStack {
  std::string tensor = {};  // as in AdapterModule
  TensorInfo a = {};        // (experts, rank, n_in)
  TensorInfo b = {};        // (experts, n_out, rank)
  float scale = 1;          // of B · A
  // `tensor` is that of the weights of a module, perhaps with ".base_layer" in its name, of which
  // this is any parameter (PEFT).
  bool is_any_parameter = false;
  // Then n_in may be the outputs, and n_out the inputs, for all that is known.
  bool may_be_turned = false;

  int64_t n_experts() const { return a.shape[0]; }
  int64_t rank() const { return a.shape[1]; }
};

// A whole matrix that comes with an adapter, named as above.
struct AdapterWhole {
  std::string tensor = {};
  TensorInfo matrix = {};
  // It is said to be the base's own, as PEFT saves it beside adapters of embeddings; else it takes
  // the place of that.
  bool is_base = false;
};

// What a control vector adds to the residual stream after a layer.
struct AdapterDirection {
  int64_t layer = 0;        // from 1 on; no direction follows the first layer, which is 0
  TensorInfo numbers = {};  // (n_embd), f32
};

struct AdapterFile {
  std::string path;
  AdapterContainer container = AdapterContainer::peft;
  // The model that it was made for, as the file says; of a control vector the architecture. Empty:
  // it does not.
  std::string base = {};
  std::vector<AdapterModule> modules = {};  // by name
  std::vector<AdapterStack> stacks = {};    // by name
  // By layer, each at most once. Where there are any there is nothing else.
  std::vector<AdapterDirection> directions = {};
  // Biases of modules were trained; else they are said to be the base's own, as wholes may be.
  bool has_own_biases = false;
  std::vector<AdapterWhole> wholes = {};  // in the file's order
  std::vector<FileStamp> stamps = {};     // of all files that it was read from
  std::vector<MappedFile> files = {};     // which the tensors lie in
};

// Fails: not_found, corrupt (shapes that do not fit, a half that is missing), unsupported (a kind
// of adapter, a key of the config or a tensor that is not honoured); each names the file and the
// key or tensor. Reads no number of a matrix.
Result<AdapterFile> open_adapter(const std::string& path);

// The parts of that for bytes in memory. `source` is quoted in errors.
Result<AdapterFile> read_peft_adapter(const Json& config, std::vector<SafetensorsTensor> tensors,
                                      const std::string& source);
Result<AdapterFile> read_mlx_adapter(const Json& config, std::vector<SafetensorsTensor> tensors,
                                     const std::string& source);
Result<AdapterFile> read_gguf_adapter(Bytes bytes, const std::string& source);

}  // namespace ruv
