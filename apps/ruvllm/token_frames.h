// Texts and ids in binary on stdin and stdout, for programs that push hundreds of megabytes through
// a tokenizer. All numbers are 32 bits, little-endian.
#pragma once

#include "base/result.h"
#include "text/tokenizer.h"

namespace ruv {

struct FrameWork {
  bool decode = false;   // ids to bytes instead of bytes to ids
  bool special = false;  // control tokens: parsed, or shown
  int n_threads = 0;     // for long texts; 0: one per core
};

// For each frame on stdin (a count, then that number of bytes or ids) writes one to stdout (a
// count, then ids or bytes), until stdin ends. A program that writes many frames at once must read
// meanwhile. Fails: corrupt (a frame that is cut off or too long, an id outside the vocabulary).
Status answer_frames(const Tokenizer& tokenizer, const FrameWork& work);

}  // namespace ruv
