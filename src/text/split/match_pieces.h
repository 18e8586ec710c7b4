// MatchPieces: turns the matches of a splitting step and the gaps between them into pieces, by the
// five behaviours that the package `tokenizers` defines (isolated, removed, merged with the
// previous or the next piece, contiguous).
#pragma once

#include <vector>

#include "text/split/piece_scanner.h"
#include "text/split/word.h"
#include "text/tokenizer_spec.h"

namespace ruv {

class MatchPieces {
 public:
  // With `invert`, gaps count as matches and matches as gaps. The scanner outlives this.
  MatchPieces(const PieceScanner& scanner, SplitBehavior behavior, bool invert)
      : scanner_(scanner), behavior_(behavior), invert_(invert) {}

  // Appends the non-empty pieces of text[at, text.size()), with `offset` added to their places,
  // until `out` holds about `max_pieces` or the text ends. Returns where the next call continues.
  size_t append(std::string_view text, size_t at, size_t offset, size_t max_pieces,
                std::vector<Word>& out);

 private:
  // False: the piece begins a new word and `max_pieces` are there.
  bool add(size_t begin, size_t end, bool match);

  const PieceScanner& scanner_;
  SplitBehavior behavior_;
  bool invert_;
  bool after_match_ = false;
  size_t max_pieces_ = 0;
  std::vector<Word> pieces_;
};

}  // namespace ruv
