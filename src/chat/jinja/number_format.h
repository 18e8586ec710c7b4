// One number or text laid out by a format: sign, width, precision, fill.
#pragma once

#include "chat/jinja/datum.h"

namespace ruv::jinja {

struct FieldFormat {
  std::string fill = " ";
  char align = 0;  // < > ^ =, or 0 for the type's own
  char sign = 0;   // '-', '+' or ' ', or 0 when none is written
  bool alternate = false;
  bool grouped = false;      // thousands by commas
  bool zero_padded = false;  // a 0 before the width, which chose the alignment
  int64_t width = 0;
  int64_t precision = -1;
  bool from_user = false;  // the format is the user's, and so is what fills the field
  char type = 0;           // d f F e E g G x X o b s % or 0
};

// Widths and precisions above this are refused.
inline constexpr int64_t kMaxFieldWidth = 100'000;

// Refuses what str.format refuses and % does not: a layout for a value that is neither text nor
// number, a precision for a whole number. Fails: corrupt.
Status check_field(const Datum& value, const FieldFormat& format);

// Fails: corrupt, when the type does not fit the value.
Result<MarkedText> formatted(const Datum& value, const FieldFormat& format, RenderMeter& meter);

}  // namespace ruv::jinja
