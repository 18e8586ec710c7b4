#include "rpc/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"

namespace ruv {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kJsonEnd = "_json";
constexpr std::string_view kExtra = "extra_json";
// That of a body; its own check is stricter.
constexpr JsonLimits kLimits{.depth = 100};

// "tools" of tools_json.
std::string_view member_name(std::string_view field) {
  if (field.ends_with(kJsonEnd)) field.remove_suffix(kJsonEnd.size());
  return field;
}

// Without white space at both ends, as JSON has it.
std::string_view trimmed(std::string_view text) {
  constexpr const char* kSpace = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// Appends members to a text. Messages of the service nest: their types do not contain themselves,
// so that the depth is that of the types.
class BodyWriter {
 public:
  explicit BodyWriter(std::span<const std::string_view> refused) : refused_(refused) {}

  // The members without braces.
  Status write_members(const Message& message);
  std::string take() { return std::move(out_); }
  void add(std::string_view text) { out_ += text; }

 private:
  Status write_field(const Message& message, const FieldDescriptor& field);
  Status write_value(const Message& message, const FieldDescriptor& field, int index);
  Status write_text(const FieldDescriptor& field, const std::string& text);
  Status write_real(const FieldDescriptor& field, double number);
  Status write_extra(const std::string& text, std::span<const std::string> taken);
  void separate() {
    if (!out_.empty() && out_.back() != '{' && out_.back() != '[') out_ += ',';
  }

  std::span<const std::string_view> refused_;
  std::string out_;
};

// In the order of their numbers; extra_json is the last.
Status BodyWriter::write_members(const Message& message) {
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  std::vector<std::string> taken;
  for (const FieldDescriptor* field : set) {
    if (field->name() == kExtra) continue;
    taken.emplace_back(member_name(field->name()));
    separate();
    append_json_text(out_, taken.back());
    out_ += ':';
    TRY(write_field(message, *field));
  }
  const FieldDescriptor* extra = message.GetDescriptor()->FindFieldByName(std::string(kExtra));
  if (extra == nullptr || !message.GetReflection()->HasField(message, extra)) return {};
  return write_extra(message.GetReflection()->GetString(message, extra), taken);
}

// A list, or one value.
Status BodyWriter::write_field(const Message& message, const FieldDescriptor& field) {
  if (!field.is_repeated()) return write_value(message, field, -1);
  out_ += '[';
  const int n = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < n; ++i) {
    if (i > 0) out_ += ',';
    TRY(write_value(message, field, i));
  }
  out_ += ']';
  return {};
}

// index < 0: the field is not a list.
Status BodyWriter::write_value(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& values = *message.GetReflection();
  const bool one = index < 0;
  JsonWriter writer(out_);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return write_text(field, one ? values.GetString(message, &field)
                                   : values.GetRepeatedString(message, &field, index));
    case FieldDescriptor::CPPTYPE_INT64:
      writer.integer(one ? values.GetInt64(message, &field)
                         : values.GetRepeatedInt64(message, &field, index));
      return {};
    case FieldDescriptor::CPPTYPE_BOOL:
      writer.boolean(values.GetBool(message, &field));
      return {};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return write_real(field, values.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      out_ += '{';
      TRY(write_members(one ? values.GetMessage(message, &field)
                            : values.GetRepeatedMessage(message, &field, index)));
      out_ += '}';
      return {};
    default:
      return fail(Code::internal, "'{}' has a type that no request has", field.name());
  }
}

// JSON is copied as it is.
Status BodyWriter::write_text(const FieldDescriptor& field, const std::string& text) {
  if (!std::string_view(field.name()).ends_with(kJsonEnd)) {
    append_json_text(out_, text);
    return {};
  }
  const auto json = parse_json(text, field.name(), kLimits);
  if (!json)
    return fail(Code::invalid, "'{}' is not JSON: {}", field.name(), json.error().message());
  out_ += text;
  return {};
}

// JSON has no infinities.
Status BodyWriter::write_real(const FieldDescriptor& field, double number) {
  if (!std::isfinite(number)) return fail(Code::invalid, "'{}' is not finite", field.name());
  JsonWriter(out_).real(number);
  return {};
}

// The text is checked as JSON and then copied, so that its numbers stay as they were written.
Status BodyWriter::write_extra(const std::string& text, std::span<const std::string> taken) {
  const auto json = parse_json(text, kExtra, kLimits);
  if (!json) return fail(Code::invalid, "'extra_json' is not JSON: {}", json.error().message());
  if (!json->is_object()) return fail(Code::invalid, "'extra_json' is not a JSON object");
  for (const auto& [name, value] : json->items()) {
    if (std::ranges::find(taken, name) != taken.end()) {
      return fail(Code::invalid, "'extra_json' has '{}', which has been set already", name);
    }
    if (std::ranges::find(refused_, name) != refused_.end()) {
      return fail(Code::invalid, "'extra_json' has '{}', which is not possible over gRPC", name);
    }
  }
  const std::string_view members = trimmed(text);
  if (json->empty()) return {};
  separate();
  out_ += members.substr(1, members.size() - 2);
  return {};
}

}  // namespace

Result<std::string> body_of(const Message& message, std::string_view fixed,
                            std::span<const std::string_view> refused) {
  BodyWriter writer(refused);
  writer.add("{");
  writer.add(fixed);
  TRY(writer.write_members(message));
  writer.add("}");
  return writer.take();
}

Status read_message(std::string_view json, Message& message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  message.Clear();
  const auto done =
      google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &message, options);
  if (done.ok()) return {};
  return fail(Code::internal, "the answer does not fit its message: {}",
              std::string_view(done.message().data(), done.message().size()));
}

}  // namespace ruv
