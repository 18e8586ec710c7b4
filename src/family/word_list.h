// Lists of words in one text, separated by spaces: how records name keys, classes and tokens.
#pragma once

#include <string_view>
#include <vector>

namespace ruv {

// Whether `word` is one of the words of `list`.
bool is_word_of(std::string_view list, std::string_view word);
std::vector<std::string_view> words_of(std::string_view list);

}  // namespace ruv
