// What a GGUF file of an encoder has otherwise than a checkpoint.
#pragma once

#include "format/gguf_export.h"

namespace ruv {

// A table of positions begins with the first one. Fails: corrupt (there is none in it).
Status adapt_encoder_tensor(const ModelFile& model, ExportTensor& tensor);
// Whether the table itself says what the key does.
bool is_said_by_tables(std::string_view key);
// The number of token types, under the key that readers look for. Fails: corrupt.
Status add_token_types(const ModelFile& model, GgufWriter& out);

}  // namespace ruv
