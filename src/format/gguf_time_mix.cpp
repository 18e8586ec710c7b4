#include "format/gguf_time_mix.h"

#include <charconv>
#include <cmath>

namespace ruv {

Status adapt_time_mix(const ModelFile& model, ExportTensor& tensor) {
  const FamilyRecord* const family = model.family();
  if (family == nullptr || family->block.mixers != Mixers::time_mix) return {};
  tensor.minus_exp = family->block.time_mix == TimeMix::averages &&
                     model.container() == "safetensors" &&
                     tensor.name.ends_with(".time_mix_decay.weight");
  constexpr std::string_view kEvery = "rescale_every_n_layers", kPrefix = "blk.";
  const bool adds = tensor.name.ends_with(".time_mix_output.weight") ||
                    tensor.name.ends_with(".channel_mix_value.weight");
  if (!adds || model.find(kEvery) == nullptr) return {};
  const int64_t every = TRY(model.integer(kEvery));
  if (every < 1) return {};
  int64_t layer = 0;
  const char* const first = tensor.name.data() + kPrefix.size();
  std::from_chars(first, tensor.name.data() + tensor.name.size(), layer);
  tensor.factor = static_cast<float>(std::ldexp(1.0, static_cast<int>(-layer / every)));
  return {};
}

}  // namespace ruv
