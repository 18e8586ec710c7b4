#include "model/encoder_numbers.h"

namespace ruv {

EncoderNumbers::EncoderNumbers(const ModelFile& file) {
  path_ = file.path();
  container_ = file.container();
  architecture_ = file.architecture();
  family_ = file.family();
  hf_class_ = file.hf_class();
  const std::string own = architecture_ + ".", theirs = own + "encoder.";
  for (auto entry = file.metadata().lower_bound(theirs);
       entry != file.metadata().end() && entry->first.starts_with(theirs); ++entry) {
    const std::string name = entry->first.substr(theirs.size());
    metadata_.emplace(own + name, entry->second);
    key_names_.emplace(name, file.shown_key("encoder." + name));
  }
}

Result<TokenizerSpec> EncoderNumbers::tokenizer_spec() const {
  return fail(Code::not_found, "{}: an encoder's numbers have no tokenizer", path_);
}

}  // namespace ruv
