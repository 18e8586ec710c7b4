// Boost.JSON reads the text; here its events become values and its errors words. The number a text
// gives is taken from its digits: the reader's own does not round correctly.
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/number_text.h"

namespace ruv {

// Finished values and keys of the containers that are open, in one stack. A container takes its own
// from the end of it when it closes, so that it is allocated once and to size.
class JsonTreeBuilder {
 public:
  explicit JsonTreeBuilder(JsonLimits limits) : limits_(limits) {}

  // Whether there is room for one value more.
  bool count_value() { return n_values_++ < limits_.values; }
  bool may_open() const { return frames_.size() < static_cast<size_t>(limits_.depth); }
  void open(Json::Kind kind) { frames_.push_back({kind, stack_.size()}); }
  void add(Json value) { stack_.push_back(std::move(value)); }
  void close();

  // The container that the next value is in; null: none.
  Json::Kind innermost() const { return frames_.empty() ? Json::Kind::null : frames_.back().kind; }
  // Whether the last thing read was a key: its value is missing.
  bool after_key() const {
    return innermost() == Json::Kind::object && (stack_.size() - frames_.back().begin) % 2 == 1;
  }
  Json take() { return std::move(stack_.back()); }

 private:
  struct Frame {
    Json::Kind kind;
    size_t begin;
  };

  JsonLimits limits_;
  size_t n_values_ = 0;
  std::vector<Frame> frames_;
  std::vector<Json> stack_;
};

// Moves the container's values from the stack into one allocation.
void JsonTreeBuilder::close() {
  const Frame frame = frames_.back();
  frames_.pop_back();
  const std::span<Json> parts = std::span(stack_).subspan(frame.begin);
  Json container =
      frame.kind == Json::Kind::array ? Json::array_taking(parts) : Json::object_taking(parts);
  stack_.resize(frame.begin);
  stack_.push_back(std::move(container));
}

namespace {

namespace bj = boost::json;

enum class Stop { none, depth, values, number };

// The events of the reader. Texts with escapes come in parts.
struct Events {
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = max_object_size;
  static constexpr size_t max_key_size = max_object_size;
  static constexpr size_t max_string_size = max_object_size;
  using Text = bj::string_view;
  using Error = bj::error_code;

  explicit Events(JsonLimits limits) : tree(limits) {}

  bool stop(Stop reason, Error& error) {
    stopped = reason;
    error = bj::error::syntax;
    return false;
  }
  bool add(Json value, Error& error) {
    if (!tree.count_value()) return stop(Stop::values, error);
    tree.add(std::move(value));
    return true;
  }
  bool open(Json::Kind kind, Error& error) {
    if (!tree.may_open()) return stop(Stop::depth, error);
    if (!tree.count_value()) return stop(Stop::values, error);
    tree.open(kind);
    return true;
  }
  bool close() {
    tree.close();
    return true;
  }
  bool part(Text text) {
    parts.append(text.data(), text.size());
    return true;
  }
  // The whole text, whose last part this is.
  Json whole(Text last) {
    if (parts.empty()) return Json(std::string_view(last.data(), last.size()));
    part(last);
    Json json(parts);
    parts.clear();
    return json;
  }
  bool number(double rough, Text last, Error& error);

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error& error) { return open(Json::Kind::object, error); }
  bool on_object_end(size_t, Error&) { return close(); }
  bool on_array_begin(Error& error) { return open(Json::Kind::array, error); }
  bool on_array_end(size_t, Error&) { return close(); }
  bool on_key_part(Text text, size_t, Error&) { return part(text); }
  bool on_key(Text text, size_t, Error&) {
    tree.add(whole(text));
    return true;
  }
  bool on_string_part(Text text, size_t, Error&) { return part(text); }
  bool on_string(Text text, size_t, Error& error) { return add(whole(text), error); }
  bool on_number_part(Text text, Error&) { return part(text); }
  bool on_int64(int64_t value, Text, Error& error) {
    parts.clear();
    return add(value, error);
  }
  bool on_uint64(uint64_t value, Text, Error& error) {
    parts.clear();
    return add(value, error);
  }
  bool on_double(double rough, Text text, Error& error) { return number(rough, text, error); }
  bool on_bool(bool value, Error& error) { return add(value, error); }
  bool on_null(Error& error) { return add(nullptr, error); }
  bool on_comment_part(Text, Error&) { return false; }
  bool on_comment(Text, Error&) { return false; }

  JsonTreeBuilder tree;
  std::string parts;  // of the text or number that is being read
  Stop stopped = Stop::none;
};

// `rough` is the reader's idea of the number.
bool Events::number(double rough, Text last, Error& error) {
  std::string_view text(last.data(), last.size());
  if (!parts.empty()) {
    part(last);
    text = parts;
  }
  Json value;
  if (text.find_first_of(".eE") == text.npos) {
    value = Json::big_integer(text);
  } else {
    double real = 0;
    const auto [end, failed] = read_number(text, real);
    const bool too_small = failed == std::errc::result_out_of_range && std::abs(rough) < 1;
    if (failed != std::errc() && !too_small) return stop(Stop::number, error);
    value = too_small ? 0.0 : real;
  }
  parts.clear();
  return add(std::move(value), error);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Where in the text reading stopped: all before `at` was well-formed.
struct StopPlace {
  bool in_text = false;
  char before = 0;      // the last character but space; 0: none
  bool touches = true;  // and no space is between
};

StopPlace place_of(std::string_view text, size_t at) {
  StopPlace place;
  for (size_t i = 0; i < at; ++i) {
    const char c = text[i];
    if (place.in_text && c == '\\') {
      place.before = text[i++];
      continue;
    }
    if (c == '"') place.in_text = !place.in_text;
    place.touches = place.in_text || !is_space(c);
    if (place.touches) place.before = c;
  }
  return place;
}

std::string_view wanted_in_text(std::string_view text, size_t at, StopPlace place) {
  const auto c = static_cast<unsigned char>(text[at]);
  if (place.before == '\\' && c < 0x80) return "an escape has \", \\, /, b, f, n, r, t or u";
  if (c < 0x20) return "control characters in a text must be escaped";
  if (c >= 0x80) return "the text is not UTF-8";
  return "\\u escapes must make whole characters";
}

// What would have been valid at the place of the error.
std::string_view wanted(const JsonTreeBuilder& tree, StopPlace place) {
  const bool in_object = tree.innermost() == Json::Kind::object;
  switch (place.before) {
    case 0:
    case ':':
      return "expected a value";
    case '{':
      return "expected a key or '}'";
    case '[':
      return "expected a value or ']'";
    case ',':
      return in_object ? "expected a key" : "expected a value";
    case '.':
    case '-':
    case '+':
    case 'e':
    case 'E':
      if (place.touches) return "expected a digit";
      break;
    default:
      break;
  }
  if (tree.after_key()) return "expected ':' after the key";
  if (in_object) return "expected ',' or '}'";
  return tree.innermost() == Json::Kind::array ? "expected ',' or ']'"
                                               : "expected the end of the text";
}

// What is at an offset, for a message.
std::string shown(std::string_view text, size_t at) {
  const auto c = static_cast<unsigned char>(text[at]);
  return c > 0x20 && c < 0x7F ? fmt::format("'{}'", text[at]) : fmt::format("byte 0x{:02x}", c);
}

std::string problem(std::string_view text, size_t at, const bj::error_code& error,
                    const Events& events, JsonLimits limits) {
  switch (events.stopped) {
    case Stop::depth:
      return fmt::format("nested deeper than the limit of {}", limits.depth);
    case Stop::values:
      return fmt::format("more than {} values", limits.values);
    case Stop::number:
      return "the number is out of range";
    case Stop::none:
      break;
  }
  if (error == bj::error::exponent_overflow) return "the number is out of range";
  if (error == bj::error::expected_hex_digit) return "\\u needs four hexadecimal digits";
  const StopPlace place = place_of(text, at);
  if (at >= text.size()) return place.in_text ? "ends inside a text" : "ends too early";
  if (place.in_text) return std::string(wanted_in_text(text, at, place));
  return fmt::format("{}, not {}", wanted(events.tree, place), shown(text, at));
}

}  // namespace

// Runs the reader over the whole text; trailing text is an error.
Result<Json> parse_json(std::string_view text, std::string_view source, JsonLimits limits) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const size_t skipped = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  bj::parse_options options;
  options.max_depth = static_cast<size_t>(limits.depth) + 1;
  bj::basic_parser<Events> parser(options, limits);
  bj::error_code error;
  size_t at =
      skipped + parser.write_some(false, text.data() + skipped, text.size() - skipped, error);
  if (!error) {  // only space may follow
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) return parser.handler().tree.take();
  }
  return fail(Code::corrupt, "{}: offset {}: not valid JSON: {}", source, at,
              problem(text, at, error, parser.handler(), limits));
}

}  // namespace ruv
