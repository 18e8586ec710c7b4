// JSON in lines: one object in, one object out, for the subcommands that other programs drive. A
// line that cannot be answered gives {"error": …} in its place, and the others continue.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "ruv/token.h"

namespace ruv {

using LineAnswer = std::function<Result<Json>(const Json& line)>;

// Answers every line of `in` that is not blank, flushing after each so that a program may wait for
// an answer before it sends the next line.
void answer_json_lines(std::istream& in, const LineAnswer& answer);
// The object on line `number` (1 is the first). Fails: corrupt, when it is not a JSON object.
Result<Json> parse_json_line(const std::string& text, int64_t number);

// Members of a line. Fail: invalid, naming the member.
Result<std::string> text_member(const Json& line, const char* name);
Result<bool> flag_member(const Json& line, const char* name, bool when_absent);
// Whole numbers in [0, limit).
Result<std::vector<Token>> ids_member(const Json& line, const char* name, int64_t limit);

}  // namespace ruv
