// The words of a query as an expression of FTS5, which reads each chunk that has one of them and
// ranks it: a word that a third of a million chunks have costs a third of a second and says next to
// nothing. So words are taken from the rarest on, for as long as not too many chunks have them.
#pragma once

#include <string>
#include <string_view>

#include "memory/database.h"

namespace ruv {

// Chunks that a search by words reads, but for those of its rarest word. More cost about 1 us each;
// fewer leave out words that would have told good chunks from better ones.
constexpr int64_t kMostReadChunks = 20'000;

// Any of the first 64 words may be there, those that are left out apart; empty: there are no words.
// Which are left out depends on the texts in `words`, a table of FTS5, alone. `n_chunks`: that it
// has. Costs the reading of as many places as most_read for each word. Fails: as Database::run.
Result<std::string> word_query(const Database& database, std::string_view text, int64_t n_chunks,
                               int64_t most_read = kMostReadChunks);

}  // namespace ruv
