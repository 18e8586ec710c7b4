// EncoderNumbers: the numbers of an encoder that are not those of the decoder beside it
// (BlockSpec::unlike_sides), under the keys that a model of one side has.
#pragma once

#include "format/model_file.h"

namespace ruv {

class EncoderNumbers final : public ModelFile {
 public:
  // `file` has them under keys that begin with "encoder.". Tensors and tables of text are left out.
  explicit EncoderNumbers(const ModelFile& file);

  Result<TokenizerSpec> tokenizer_spec() const override;
  std::string chat_template() const override { return {}; }
};

}  // namespace ruv
