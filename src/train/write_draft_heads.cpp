// Heads as their authors' folders have them that use the model's output matrix.
#include "base/file.h"
#include "base/json_writer.h"
#include "train/float_tensors.h"
#include "train/trained_heads.h"

namespace ruv {
namespace {

std::string config_of_heads(const Model& model, const TrainedHeads& heads) {
  std::string text;
  JsonWriter out(text, 2);
  out.begin_object();
  out.key("base_model_name_or_path");
  out.text(model.file->path());
  out.key("hidden_size");
  out.integer(model.h.n_embd);
  out.key("medusa_num_heads");
  out.integer(std::ssize(heads.heads()));
  out.key("medusa_num_layers");
  out.integer(1);
  out.key("vocab_size");
  out.integer(model.h.n_vocab);
  out.end_object();
  return text + "\n";
}

}  // namespace

// A head's only block has number 0.
Status write_draft_heads(const Model& model, const TrainedHeads& heads,
                         std::span<const Parameter<float>> parameters, const std::string& folder) {
  const int64_t n = model.h.n_embd;
  std::vector<FloatTensor> tensors;
  for (size_t k = 0; k < heads.heads().size(); ++k) {
    const TrainedHeads::Head& head = heads.heads()[k];
    tensors.push_back(
        {fmt::format("{}.0.linear.weight", k), parameters[head.block].values, {n, n}});
    tensors.push_back({fmt::format("{}.0.linear.bias", k), parameters[head.bias].values, {n}});
  }
  TRY(write_float_tensors(folder + "/medusa_lm_head.safetensors", tensors));
  FileWriter out = TRY(FileWriter::create(folder + "/config.json", {.replace = true}));
  TRY(out.write(as_bytes(config_of_heads(model, heads))));
  return out.commit();
}

}  // namespace ruv
