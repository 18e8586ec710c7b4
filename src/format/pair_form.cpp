#include "format/pair_form.h"

#include <simdjson.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"

namespace ruv {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;

// The member "post_processor" alone, of a file that may be large. Empty: it has none.
Result<std::string> post_processor_of(const std::string& path) {
  const MappedFile file = TRY(MappedFile::open(path));
  if (file.bytes().size() > kMaxBytes) return fail(Code::corrupt, "{}: above 256 MB", path);
  const simdjson::padded_string padded(as_text(file.bytes()));
  TRY(file.check_read());
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  std::string_view text;
  const bool found = !parser.iterate(padded).get(document) &&
                     !document["post_processor"].get_object().get(object) &&
                     !object.raw_json().get(text);
  if (!found) return std::string();
  return std::string(text.substr(0, text.rfind('}') + 1));
}

// Null where `object` is none, or has no such member.
const Json& member_of(const Json& object, std::string_view name) {
  static const Json kNull;
  const Json* const found = object.is_object() ? object.find(name) : nullptr;
  return found == nullptr ? kNull : *found;
}

std::string member_text(const Json& object, std::string_view name) {
  const Json& value = member_of(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

class PairReader {
 public:
  PairReader(const std::string& path, const TokenizerSpec& spec) : path_(path), spec_(spec) {}

  Result<PairForm> read(const Json& step) const {
    const std::string type = member_text(step, "type");
    if (type == "TemplateProcessing") return read_template(step);
    const Json& sep = member_of(step, "sep");
    if (!sep.is_array() || sep.size() != 2 || !sep[1].is_number_unsigned()) return other("sep");
    const auto id = static_cast<Token>(sep[1].get<uint64_t>() & INT32_MAX);
    if (type == "BertProcessing") return PairForm{{id}, true};
    return PairForm{{id, id}, false};
  }

 private:
  tl::unexpected<Status> other(std::string_view what) const {
    return fail(Code::unsupported, "{}: post_processor: {}: pairs of this form are not supported",
                path_, what);
  }

  // One element of the list: its ids, or none where it is a sequence.
  Status add(const Json& step, const Json& item, std::vector<Token>& ids) const {
    const Json& special = member_of(item, "SpecialToken");
    if (!special.is_object()) return other("pair");
    const Json& known =
        member_of(member_of(member_of(step, "special_tokens"), member_text(special, "id")), "ids");
    if (!known.is_array() || known.size() > 16) return other("special_tokens");
    for (const Json& id : known) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX) return other("ids");
      ids.push_back(id.get<Token>());
    }
    return {};
  }

  Result<PairForm> read_template(const Json& step) const {
    const Json& pair = member_of(step, "pair");
    if (!pair.is_array() || pair.size() > 64) return other("pair");
    std::vector<Token> parts[3];  // before, between and after the texts
    int64_t types[3] = {0, 0, 0}, type_of_second = 0;
    size_t part = 0;
    for (const Json& item : pair) {
      if (!item.is_object() || item.size() != 1) return other("pair");
      const Json& sequence = member_of(item, "Sequence");
      const Json& value = sequence.is_object() ? sequence : member_of(item, "SpecialToken");
      const Json& type_id = member_of(value, "type_id");
      if (!type_id.is_number_unsigned()) return other("type_id");
      const int64_t type = type_id == 0 ? 0 : type_id == 1 ? 1 : 2;
      if (!sequence.is_object()) {
        types[part] = std::max(types[part], type);
        TRY(add(step, item, parts[part]));
        continue;
      }
      if (part == 2 || member_text(sequence, "id") != (part == 0 ? "A" : "B"))
        return other("Sequence");
      if (part == 0 && type != 0) return other("type_id");
      if (part == 1) type_of_second = type;
      ++part;
    }
    const bool types_fit = types[0] == 0 && types[1] == 0 && type_of_second < 2 &&
                           (parts[2].empty() || types[2] == type_of_second);
    if (part != 2 || !types_fit || !std::ranges::equal(parts[0], spec_.first_tokens()) ||
        !std::ranges::equal(parts[2], spec_.last_tokens())) {
      return other("pair");
    }
    return PairForm{std::move(parts[1]), type_of_second == 1};
  }

  const std::string& path_;
  const TokenizerSpec& spec_;
};

}  // namespace

PairForm usual_pair_form(const TokenizerSpec& spec) {
  const std::span<const Token> last = spec.last_tokens();
  PairForm form{{last.begin(), last.end()}, true};
  if (spec.kind != TokenizerKind::wordpiece) {
    form.middle.insert(form.middle.end(), last.begin(), last.end());
    form.has_types = false;
  }
  return form;
}

Result<PairForm> read_pair_form(const std::string& folder, const TokenizerSpec& spec) {
  const std::string path = folder + (folder.ends_with('/') ? "" : "/") + "tokenizer.json";
  if (!file_exists(path)) return usual_pair_form(spec);
  const std::string text = TRY(post_processor_of(path));
  // Nothing is put between texts that nothing is put around.
  const bool is_bare = spec.first_tokens().empty() && spec.last_tokens().empty();
  if (text.empty() && is_bare) return PairForm();
  if (text.empty()) {
    return fail(Code::unsupported, "{}: no post_processor, which says how two texts are joined",
                path);
  }
  const Json root = TRY(parse_json(text, path, {.depth = 16, .values = 10'000}));
  const PairReader reader(path, spec);
  if (member_text(root, "type") == "ByteLevel" && is_bare) return PairForm();
  if (member_text(root, "type") != "Sequence") return reader.read(root);
  const Json& steps = member_of(root, "processors");
  for (size_t i = 0; steps.is_array() && i < steps.size(); ++i) {
    const std::string type = member_text(steps[i], "type");
    const bool joins =
        type == "TemplateProcessing" || type == "BertProcessing" || type == "RobertaProcessing";
    if (joins) return reader.read(steps[i]);
  }
  if (is_bare) return PairForm();
  return fail(Code::unsupported, "{}: post_processor: no step joins two texts", path);
}

}  // namespace ruv
