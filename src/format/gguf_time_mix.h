// Tensors of a time mix and a channel mix on their way to a GGUF file.
#pragma once

#include "format/gguf_export.h"

namespace ruv {

// Sets what becomes of the tensor's numbers: decays are kept themselves and not their logarithms,
// and where the stream is halved now and then, what is added to it is smaller. Fails: corrupt.
Status adapt_time_mix(const ModelFile& model, ExportTensor& tensor);

}  // namespace ruv
