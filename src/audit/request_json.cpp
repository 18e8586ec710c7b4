#include "audit/request_json.h"

#include <algorithm>
#include <charconv>

#include "audit/audit_entry.h"
#include "ruv/options.h"

namespace ruv {
namespace {

constexpr std::array kFormKinds{"json_schema", "choice", "regex", "gbnf", "lark"};
constexpr std::array kLayouts{"compact", "flexible", "any"};

tl::unexpected<Status> wrong(std::string_view member) {
  return fail(Code::corrupt, "entry: request: '{}' is missing or not what it should be", member);
}

// The table of options (ruv/options.h) says what there is, so that a new option is in new entries
// without a line here; an entry that lacks an option is refused, as its answer may depend on it.
Json option_json(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return *texts;
  return nullptr;
}

Result<std::vector<std::string>> read_texts(const Json& json, std::string_view member) {
  std::vector<std::string> texts;
  if (!json.is_array()) return wrong(member);
  for (const Json& text : json) {
    if (!text.is_string()) return wrong(member);
    texts.emplace_back(text.text());
  }
  return texts;
}

// Null is an option that may have no value.
Result<OptionValue> read_option(const OptionRow& row, const Json& json) {
  const bool may_be_unset = std::holds_alternative<std::monostate>(row.get(GenerateParams()));
  if (json.is_null() && may_be_unset) return OptionValue();
  switch (row.kind) {
    case OptionRow::Kind::flag:
      if (json.is_boolean()) return OptionValue(json.get<bool>());
      break;
    case OptionRow::Kind::integer:
      if (const auto number = whole_number(&json)) return OptionValue(*number);
      break;
    case OptionRow::Kind::number:
      if (const auto number = real_number(&json)) return OptionValue(*number);
      break;
    case OptionRow::Kind::texts:
      return OptionValue(TRY(read_texts(json, row.name)));
  }
  return wrong(row.name);
}

Json ids_json(std::span<const Token> ids) {
  Json list = Json::array();
  for (const Token id : ids) list.push_back(id);
  return list;
}

Result<std::vector<Token>> read_ids(const Json& object, std::string_view member) {
  const Json* list = object.find(member);
  if (list == nullptr || !list->is_array()) return wrong(member);
  std::vector<Token> ids;
  for (const Json& id : *list) {
    const std::optional<int64_t> number = whole_number(&id);
    if (!number || *number < -1 || *number > INT32_MAX) return wrong(member);
    ids.push_back(static_cast<Token>(*number));
  }
  return ids;
}

Result<int64_t> read_whole(const Json& object, std::string_view member) {
  const std::optional<int64_t> number = whole_number(object.find(member));
  if (!number) return wrong(member);
  return *number;
}

Result<bool> read_bool(const Json& object, std::string_view member) {
  const Json* flag = object.find(member);
  if (flag == nullptr || !flag->is_boolean()) return wrong(member);
  return flag->get<bool>();
}

// The place of a name in a list of all.
template <class Name, size_t n>
Result<size_t> read_name(const Json& object, std::string_view member,
                         const std::array<Name, n>& names) {
  const Json* name = object.find(member);
  if (name == nullptr || !name->is_string()) return wrong(member);
  const auto found = std::ranges::find(names, name->text());
  if (found == names.end()) return wrong(member);
  return static_cast<size_t>(found - names.begin());
}

// Pairs of id and number: the bits of a float survive the way through a double's shortest text.
Json bias_json(const GenerateParams& params) {
  Json list = Json::array();
  for (const auto& [id, bias] : params.logit_bias) {
    Json pair = Json::array();
    pair.push_back(id);
    pair.push_back(static_cast<double>(bias));
    list.push_back(std::move(pair));
  }
  return list;
}

Status read_bias(const Json& object, GenerateParams& params) {
  const Json* list = object.find("logit_bias");
  if (list == nullptr || !list->is_array()) return wrong("logit_bias");
  for (const Json& pair : *list) {
    if (!pair.is_array() || pair.size() != 2) return wrong("logit_bias");
    const std::optional<int64_t> id = whole_number(&pair[0]);
    const std::optional<double> bias = real_number(&pair[1]);
    if (!id || *id < 0 || *id > INT32_MAX || !bias) return wrong("logit_bias");
    params.logit_bias.emplace_back(static_cast<Token>(*id), static_cast<float>(*bias));
  }
  return {};
}

Json form_json(const AnswerForm& form, RequestTexts texts) {
  Json json = Json::object();
  json["kind"] = kFormKinds[static_cast<size_t>(form.kind)];
  if (texts == RequestTexts::without) return json;
  json["text"] = form.text;
  json["strict"] = form.strict;
  json["layout"] = kLayouts[static_cast<size_t>(form.layout)];
  Json schemas = Json::array();
  for (const auto& [uri, text] : form.schemas) {
    Json pair = Json::array();
    pair.push_back(uri);
    pair.push_back(text);
    schemas.push_back(std::move(pair));
  }
  json["schemas"] = std::move(schemas);
  return json;
}

Result<AnswerForm> read_form_json(const Json& json) {
  if (!json.is_object()) return wrong("form");
  AnswerForm form;
  form.kind = static_cast<AnswerForm::Kind>(TRY(read_name(json, "kind", kFormKinds)));
  const Json* text = json.find("text");
  if (text == nullptr || !text->is_string()) return wrong("form.text");
  form.text = std::string(text->text());
  form.strict = TRY(read_bool(json, "strict"));
  form.layout = static_cast<JsonLayout>(TRY(read_name(json, "layout", kLayouts)));
  const Json* schemas = json.find("schemas");
  if (schemas == nullptr || !schemas->is_array()) return wrong("form.schemas");
  for (const Json& pair : *schemas) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      return wrong("form.schemas");
    form.schemas.emplace_back(pair[0].text(), pair[1].text());
  }
  return form;
}

// Ids, as the model's tokenizer had them: the model's digest covers the tokenizer, too.
Json reasoning_json(const ReasoningRegion& region) {
  Json json = Json::object();
  json["begin"] = region.begin;
  json["end"] = ids_json(region.end);
  json["is_open"] = region.is_open;
  json["max_tokens"] = region.max_tokens;
  json["gap"] = ids_json(region.gap);
  return json;
}

Result<ReasoningRegion> read_reasoning_json(const Json& json) {
  if (!json.is_object()) return wrong("reasoning");
  ReasoningRegion region;
  const int64_t begin = TRY(read_whole(json, "begin"));
  if (begin < -1 || begin > INT32_MAX) return wrong("reasoning.begin");
  region.begin = static_cast<Token>(begin);
  region.end = TRY(read_ids(json, "end"));
  region.is_open = TRY(read_bool(json, "is_open"));
  region.max_tokens = TRY(read_whole(json, "max_tokens"));
  region.gap = TRY(read_ids(json, "gap"));
  return region;
}

// The options of the table, and those that are lists of ids. A seed has 64 bits, which not all
// readers of JSON keep, so it is a text.
Json params_json(const GenerateParams& params, RequestTexts texts) {
  Json json = Json::object();
  for (const OptionRow& row : generate_options()) {
    if (row.name == std::string_view("seed")) continue;
    if (row.kind == OptionRow::Kind::texts && row.words.empty() && texts == RequestTexts::without)
      continue;
    json[row.name] = option_json(row.get(params));
  }
  json["seed"] = params.seed ? Json(fmt::format("{}", *params.seed)) : Json();
  json["allowed_token_ids"] = ids_json(params.allowed_token_ids);
  json["stop_tokens"] = ids_json(params.stop_tokens);
  json["shown_tokens"] = ids_json(params.shown_tokens);
  json["logit_bias"] = bias_json(params);
  return json;
}

Status read_params_json(const Json& json, GenerateParams& params) {
  for (const OptionRow& row : generate_options()) {
    if (row.name == std::string_view("seed")) continue;
    const Json* value = json.find(row.name);
    if (value == nullptr) return wrong(row.name);
    OptionValue option = TRY(read_option(row, *value));
    if (std::holds_alternative<std::monostate>(option)) continue;
    TRY(set_option(row, params, std::move(option)));
  }
  const Json* seed = json.find("seed");
  if (seed == nullptr || !(seed->is_null() || seed->is_string())) return wrong("seed");
  if (seed->is_string()) {
    const std::string_view digits = seed->text();
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return wrong("seed");
    params.seed = number;
  }
  params.allowed_token_ids = TRY(read_ids(json, "allowed_token_ids"));
  params.stop_tokens = TRY(read_ids(json, "stop_tokens"));
  params.shown_tokens = TRY(read_ids(json, "shown_tokens"));
  return read_bias(json, params);
}

}  // namespace

Json request_json(const Request& request, RequestTexts texts) {
  Json json = Json::object();
  const bool is_hidden = request.output == RequestOutput::hidden;
  json["output"] = is_hidden ? "hidden" : "tokens";
  if (is_hidden) {
    json["pooling"] = pooling_name(request.pooling);
  } else {
    json["params"] = params_json(request.params, texts);
  }
  json["n_fixed_tokens"] = request.n_fixed_tokens;
  json["second_text"] = request.second_text;
  if (request.form) json["form"] = form_json(asked_form(*request.form), texts);
  if (request.reasoning) json["reasoning"] = reasoning_json(*request.reasoning);
  return json;
}

Result<ReadRequest> read_request_json(const Json& json) {
  if (!json.is_object()) return wrong("request");
  ReadRequest made;
  Request& request = made.request;
  constexpr std::array kOutputs{"tokens", "hidden"};
  request.output = static_cast<RequestOutput>(TRY(read_name(json, "output", kOutputs)));
  if (request.output == RequestOutput::hidden) {
    request.pooling = static_cast<Pooling>(TRY(read_name(json, "pooling", kPoolingNames)));
  } else {
    const Json* params = json.find("params");
    if (params == nullptr || !params->is_object()) return wrong("params");
    TRY(read_params_json(*params, request.params));
  }
  request.n_fixed_tokens = TRY(read_whole(json, "n_fixed_tokens"));
  request.second_text = TRY(read_whole(json, "second_text"));
  if (const Json* form = json.find("form")) made.form = TRY(read_form_json(*form));
  if (const Json* region = json.find("reasoning"))
    request.reasoning = TRY(read_reasoning_json(*region));
  return made;
}

}  // namespace ruv
