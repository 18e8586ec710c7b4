// To go on with a message, its content is rendered with a mark at its end, and the prompt is cut at
// the mark: whatever templates write behind a message, or trim from it, is then not there.
#include "chat/rendered_chat.h"

#include <algorithm>

#include "base/json.h"
#include "chat/messages.h"

namespace ruv {
namespace {

Result<std::vector<RenderedPart>> render(const ChatTemplate& chat_template,
                                         const RenderOptions& options, const Json& request) {
  const auto member = [&](const char* name) {
    return request.contains(name) ? &request[name] : nullptr;
  };
  const bool opens = request.value("add_generation_prompt", true);
  const Json context = TRY(template_context(request["messages"], member("tools"), opens,
                                            member("chat_template_kwargs")));
  return render_chat(chat_template, context, options);
}

// A text of private characters that the request does not hold.
std::string unused_mark(std::string_view json) {
  std::string mark = "\uE000\uE001";
  while (json.find(mark) != std::string_view::npos) mark += "\uE001";
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
  if (!request.value("continue_final_message", false)) {
    chat.parts = TRY(render(chat_template, options, request));
    return chat;
  }
  Json& messages = request["messages"];
  if (!messages.is_array() || messages.empty() || !messages.back().is_object() ||
      !messages.back().contains("content") || !messages.back()["content"].is_string()) {
    return fail(Code::invalid, "chat: the last message has no text to go on with");
  }
  std::string& content = messages.back()["content"].get_ref<std::string&>();
  const size_t n_content = content.size();
  const std::string mark = unused_mark(json);
  content += mark;
  chat.parts = TRY(render(chat_template, options, request));
  if (!cut_at(chat, mark, n_content)) {
    return fail(Code::invalid, "chat: the template does not write the last message");
  }
  return chat;
}

}  // namespace ruv
