#include "text/split/match_pieces.h"

namespace ruv {

// Appends a match or gap as a piece of its own or joins it to the piece before it, as the behaviour
// says.
bool MatchPieces::add(size_t begin, size_t end, bool match) {
  match ^= invert_;
  bool joins = false;
  switch (behavior_) {
    case SplitBehavior::isolated:
      break;
    case SplitBehavior::removed:
      if (match) return true;
      break;
    case SplitBehavior::merged_with_previous:
      joins = match && !after_match_;
      break;
    case SplitBehavior::merged_with_next:
      joins = !match && after_match_;
      break;
    case SplitBehavior::contiguous:
      joins = match == after_match_;
      break;
  }
  joins = joins && !pieces_.empty();
  if (!joins && pieces_.size() >= max_pieces_) return false;
  if (joins) {
    pieces_.back().end = static_cast<uint32_t>(end);
  } else {
    pieces_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  }
  after_match_ = match;
  return true;
}

// After a match, an empty match at its end does not count; otherwise the loop would not advance.
size_t MatchPieces::append(std::string_view text, size_t at, size_t offset, size_t max_pieces,
                           std::vector<Word>& out) {
  pieces_.clear();
  after_match_ = false;
  max_pieces_ = max_pieces;
  size_t no_empty_at = SIZE_MAX;
  while (at < text.size()) {
    const PieceScanner::Piece piece = scanner_.next(text, at, no_empty_at);
    if (piece.begin > at) {
      if (!add(at, piece.begin, false)) break;
      at = piece.begin;
    }
    if (!piece.found) continue;
    if (!add(piece.begin, piece.end, true)) break;
    at = no_empty_at = piece.end;
  }
  for (const Word& piece : pieces_) {
    if (piece.begin == piece.end) continue;
    out.push_back(
        {static_cast<uint32_t>(piece.begin + offset), static_cast<uint32_t>(piece.end + offset)});
  }
  return at;
}

}  // namespace ruv
