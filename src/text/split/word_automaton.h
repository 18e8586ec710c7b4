// WordAutomaton: cuts a text into matches and gaps with one table lookup for each character and no
// going back.
//
// Where a word ends is often known only later: of "\n  x" the line end is a word, unless another
// line end follows the spaces. The automaton therefore runs the scan of the word and, from the last
// place where it may end, the scan of the next word, and so on: a configuration of up to a few
// scans is one state. Their possible ends stand in slots behind the words that are certain:
//
//   words [0, n) certain | slot 0: end of the oldest scan | slot 1: end of the next scan | …
//
// A move writes the place before its symbol into one slot (a slot not in use when it has nothing to
// say) and then makes some slots certain. Configurations that do not fit are left to PieceScanner.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "text/split/piece_scanner.h"
#include "text/split/word.h"

namespace ruv {

class WordAutomaton {
 public:
  // The scanner outlives the automaton. Nothing when the pattern may match nothing, holds \A, or
  // needs too many states; then PieceScanner alone is to be used.
  static std::optional<WordAutomaton> create(const PieceScanner* scanner);

  static constexpr size_t kMinRoom = 64;
  // Set in Word::end of a gap while words are marked.
  static constexpr uint32_t kGapMark = 1U << 31;
  enum class Marks : bool { none, gaps };

  // Writes words of text[at, text.size()) to `out`, one behind the other; each match and each gap
  // is one. Moves `at` behind the last one. Stops at the end of the text, or when fewer than
  // kMinRoom words still fit. Returns their number. Requires: room >= 2 * kMinRoom; at is 0 or a
  // place where a word ended; at < text.size() < 2^31.
  size_t cut(std::string_view text, size_t& at, Word* out, size_t room, Marks marks) const;

  // Cuts each word as a text of its own and writes what comes of it to `out`; pieces of marked
  // words are marked. With `keeps_matches`, words that are not marked stay as they are.
  void cut_words(std::string_view text, std::span<const Word> words, bool keeps_matches,
                 std::vector<Word>& out) const;

  // Whether `next` leaves every match of this automaton in one piece.
  bool keeps_matches_whole(const WordAutomaton& next) const;

  uint32_t n_states() const { return static_cast<uint32_t>(table_.size()) / n_symbols_; }

 private:
  friend class WordAutomatonBuilder;
  // A move: the row of the next state, the slot that is written, the slots that become certain.
  static constexpr uint32_t kSlotShift = 28;
  static constexpr uint32_t kCertainShift = 30;
  static constexpr uint32_t kRowMask = (1U << 24) - 1;
  static constexpr uint32_t kGiveUp = 1U << 27;
  static constexpr uint32_t kGapEnds = 1U << 26;  // what is written is the end of a gap

  template <Marks marks>
  size_t cut_into(std::string_view text, size_t at, Word* out, size_t room) const;
  // Cuts one short word at once; 0 when the table gives up. Requires: room for its characters.
  size_t cut_short(std::string_view text, size_t at, Word* out) const;
  // Words of the piece at `at`, found the plain way.
  template <Marks marks>
  size_t cut_plainly(std::string_view text, size_t at, Word* out) const;

  const PieceScanner* scanner_ = nullptr;
  uint32_t n_symbols_ = 0;
  std::vector<uint32_t> table_;
};

}  // namespace ruv
