// WordAutomaton: cuts a text into matches and gaps with one table lookup per character, never
// reading a character twice.
//
// A ScanDfa finds one match; repeating it from each match's end would read characters again
// whenever a scan runs past the end of its match. In "\n  x" the line end is a word unless another
// line end follows the spaces, so the scan reads on and then has to return. This automaton avoids
// that by running several scans at once: the scan of the current word, from the last place where
// that word may end the scan of the next word, and so on. The states of a few such scans together
// (a configuration) are one state of this automaton. All configurations are enumerated when the
// automaton is built.
//
// The possible ends of unfinished words are kept in slots, in the same array as the finished words
// and directly after them:
//
//   words [0, n) certain | slot 0: end of the oldest scan | slot 1: end of the next scan | …
//
// A move does at most two things: it writes the place before its symbol into one slot (an unused
// one if there is nothing to record), and it makes the first few slots certain, which is only an
// addition to n. Both numbers are in the table entry, so the loop has no branches that depend on
// the pattern:
//
//   bits 0-23   row of the next state        bit 26      what is written is the end of a gap
//   bit 27      give up                      bits 28-29  slot that is written
//   bits 30-31  number of slots that become certain
//
// Where a configuration would need too many slots or a failed scan would have to resume earlier,
// the entry says "give up", and PieceScanner finds one piece the plain way.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "text/split/piece_scanner.h"
#include "text/split/word.h"

namespace ruv {

class WordAutomaton {
 public:
  // The scanner must outlive the automaton. Nothing when the pattern may match the empty text,
  // holds \A, or needs too many states; then only PieceScanner can be used.
  static std::optional<WordAutomaton> create(const PieceScanner* scanner);

  static constexpr size_t kMinRoom = 64;
  // Set in Word::end of a gap while words are marked.
  static constexpr uint32_t kGapMark = 1U << 31;
  enum class Marks : bool { none, gaps };

  // Writes the words of text[at, text.size()) to `out` consecutively; each match and each gap is
  // one. Moves `at` past the last one. Stops at the end of the text, or when fewer than kMinRoom
  // words still fit. Returns the number of words. Requires: room >= 2 * kMinRoom; at is 0 or a
  // place where a word ended; at < text.size() < 2^31.
  size_t cut(std::string_view text, size_t& at, Word* out, size_t room, Marks marks) const;

  // Cuts each word as if it were a text and appends the pieces to `out`; pieces of marked words are
  // marked. With `keeps_matches`, unmarked words stay whole.
  void cut_words(std::string_view text, std::span<const Word> words, bool keeps_matches,
                 std::vector<Word>& out) const;

  // Whether `next` leaves every match of this automaton in one piece.
  bool keeps_matches_whole(const WordAutomaton& next) const;

  uint32_t n_states() const { return static_cast<uint32_t>(table_.size()) / n_symbols_; }

 private:
  friend class WordAutomatonBuilder;
  // The fields of a table entry; see the top of the file.
  static constexpr uint32_t kSlotShift = 28;
  static constexpr uint32_t kCertainShift = 30;
  static constexpr uint32_t kRowMask = (1U << 24) - 1;
  static constexpr uint32_t kGiveUp = 1U << 27;
  static constexpr uint32_t kGapEnds = 1U << 26;  // what is written is the end of a gap

  template <Marks marks>
  size_t cut_into(std::string_view text, size_t at, Word* out, size_t room) const;
  // Cuts one short word completely; returns 0 when the table gives up. Requires: `out` has room for
  // a word per character.
  size_t cut_short(std::string_view text, size_t at, Word* out) const;
  // Finds the words of the piece at `at` with PieceScanner.
  template <Marks marks>
  size_t cut_plainly(std::string_view text, size_t at, Word* out) const;

  const PieceScanner* scanner_ = nullptr;
  uint32_t n_symbols_ = 0;
  std::vector<uint32_t> table_;
};

}  // namespace ruv
