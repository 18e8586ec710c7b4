// ChatTemplate: a model's Jinja template, parsed once, rendered for each conversation. Rendered
// text remembers which parts came from the user, so that user text can never become a control
// token.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "chat/capabilities.h"
#include "chat/tools/find_dialect.h"
#include "chat/tools/response_template.h"

namespace ruv {

// A piece of a rendered prompt. from_user: the bytes came out of a message, a tool or another
// value of the context, not out of the template's own text.
// assistant: they are in a {% generation %} block, which transformers calls the assistant mask.
struct RenderedPart {
  std::string text;
  bool from_user = false;
  bool assistant = false;
};

struct RenderOptions {
  std::string bos_token;
  std::string eos_token;
  int64_t now_unix_s = 0;  // what strftime_now sees (UTC)
  // Limits against hostile templates; exceeding one is an error that names it.
  int64_t max_steps = 10'000'000;
  int64_t max_output_bytes = 64 << 20;
};

class ChatTemplate {
 public:
  // Fails: corrupt with line and column ("template: line 3, column 7: …"), unsupported (a filter,
  // test or tag we lack). `declared`: what the model's files say of its answers besides.
  static Result<std::shared_ptr<const ChatTemplate>> parse(std::string_view source,
                                                           DeclaredFormat declared = {});
  ~ChatTemplate();

  // Renders with the members of `context` (an object: messages, tools, add_generation_prompt and
  // whatever else) as variables. Fails: invalid (raise_exception, with the template's message),
  // corrupt (a type error in the template, with its place).
  Result<std::vector<RenderedPart>> render(const Json& context, const RenderOptions& options) const;

  // Found at the first call and kept. Any thread may ask.
  const TemplateCapabilities& capabilities() const;
  // How the model writes calls and reasoning. Found at the first call and kept. Any thread may ask.
  const FoundDialect& dialect() const;
  // What was given with it.
  const DeclaredFormat& declared() const;
  // The text that was parsed.
  std::string_view source() const;

  struct Program;  // the parsed form, private to chat

 private:
  explicit ChatTemplate(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

// All parts joined.
std::string joined(const std::vector<RenderedPart>& parts);

}  // namespace ruv
