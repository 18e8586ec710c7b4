#include "memory/word_query.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "memory/ranked_chunks.h"

namespace ruv {
namespace {

struct QueryWord {
  std::string quoted;    // as FTS5 takes it
  int64_t n_chunks = 0;  // that have it, as far as they were counted
};

std::vector<QueryWord> words_in(std::string_view text) {
  std::vector<QueryWord> words;
  for (const std::string_view word : query_words(text)) {
    std::string quoted = "\"";
    for (const char c : word) {
      if (c == '\0') continue;
      quoted += c;
      if (c == '"') quoted += c;
    }
    words.push_back({quoted + '"'});
  }
  return words;
}

// Chunks that have each word, up to `most`.
Status count(const Database& database, std::vector<QueryWord>& words, int64_t most) {
  DbStatement row = TRY(
      database.prepare("SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)"));
  for (QueryWord& word : words) {
    row.bind(1, std::string_view(word.quoted));
    row.bind(2, most);
    word.n_chunks = TRY(row.step()) ? row.integer(0) : 0;
    row.reset();
  }
  return {};
}

// A word of no chunk, as one of punctuation alone, counts as common: it must not be the rarest.
int64_t rarity(const QueryWord& word) {
  return word.n_chunks == 0 ? std::numeric_limits<int64_t>::max() : word.n_chunks;
}

}  // namespace

Result<std::string> word_query(const Database& database, std::string_view text, int64_t n_chunks,
                               int64_t most_read) {
  std::vector<QueryWord> words = words_in(text);
  std::vector<const QueryWord*> taken;
  for (const QueryWord& word : words) taken.push_back(&word);
  // A small store is read as it is: counting would cost as much.
  if (n_chunks > most_read) {
    for (int64_t most = most_read;; most *= 16) {
      TRY(count(database, words, most + 1));
      const auto is_known = [most](const QueryWord& word) {
        return word.n_chunks > 0 && word.n_chunks <= most;
      };
      if (std::ranges::any_of(words, is_known) || most > n_chunks) break;
    }
    std::ranges::stable_sort(taken, {}, [](const QueryWord* word) { return rarity(*word); });
    int64_t n_read = 0;
    size_t n = 0;
    for (; n < taken.size(); ++n) {
      n_read += taken[n]->n_chunks;
      if (n > 0 && n_read > most_read) break;
    }
    taken.resize(n);
    std::ranges::sort(taken);  // as the query has them
  }
  std::string query;
  for (const QueryWord* word : taken) {
    if (!query.empty()) query += " OR ";
    query += word->quoted;
  }
  return query;
}

}  // namespace ruv
