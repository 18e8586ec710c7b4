// Sets of characters that normalisers and BERT's pre-tokenizer refer to, with exactly the members
// they have in the package `tokenizers` 0.23, whose tables are those of Unicode 8 and 9.
#pragma once

#include <cstdint>

namespace ruv {

bool is_nonspacing_mark(uint32_t c);   // what BERT strips as accents
bool is_mark(uint32_t c);              // what StripAccents strips
bool is_bert_control(uint32_t c);      // what clean_text drops
bool is_bert_ideograph(uint32_t c);    // what gets spaces around it
bool is_bert_punctuation(uint32_t c);  // ASCII punctuation and general category P
bool is_white_space(uint32_t c);       // the property White_Space
// Characters that have a combining class or a decomposition only in newer tables; normal forms
// leave them unchanged.
bool is_newer_than_forms(uint32_t c);

}  // namespace ruv
