#include "family/word_list.h"

#include <algorithm>

namespace ruv {

// A match counts where a space or an end of the list is on both sides of it.
bool is_word_of(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != word.npos) return false;
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || list[at - 1] == ' ';
    const bool ends = end == list.size() || list[end] == ' ';
    if (begins && ends) return true;
  }
  return false;
}

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const size_t begin = list.find_first_not_of(' ');
    if (begin == list.npos) break;
    list.remove_prefix(begin);
    const size_t end = std::min(list.find(' '), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(end);
  }
  return words;
}

}  // namespace ruv
