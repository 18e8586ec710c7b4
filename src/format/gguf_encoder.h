// What a GGUF file of an encoder has otherwise than a checkpoint.
#pragma once

#include "format/gguf_export.h"

namespace ruv {

// A table of positions begins with the first one. Fails: corrupt (there is none in it).
Status adapt_encoder_tensor(const ModelFile& model, ExportTensor& tensor);
// Whether the tables say what the key does, or this file writes it otherwise.
bool is_said_by_tables(const ModelFile& model, std::string_view key);
// The number of rows that such a table has, where the model counts those before the first as well.
// Fails: corrupt (there is no other).
Status add_context_length(const ModelFile& model, GgufWriter& out);
// The number of token types, under the key that readers look for. Fails: corrupt.
Status add_token_types(const ModelFile& model, GgufWriter& out);

}  // namespace ruv
