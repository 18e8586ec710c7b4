// ChatAsker: answers a conversation whose model may call tools. It renders the prompt, holds calls
// to the tools' schemas, and takes the answer apart as it comes. It keeps no conversation: what was
// answered is put there as a message, and the next prompt finds the keys and values of the last one
// in the engine's cache.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chat/tools/answer_format.h"
#include "chat/tools/tool_message.h"
#include "ruv/engine.h"
#include "ruv/prompts.h"

namespace ruv {

struct ChatTerms {
  GenerateParams params = {};
  // The answer consists of calls. Else it may be text, calls or both.
  bool must_call = false;
  // Tools of the conversation that may be called; none: all. Only held calls keep to it.
  std::vector<std::string> names = {};
  // Calls follow the tools' schemas as they are written.
  bool held = true;
};

struct ChatAnswer {
  std::string content;
  std::string reasoning;
  std::vector<ToolCall> calls;  // with ids that are new in the conversation; none if cancelled
  std::vector<ToolWarning> warnings;  // what was not as the model writes calls; it is content
  FinishReason finish = FinishReason::none;
  Timings timings;
};

// How an answer is followed. Any may be null.
struct ChatWatch {
  // Each piece of it, on the calling thread.
  std::function<void(const ToolDelta&)> on_delta = {};
  // Asked at least every 20 ms; true cancels.
  std::function<bool()> should_stop = {};
};

class ChatAsker {
 public:
  // The engine, which runs this model, must live longer.
  ChatAsker(Engine& engine, std::shared_ptr<const Model> model);

  // Fails: unsupported (the model's template shows no calls that are known).
  Status can_call() const;
  // Whether calls of these tools can be held. Fails: as call_grammar and Engine::load_form.
  Status can_hold(const TemplateValue& tools) const;
  // Waits for the answer. A conversation without tools gets one without calls. Fails: as
  // can_call, can_hold, PromptEncoder::encode, Engine::submit and Stream::collect.
  Result<ChatAnswer> ask(const Conversation& conversation, const ChatTerms& terms,
                         const ChatWatch& watch = {});

 private:
  Result<std::shared_ptr<const LoadedForm>> form_of(const TemplateValue& tools,
                                                    const ChatTerms& terms) const;

  Engine& engine_;
  AnswerFormat format_;
  PromptEncoder prompts_;
};

// What a conversation gets after an answer, and after each of its calls.
Message answer_message(const ChatAnswer& answer);
Message result_message(const std::string& call_id, const std::string& tool, std::string text);

}  // namespace ruv
