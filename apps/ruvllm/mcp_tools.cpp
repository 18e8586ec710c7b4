// Each tool is its description for clients and one function. Arguments are checked here by name,
// type and range, as in requests over HTTP.
#include "mcp_tools.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json_fields.h"
#include "ruv/options.h"
#include "ruv/prompts.h"
#include "ruv/stream.h"
#include "tools/json_members.h"

namespace ruv {
namespace {

// Reports of progress are at least this far apart.
constexpr int64_t kProgressNs = 100'000'000;
constexpr size_t kMaxEmbeddedTexts = 256;

// A field's error as a Status.
template <class T>
Result<T> checked(FieldResult<T> field) {
  if (!field) return tl::unexpected<Status>(status_of(field.error()));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*field);
  }
}

Json object_schema(Json properties, Json required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

Json text_schema(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

// Answers have no log-probabilities, and each call's prompt ends where a message ends.
bool is_offered(const OptionRow& row) {
  const std::string_view name = row.name;
  return name != "logprobs" && name != "token_healing";
}

Json option_schema(const OptionRow& row) {
  const Json description(row.doc);
  switch (row.kind) {
    case OptionRow::Kind::flag:
      return {{"type", "boolean"}, {"description", description}};
    case OptionRow::Kind::integer:
      return {{"type", "integer"},
              {"minimum", row.least},
              {"maximum", row.most},
              {"description", description}};
    case OptionRow::Kind::number:
      return {{"type", "number"},
              {"minimum", row.min},
              {"maximum", row.max},
              {"description", description}};
    case OptionRow::Kind::texts:
      return {{"type", "array"},
              {"items", {{"type", "string"}}},
              {"maxItems", row.most},
              {"description", description}};
  }
  return {};
}

Json generate_schema() {
  Json properties{
      {"prompt", text_schema("What to answer, or with raw the text to continue")},
      {"system", text_schema("System message put before the prompt")},
      {"raw", {{"type", "boolean"}, {"description", "Continue the prompt without chat template"}}}};
  for (const OptionRow& row : generate_options()) {
    if (is_offered(row)) properties[row.name] = option_schema(row);
  }
  return object_schema(std::move(properties), Json::array({"prompt"}));
}

Result<OptionValue> option_value(const OptionRow& row, const Json& object) {
  switch (row.kind) {
    case OptionRow::Kind::flag:
      return TRY(checked(read_flag(object, row.name, false)));
    case OptionRow::Kind::integer:
      return TRY(checked(read_integer(object, row.name, 0, {row.least, row.most})));
    case OptionRow::Kind::texts:
      return TRY(checked(optional_texts(object, row.name)));
    case OptionRow::Kind::number:
      break;
  }
  const Json& number = object[row.name];
  if (!number.is_number())
    return fail(Code::invalid, "'{}' must be a number, not {}", row.name, type_words(number));
  return number.get<double>();
}

Result<GenerateParams> read_params(const Json& arguments) {
  GenerateParams params;
  for (const auto& [name, value] : arguments.items()) {
    if (name == "prompt" || name == "system" || name == "raw" || value.is_null()) continue;
    const OptionRow* row = find_generate_option(name);
    if (row == nullptr || !is_offered(*row))
      return tl::unexpected<Status>(status_of(unknown_field(std::string(name)).value()));
    TRY(set_option(*row, params, TRY(option_value(*row, arguments))));
  }
  return params;
}

Result<std::vector<Token>> read_prompt(const Model& model, const Json& arguments) {
  const std::string prompt = TRY(checked(required_text(arguments, "prompt")));
  const std::string system = TRY(checked(optional_text(arguments, "system")));
  if (TRY(checked(read_flag(arguments, "raw", false)))) {
    if (!system.empty()) return fail(Code::invalid, "'system' cannot be used with 'raw'");
    return tokenize(model, prompt);
  }
  Conversation asked;
  if (!system.empty()) asked.messages.push_back(text_message("system", system));
  asked.messages.push_back(text_message("user", prompt));
  return tokenize_chat(model, asked);
}

class GenerateTool final : public Tool {
 public:
  explicit GenerateTool(Engine& engine) : engine_(engine) {}

  const ToolSpec& spec() const override { return spec_; }
  Result<ToolReply> call(const Json& arguments, const ToolCallTerms& terms) override {
    const GenerateParams params = TRY(read_params(arguments));
    Request request{.prompt = TRY(read_prompt(engine_.model(), arguments)), .params = params};
    request.terms.timeout_ms = terms.timeout_ms;
    Stream stream = TRY(engine_.stream(std::move(request)));
    const Answer answer =
        TRY(stream.collect(reporter(terms, params), [&] { return terms.is_cancelled(); }));
    if (answer.finish == FinishReason::cancelled)
      return fail(Code::cancelled, "the answer was cancelled");
    return ToolReply{
        .text = answer.text,
        .structured = {{"text", answer.text},
                       {"finish_reason", std::string(finish_reason_name(answer.finish))},
                       {"n_prompt_tokens", answer.timings.n_prompt_tokens},
                       {"n_generated_tokens", answer.timings.n_generated_tokens},
                       {"seed", answer.seed}}};
  }

 private:
  // Counts tokens; reports them with the text since the last report. Null: no report is wanted.
  static std::function<void(const Event&)> reporter(const ToolCallTerms& terms,
                                                    const GenerateParams& params) {
    if (!terms.on_progress) return {};
    return [&terms, max_tokens = params.max_tokens, n_tokens = size_t{0}, text = std::string(),
            reported_ns = int64_t{0}](const Event& event) mutable {
      n_tokens += event.ids.size();
      text += event.text;
      const int64_t now_ns = SteadyClock().now_ns();
      if (event.ids.empty() || now_ns - reported_ns < kProgressNs) return;
      reported_ns = now_ns;
      ToolProgress progress{.done = static_cast<double>(n_tokens)};
      if (max_tokens > 0) progress.total = static_cast<double>(max_tokens);
      progress.message = std::exchange(text, {});
      terms.on_progress(progress);
    };
  }

  Engine& engine_;
  ToolSpec spec_{.name = "generate",
                 .description = "Answers a prompt with the local language model.",
                 .parameters = generate_schema()};
};

// An embedding for each text; the longest text decides what is possible.
class EmbedTool final : public Tool {
 public:
  explicit EmbedTool(Engine& engine) : engine_(engine) {}

  const ToolSpec& spec() const override { return spec_; }
  Result<ToolReply> call(const Json& arguments, const ToolCallTerms& terms) override {
    TRY(checked(check_member_names(arguments, {"texts"})));
    const std::vector<std::string> texts = TRY(checked(optional_texts(arguments, "texts")));
    if (texts.empty() || texts.size() > kMaxEmbeddedTexts)
      return fail(Code::invalid, "'texts' must be a list of 1 to {} texts", kMaxEmbeddedTexts);
    constexpr EmbedParams kParams{.normalise = true};
    Json vectors = Json::array();
    size_t n_tokens = 0;
    for (const std::string& text : texts) {
      if (terms.is_cancelled()) return fail(Code::cancelled, "the call was cancelled");
      std::vector<Token> ids = TRY(tokenize_embedding(engine_.model(), text));
      n_tokens += ids.size();
      vectors.push_back(TRY(engine_.embed(std::move(ids), kParams)).numbers);
      report(terms, vectors.size(), texts.size());
    }
    Json result{{"embeddings", std::move(vectors)}, {"n_tokens", n_tokens}};
    return ToolReply{.text = result.dump(), .structured = std::move(result)};
  }

 private:
  static void report(const ToolCallTerms& terms, size_t done, size_t total) {
    if (!terms.on_progress) return;
    terms.on_progress({.done = static_cast<double>(done), .total = static_cast<double>(total)});
  }

  Engine& engine_;
  ToolSpec spec_{.name = "embed",
                 .description = "Gives a vector of length 1 for each text, to compare texts by.",
                 .parameters = object_schema({{"texts",
                                               {{"type", "array"},
                                                {"items", {{"type", "string"}}},
                                                {"minItems", 1},
                                                {"maxItems", kMaxEmbeddedTexts}}}},
                                             Json::array({"texts"}))};
};

class TokenizeTool final : public Tool {
 public:
  explicit TokenizeTool(Engine& engine) : engine_(engine) {}

  const ToolSpec& spec() const override { return spec_; }
  Result<ToolReply> call(const Json& arguments, const ToolCallTerms&) override {
    TRY(checked(check_member_names(arguments, {"text", "special"})));
    const std::string text = TRY(checked(required_text(arguments, "text")));
    const bool special = TRY(checked(read_flag(arguments, "special", false)));
    const std::vector<Token> ids = TRY(tokenize(engine_.model(), text, special));
    Json result{{"ids", ids}, {"count", ids.size()}};
    return ToolReply{.text = result.dump(), .structured = std::move(result)};
  }

 private:
  Engine& engine_;
  ToolSpec spec_{
      .name = "tokenize",
      .description = "Gives the ids of the model's tokens for a text, as it would be a prompt.",
      .parameters = object_schema(
          {{"text", text_schema("The text")},
           {"special",
            {{"type", "boolean"},
             {"description", "Control tokens written out in the text become their ids"}}}},
          Json::array({"text"}))};
};

}  // namespace

std::vector<std::shared_ptr<Tool>> model_tools(Engine& engine) {
  return {std::make_shared<GenerateTool>(engine), std::make_shared<EmbedTool>(engine),
          std::make_shared<TokenizeTool>(engine)};
}

}  // namespace ruv
