#include "engine/schema_check.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/utf8.h"
#include "engine/form_store.h"

namespace ruv {
namespace {

// Numbers with more digits than this keep their exponent.
constexpr int64_t kMaxPlainDigits = 400;
// What an error quotes of the text before and after the place.
constexpr size_t kQuotedBefore = 60;
constexpr size_t kQuotedAfter = 30;

// The decimal digits of a number without its point, which comes after the first `point` of them.
struct DecimalDigits {
  std::string digits;
  int64_t point = 0;
};

// Nothing: the exponent is far out of range.
std::optional<DecimalDigits> digits_of(std::string_view number) {
  DecimalDigits out;
  const size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, e);
  const size_t dot = std::min(mantissa.find('.'), mantissa.size());
  out.digits = std::string(mantissa.substr(0, dot));
  if (dot < mantissa.size()) out.digits += mantissa.substr(dot + 1);
  int64_t exponent = 0;
  if (e < number.size()) {
    std::string_view text = number.substr(e + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto end = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (end.ec != std::errc() || std::abs(exponent) > kMaxPlainDigits) return std::nullopt;
  }
  const size_t zeros = std::min(out.digits.find_first_not_of('0'), out.digits.size());
  out.digits.erase(0, zeros);
  out.point = static_cast<int64_t>(dot) + exponent - static_cast<int64_t>(zeros);
  while (out.digits.ends_with('0')) out.digits.pop_back();
  return out;
}

// A number of JSON without exponent.
std::string plain_number(std::string_view number) {
  const bool negative = number.starts_with('-');
  const std::optional<DecimalDigits> decimal = digits_of(number.substr(negative ? 1 : 0));
  if (!decimal) return std::string(number);
  const auto& [digits, point] = *decimal;
  if (digits.empty()) return "0";
  std::string out = negative ? "-" : "";
  const auto n = static_cast<int64_t>(digits.size());
  if (point <= 0) return out + "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (point >= n) return out + digits + std::string(static_cast<size_t>(point - n), '0');
  const auto at = static_cast<size_t>(point);
  return out + digits.substr(0, at) + "." + digits.substr(at);
}

// One past the end of the text that begins with the quote at `from`.
size_t end_of_text(std::string_view json, size_t from) {
  size_t at = from + 1;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return std::min(at + 1, json.size());
}

// How much of the text can begin JSON of the schema, and whether it is one.
struct FormProgress {
  size_t n_read = 0;
  bool may_end = false;
  bool gave_up = false;
};

FormProgress progress_of(const Form& form, std::string_view text) {
  const Lock guard(form.space().mutex());
  FormReader reader = form.reader();
  FormProgress made;
  while (made.n_read < text.size() && reader.accept(text.substr(made.n_read, 1))) ++made.n_read;
  made.may_end = reader.may_end();
  made.gave_up = reader.gave_up();
  return made;
}

// Required members of the object that are not there: what models forget most.
std::string missing_members(const Json& schema, const Json& value) {
  const Json* required = schema.is_object() ? schema.find("required") : nullptr;
  if (required == nullptr || !required->is_array() || !value.is_object()) return {};
  std::string names;
  for (const Json& name : *required) {
    if (name.is_string() && !value.contains(name.text()))
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name.text());
  }
  return names.empty() ? names : fmt::format("; missing: {}", names);
}

// The end of the part that was read, from the start of a character.
std::string_view tail_of(std::string_view text, size_t n) {
  size_t from = n > kQuotedBefore ? n - kQuotedBefore : 0;
  while (from < n && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  return text.substr(from, n - from);
}

Status objection(const Json& schema, std::string_view text, const FormProgress& made) {
  if (made.gave_up)
    return Status(Code::invalid, "checking the arguments takes too much work; make them shorter");
  const Result<Json> value = parse_json(text, "arguments");
  const std::string missing = value ? missing_members(schema, *value) : std::string();
  if (made.n_read == text.size())
    return Status(Code::invalid, "the arguments end before they are complete" + missing);
  std::string quoted(text.substr(made.n_read, kQuotedAfter));
  return Status(
      Code::invalid,
      to_valid_utf8(fmt::format("the arguments do not follow the schema: after {} there cannot be "
                                "{}{}{}",
                                made.n_read == 0 ? "nothing" : tail_of(text, made.n_read), quoted,
                                made.n_read + kQuotedAfter < text.size() ? "…" : "", missing)));
}

}  // namespace

std::string plain_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      const size_t end = end_of_text(json, at);
      out += json.substr(at, end - at);
      at = end;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      const size_t end = std::min(json.find_first_not_of("+-.0123456789eE", at), json.size());
      out += plain_number(json.substr(at, end - at));
      at = end;
    } else {
      if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) out += c;
      ++at;
    }
  }
  return out;
}

// A form counts duplicate keys as wrong, though JSON leaves open which of them counts.
Result<SchemaCheck> schema_check(Engine& engine, const std::string& schema) {
  AnswerForm asked;
  asked.text = schema;
  asked.layout = JsonLayout::any;
  const std::shared_ptr<const LoadedForm> loaded = TRY(engine.load_form(asked));
  const auto parsed = std::make_shared<const Json>(TRY(parse_json(schema, "schema")));
  return SchemaCheck([loaded, parsed](std::string_view json) {
    const std::string text = plain_json(json);
    const FormProgress made = progress_of(*loaded->form, text);
    const bool is_right = made.n_read == text.size() && made.may_end && !made.gave_up;
    return is_right ? Status() : objection(*parsed, text, made);
  });
}

}  // namespace ruv
