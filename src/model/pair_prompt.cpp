#include "model/pair_prompt.h"

#include <array>

#include "base/json.h"
#include "chat/prompt.h"
#include "format/rank_readme.h"
#include "model/model.h"

namespace ruv {
namespace {

constexpr std::string_view kQuery = "{query}", kDocument = "{document}";

Json message(const PairPrompt& prompt, std::string_view role, std::string_view text) {
  if (!prompt.lists_parts) return {{"role", role}, {"content", text}};
  Json content = Json::array();
  content.push_back({{"type", "text"}, {"text", text}});
  return {{"role", role}, {"content", content}};
}

Result<std::vector<RenderedPart>> render_pair(const PairPrompt& prompt,
                                              const RenderOptions& options, const TextPair& pair) {
  Json messages = Json::array();
  if (!prompt.instruction.empty()) {
    messages.push_back(message(prompt, "system", prompt.instruction));
  }
  messages.push_back(message(prompt, "query", pair.first));
  messages.push_back(message(prompt, "document", pair.second));
  const Json context = {
      {"messages", messages}, {"tools", Json()}, {"add_generation_prompt", false}};
  return prompt.chat_template->render(context, options);
}

std::vector<RenderedPart> fill_in(const std::string& text, const TextPair& pair) {
  const size_t query = text.find(kQuery), document = text.find(kDocument);
  const bool query_first = query < document;
  const size_t first = std::min(query, document), second = std::max(query, document);
  const size_t after_first = first + (query_first ? kQuery : kDocument).size();
  const size_t after_second = second + (query_first ? kDocument : kQuery).size();
  return {{.text = text.substr(0, first)},
          {.text = std::string(query_first ? pair.first : pair.second), .from_user = true},
          {.text = text.substr(after_first, second - after_first)},
          {.text = std::string(query_first ? pair.second : pair.first), .from_user = true},
          {.text = text.substr(after_second)}};
}

// Whether both texts of a pair reach the prompt.
Status check_shown(const PairPrompt& prompt, const RenderOptions& options) {
  constexpr std::array<TextPair, 3> kPairs = {{{"abc", "def"}, {"xyz", "def"}, {"abc", "xyz"}}};
  std::array<std::string, 3> written;
  for (size_t i = 0; i < kPairs.size(); ++i) {
    written[i] = joined(TRY(render_pair(prompt, options, kPairs[i])));
  }
  if (written[0] != written[1] && written[0] != written[2]) return {};
  return {Code::unsupported,
          "the chat template does not show messages of the roles 'query' and 'document'"};
}

Result<std::shared_ptr<const PairPrompt>> prompt_by_template(const Model& model) {
  const LogitScore& score = *model.embed->logit_score;
  if (model.chat_template == nullptr) return tl::unexpected<Status>(model.chat_template_status);
  const auto prompt = std::make_shared<PairPrompt>();
  prompt->chat_template = model.chat_template;
  prompt->lists_parts = score.lists_parts;
  const EmbedInfo& info = model.embed->info;
  for (const auto& [name, text] : info.prompts) {
    if (name == info.default_prompt) prompt->instruction = text;
  }
  TRY(check_shown(*prompt, render_options(model.tokenizer.get())));
  return prompt;
}

Result<std::shared_ptr<const PairPrompt>> prompt_of_text(std::string text,
                                                         const std::string& source) {
  for (const std::string_view place : {kQuery, kDocument}) {
    const size_t at = text.find(place);
    if (at != text.npos && text.find(place, at + 1) == text.npos) continue;
    return fail(Code::unsupported, "{}: the template of pairs does not have '{}' once", source,
                place);
  }
  const auto prompt = std::make_shared<PairPrompt>();
  prompt->text = std::move(text);
  return prompt;
}

}  // namespace

Result<std::shared_ptr<const PairPrompt>> read_pair_prompt(const Model& model) {
  const ModelFile& file = *model.file;
  const bool has_score = model.embed != nullptr && model.embed->logit_score.has_value();
  if (has_score && model.embed->logit_score->by_template) return prompt_by_template(model);
  if (has_score) return nullptr;
  constexpr std::string_view kTemplate = "tokenizer.chat_template.rerank";
  const auto entry = file.metadata().find(kTemplate);
  if (entry != file.metadata().end() && std::holds_alternative<std::string>(entry->second)) {
    return prompt_of_text(std::get<std::string>(entry->second), file.path());
  }
  if (ranks_by_readme(file)) {
    return prompt_of_text(std::string(model.family->ranks.text), file.path());
  }
  return nullptr;
}

Result<std::vector<RenderedPart>> write_pair(const PairPrompt& prompt, const RenderOptions& options,
                                             const TextPair& pair) {
  if (prompt.chat_template == nullptr) return fill_in(prompt.text, pair);
  return render_pair(prompt, options, pair);
}

}  // namespace ruv
