// What the fuzz targets of tokenizer files do with a file that was not refused.
#pragma once

#include "base/check.h"
#include "text/tokenizer.h"

namespace ruv {

// Every id of a text is one of the vocabulary's, and decoding takes any of them.
inline void try_tokenizer(Result<TokenizerSpec> spec) {
  if (!spec) return;
  const auto tokenizer = Tokenizer::create(std::move(*spec));
  if (!tokenizer) return;
  const auto ids =
      (*tokenizer)
          ->encode_prompt("Hello, w\u00F6rld!  <s>\n12 \u65E5\u672C\xFF", SpecialParsing::on);
  for (const Token id : ids) CHECK(id >= 0 && id < (*tokenizer)->vocab_size());
  (void)(*tokenizer)->decode(ids, true);
}

}  // namespace ruv
