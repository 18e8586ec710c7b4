// Character classes that the tokenizers package has compiled in, as regular expressions. They are
// not the classes of today's Unicode: a model was trained with the package's.
#pragma once

#include <string>

namespace ruv {

// One sign as Punctuation and BertPreTokenizer see it: general category P of Unicode 8, and the
// symbols of ASCII.
std::string punctuation_class();
// A word of Whitespace: letters, marks, decimal and letter numbers, connectors, joiners.
std::string word_class();

}  // namespace ruv
