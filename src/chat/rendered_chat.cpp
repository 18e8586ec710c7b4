// To go on with a message, its content is rendered with a mark at its end, and the prompt is cut at
// the mark: whatever templates write behind a message, or trim from it, is then not there.
#include "chat/rendered_chat.h"

#include <algorithm>

#include "base/json.h"
#include "chat/messages.h"

namespace ruv {
namespace {

Result<bool> flag_of(const Json& request, const char* name, bool when_absent) {
  const Json* found = request.find(name);
  if (found == nullptr) return when_absent;
  if (!found->is_boolean()) return fail(Code::invalid, "chat: \"{}\" is not true or false", name);
  return found->get<bool>();
}

Result<std::vector<RenderedPart>> render(const ChatTemplate& chat_template,
                                         const RenderOptions& options, const Json& request) {
  const bool opens = TRY(flag_of(request, "add_generation_prompt", true));
  const Json context = TRY(template_context(request["messages"], request.find("tools"), opens,
                                            request.find("chat_template_kwargs")));
  return render_chat(chat_template, context, options);
}

// A text of private characters that the request does not hold: more of them than stand together
// anywhere in it.
std::string unused_mark(std::string_view json) {
  constexpr std::string_view kUnit = "\uE001";
  size_t longest = 0;
  for (size_t at = json.find(kUnit); at != json.npos; at = json.find(kUnit, at)) {
    size_t n = 0;
    for (; json.substr(at, kUnit.size()) == kUnit; at += kUnit.size()) ++n;
    longest = std::max(longest, n);
  }
  std::string mark = "\uE000";
  for (size_t i = 0; i <= longest; ++i) mark += kUnit;
  return mark;
}

// Cuts the parts at the last place of `mark`; the `n_content` bytes before it are the message's
// where they came from it. False: the mark is not there.
bool cut_at(RenderedChat& chat, const std::string& mark, size_t n_content) {
  std::vector<RenderedPart>& parts = chat.parts;
  while (!parts.empty()) {
    RenderedPart& last = parts.back();
    const size_t at = last.text.rfind(mark);
    if (at != std::string::npos) {
      last.text.resize(at);
      break;
    }
    parts.pop_back();
  }
  size_t n_open = 0;
  for (auto part = parts.rbegin(); part != parts.rend() && part->from_user; ++part) {
    n_open += part->text.size();
  }
  chat.n_open_bytes = std::min(n_open, n_content);
  return !parts.empty();
}

}  // namespace

Result<RenderedChat> render_conversation(const ChatTemplate& chat_template,
                                         const RenderOptions& options, std::string_view json) {
  Json request = TRY(parse_json(json, "chat"));
  if (!request.is_object() || !request.contains("messages")) {
    return fail(Code::invalid, "chat: expected an object with \"messages\"");
  }
  RenderedChat chat;
  if (!TRY(flag_of(request, "continue_final_message", false))) {
    chat.parts = TRY(render(chat_template, options, request));
    return chat;
  }
  Json& messages = request["messages"];
  if (!messages.is_array() || messages.empty() || !messages.back().is_object() ||
      !messages.back().contains("content") || !messages.back()["content"].is_string()) {
    return fail(Code::invalid, "chat: the last message has no text to go on with");
  }
  Json& content = messages.back()["content"];
  const size_t n_content = content.text().size();
  const std::string mark = unused_mark(json);
  content = std::string(content.text()) + mark;
  chat.parts = TRY(render(chat_template, options, request));
  if (!cut_at(chat, mark, n_content)) {
    return fail(Code::invalid, "chat: the template does not write the last message");
  }
  return chat;
}

}  // namespace ruv
