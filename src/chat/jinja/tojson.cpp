// The filter tojson: what Python's json.dumps writes, byte for byte.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

namespace {

constexpr size_t kMaxIndent = 1000;

// \n, \t, … where JSON has them, else \uXXXX; surrogate pairs beyond U+FFFF.
void append_escape(std::string& out, uint32_t c) {
  if (c >= 0x10000) {
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10),
                       0xDC00 + ((c - 0x10000) & 0x3FF));
  } else {
    out += fmt::format("\\u{:04x}", c);
  }
}

std::string json_characters(std::string_view text, bool ensure_ascii) {
  static constexpr std::string_view kSpecial = "\"\\\n\r\t\f\b";
  static constexpr std::string_view kLetters = "\"\\nrtfb";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (const size_t i = kSpecial.find(text[at]); i != std::string_view::npos) {
      out += '\\';
      out += kLetters[i];
    } else if (c.value < 0x20 || (ensure_ascii && c.value >= 0x7F)) {
      append_escape(out, c.value);
    } else {
      out += text.substr(at, c.size);
    }
    at += c.size;
  }
  return out;
}

// The state of one call: the output, the indentation and the options.
class TojsonWriter {
 public:
  TojsonWriter(RenderMeter& meter, bool ensure_ascii)
      : meter_(meter), ensure_ascii_(ensure_ascii) {}

  std::optional<std::string> indent;  // null: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;

  Status write(const Datum& value, bool from_user);
  MarkedText take() { return std::move(out_); }

 private:
  void write_text(const MarkedText& text, bool from_user);
  Status write_sequence(const DatumSequence& sequence);
  Status write_dict(const DatumDict& dict);
  Status write_key(const Datum& key, bool from_user);
  void new_line(bool from_user);
  Status check(const Datum& value) {
    TRY(meter_.spend());
    TRY(spend_whole(value, meter_));
    return meter_.check_size(out_.size());
  }

  RenderMeter& meter_;
  bool ensure_ascii_;
  size_t level_ = 0;
  MarkedText out_;
};

Result<std::string> number_text(const Datum& value) {
  if (value.is_whole()) return whole_text(value);
  if (std::isnan(value.real())) return "NaN";
  if (std::isinf(value.real())) return value.real() < 0 ? "-Infinity" : "Infinity";
  return real_repr(value.real());
}

void TojsonWriter::write_text(const MarkedText& text, bool from_user) {
  const bool quotes = from_user || text.any_from_user();
  out_.append("\"", quotes);
  text.for_each_run([&](std::string_view run, bool marked) {
    out_.append(json_characters(run, ensure_ascii_), marked);
  });
  out_.append("\"", quotes);
}

void TojsonWriter::new_line(bool from_user) {
  if (!indent) return;
  out_.append("\n", from_user);
  for (size_t i = 0; i < level_; ++i) out_.append(*indent, from_user);
}

Status TojsonWriter::write_sequence(const DatumSequence& sequence) {
  const bool user = sequence.from_user;
  out_.append("[", user);
  ++level_;
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) out_.append(item_separator, user);
    new_line(user);
    TRY(write(sequence.items[i], user));
  }
  --level_;
  if (!sequence.items.empty()) new_line(user);
  out_.append("]", user);
  return Status();
}

// Keys that are not texts are converted as json.dumps does.
Status TojsonWriter::write_key(const Datum& key, bool from_user) {
  if (key.is_text()) {
    write_text(*key.text(), from_user);
  } else if (key.is_none()) {
    out_.append("\"null\"", from_user);
  } else if (key.is(Datum::Kind::boolean)) {
    out_.append(key.boolean() ? "\"true\"" : "\"false\"", from_user);
  } else if (key.is_number()) {
    TRY(spend_whole(key, meter_));
    out_.append("\"" + TRY(number_text(key)) + "\"", from_user);
  } else {
    return fail(Code::corrupt, "keys must be str, int, float, bool or None, not {}",
                type_name(key));
  }
  return Status();
}

// With sort_keys, keys must be comparable.
Status TojsonWriter::write_dict(const DatumDict& dict) {
  const bool user = dict.from_user;
  std::vector<const DatumDict::Entry*> entries;
  for (const DatumDict::Entry& entry : dict.entries()) entries.push_back(&entry);
  if (sort_keys) {
    Status failed;
    std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
      const Result<bool> before = less(a->first, b->first, meter_);
      if (!before) failed = before.error();
      return before && *before;
    });
    TRY(std::move(failed));
  }
  out_.append("{", user);
  ++level_;
  bool first = true;
  for (const DatumDict::Entry* entry : entries) {
    if (!first) out_.append(item_separator, user);
    first = false;
    new_line(user);
    TRY(write_key(entry->first, user));
    out_.append(key_separator, user);
    TRY(write(entry->second, user));
  }
  --level_;
  if (!entries.empty()) new_line(user);
  out_.append("}", user);
  return Status();
}

Status TojsonWriter::write(const Datum& value, bool from_user) {
  TRY(check(value));
  switch (value.kind()) {
    case Datum::Kind::none:
      out_.append("null", from_user);
      return Status();
    case Datum::Kind::boolean:
      out_.append(value.boolean() ? "true" : "false", from_user);
      return Status();
    case Datum::Kind::integer:
    case Datum::Kind::real:
    case Datum::Kind::wide_integer:
      out_.append(TRY(number_text(value)), from_user);
      return Status();
    case Datum::Kind::text:
      TRY(meter_.spend_text(value.text()->size()));
      write_text(*value.text(), from_user);
      return Status();
    case Datum::Kind::sequence:
      if (!value.sequence()->is_list() && !value.sequence()->is_tuple()) break;
      return write_sequence(*value.sequence());
    case Datum::Kind::dict:
      return write_dict(*value.dict());
    default:
      break;
  }
  return fail(Code::corrupt, "Object of type {} is not JSON serializable", type_name(value));
}

}  // namespace

// Unlike Jinja's, the result is not escaped for HTML: transformers replaces the filter.
Result<Datum> tojson_filter(const BuiltinCall& call) {
  TojsonWriter writer(call.meter(), call.flag(0));
  if (call.has(1) && !call.given[1]->is_none()) {
    if (call.given[1]->is_text()) {
      writer.indent = call.given[1]->bytes();
      if (writer.indent->size() > kMaxIndent)
        return fail(Code::invalid, "tojson: an indent above {} is refused", kMaxIndent);
    } else {
      const int64_t width = std::max<int64_t>(TRY(call.integer(1, 0)), 0);
      if (width > static_cast<int64_t>(kMaxIndent))
        return fail(Code::invalid, "tojson: an indent above {} is refused", kMaxIndent);
      writer.indent = std::string(static_cast<size_t>(width), ' ');
    }
    writer.item_separator = ",";
  }
  if (call.has(2) && !call.given[2]->is_none()) {
    const std::vector<Datum> parts = TRY(items_of(*call.given[2], call.meter()));
    if (parts.size() != 2 || !parts[0].is_text() || !parts[1].is_text())
      return fail(Code::corrupt, "tojson: separators must be a pair of texts");
    writer.item_separator = parts[0].bytes();
    writer.key_separator = parts[1].bytes();
  }
  writer.sort_keys = call.flag(3);
  TRY(writer.write(call.subject, false));
  return Datum(writer.take());
}

}  // namespace ruv::jinja
