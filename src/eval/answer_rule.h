// What of a written answer is compared with the expected one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ruv {

enum class AnswerRule : uint8_t {
  whole,         // all of it, but for white space at both ends
  after_hashes,  // a number after "#### ", which GSM8K's answers end with
  last_number,   // the last number, whatever is around it
  passes,        // all of it, after what was asked: a program that a test passes
};

// As lm-evaluation-harness compares: numbers without commas, dollars and a point at their end, and
// letters in lower case. What `expected` has after the last "#### " counts, under both rules of
// numbers. Requires: not `passes`, which takes running the program (checked_program.h).
bool is_expected(AnswerRule rule, std::string_view answer, std::string_view expected);

}  // namespace ruv
