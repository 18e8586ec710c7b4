// To continue a message, its content is rendered with a mark at its end, and the prompt is cut at
// the mark: whatever templates write after a message, or trim from it, is then not there.
#include "chat/rendered_chat.h"

#include <algorithm>

#include "base/json.h"
#include "chat/read_conversation.h"
#include "chat/template_context.h"

namespace ruv {
namespace {

// The context is tried once more with the arguments of calls as text: templates may want them so in
// places that the probes do not reach.
Result<std::vector<RenderedPart>> render(const ChatTemplate& chat_template,
                                         const RenderOptions& options, Json& context) {
  auto parts = chat_template.render(context, options);
  if (parts || !write_arguments(context)) return parts;
  auto again = chat_template.render(context, options);
  return again ? std::move(again) : std::move(parts);
}

constexpr std::string_view kMarkUnit = "\uE001";

size_t longest_run(std::string_view text) {
  size_t longest = 0;
  for (size_t at = text.find(kMarkUnit); at != text.npos; at = text.find(kMarkUnit, at)) {
    size_t n = 0;
    for (; text.substr(at, kMarkUnit.size()) == kMarkUnit; at += kMarkUnit.size()) ++n;
    longest = std::max(longest, n);
  }
  return longest;
}

// The length of the longest run of the marks' units in any text of the value.
size_t longest_run(const Json& value) {
  size_t longest = 0;
  std::vector<const Json*> open{&value};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (json.is_array()) {
      for (const Json& item : json) open.push_back(&item);
    } else if (json.is_object()) {
      for (const auto& [name, member] : json.items()) {
        longest = std::max(longest, longest_run(name));
        open.push_back(&member);
      }
    } else if (json.is_string()) {
      longest = std::max(longest, longest_run(json.text()));
    }
  }
  return longest;
}

// A text of private characters that the context does not hold.
std::string unused_mark(const Json& context) {
  std::string mark = "\uE000";
  const size_t n = longest_run(context) + 1;
  for (size_t i = 0; i < n; ++i) mark += kMarkUnit;
  return mark;
}

// Puts the mark after the last message's text.
void add_mark(Json& context, const std::string& mark) {
  Json& content = context["messages"].back()["content"];
  Json& text = content.is_array() ? content.back()["text"] : content;
  text = (text.is_string() ? std::string(text.text()) : std::string()) + mark;
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
                                         const RenderOptions& options,
                                         const Conversation& conversation) {
  if (const auto checked = check_conversation(conversation); !checked) {
    return tl::unexpected<Status>(status_of(checked.error()));
  }
  Json context = template_context(conversation, chat_template.capabilities());
  RenderedChat chat;
  if (conversation.end != PromptEnd::open_message) {
    chat.parts = TRY(render(chat_template, options, context));
    return chat;
  }
  const std::string mark = unused_mark(context);
  add_mark(context, mark);
  chat.parts = TRY(render(chat_template, options, context));
  if (!cut_at(chat, mark, joined_text(conversation.messages.back()).size())) {
    return fail(Code::invalid, "chat: the template does not write the last message");
  }
  return chat;
}

}  // namespace ruv
