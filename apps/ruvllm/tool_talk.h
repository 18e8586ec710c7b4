// ToolTalk: turns of a conversation whose model may call tools. The answer goes to stdout; what is
// called, what comes of it and what the model thinks to stderr.
#pragma once

#include <memory>
#include <optional>

#include "answer_screen.h"
#include "consent.h"
#include "engine/chat_asker.h"
#include "tool_box.h"

namespace ruv {

// What came of a turn.
struct ToolTurn {
  ToolLoopEnd end = ToolLoopEnd::answered;
  ChatAnswer last;  // the last answer
};

// How turns are shown.
struct TurnLook {
  ScreenForm form = ScreenForm::raw;
  bool speeds = false;  // a line with its speed follows each answer
};

class ToolTalk {
 public:
  // `line` and the engine must live longer.
  // Fails: as ToolBox::open; unsupported (the model calls no tools that are known).
  static Result<std::unique_ptr<ToolTalk>> open(const CommandLine& line, const ToolUse& use,
                                                Engine& engine, std::shared_ptr<const Model> model,
                                                TurnLook look);

  // Answers the conversation, and adds to it all that was said. Ctrl-C ends the turn: the answer,
  // or the calls that run. Fails: as ChatAsker::ask, with the conversation as it was.
  Result<ToolTurn> take_turn(Conversation& conversation, const GenerateParams& params);

 private:
  ToolTalk(const CommandLine& line, const ToolUse& use, Engine& engine,
           std::shared_ptr<const Model> model, TurnLook look);
  // How the next answers are asked for. Fails: invalid (--tool-choice names no tool).
  Result<ChatTerms> terms_of(const Conversation& conversation, const GenerateParams& params);

  const CommandLine& line_;
  ToolUse use_;
  Engine& engine_;
  ChatAsker asker_;
  Consent consent_;
  TurnLook look_;
  std::unique_ptr<ToolBox> box_;
  std::optional<TemplateValue> seen_tools_;  // that were asked whether they can be held
  bool held_ = true;                         // calls of these tools are
};

}  // namespace ruv
