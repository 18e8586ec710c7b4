// Talk: a conversation with a model that `ruvllm chat` holds. Each turn renders all messages anew;
// when they no longer fit the context that is said with both numbers, and what then leaves it is
// the user's choice. With a session they are on disk before the next line is read.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer_screen.h"
#include "command_line.h"
#include "engine/session_store.h"
#include "open_engine.h"
#include "open_model.h"
#include "ruv/stream.h"
#include "tool_talk.h"

namespace ruv {

struct ChatCall {
  std::string model;
  LoadCall load;
  std::string system;
  std::string session;
  bool plain = false;
  EngineCall engine;
  GenerateParams params;
  ToolUse tools;
};

// A conversation's place on disk.
class SavedConversation {
 public:
  // Fails: as SessionStore, invalid (it has a system message, and another is given).
  static Result<SavedConversation> open(const CommandLine& line, const ChatCall& call);

  // Those that were on disk when it was opened.
  const std::vector<Message>& messages() const { return messages_; }
  std::string system() const;
  // Fails: as SessionStore::save.
  Status save(const std::vector<Message>& messages, const std::string& model,
              const Timings& timings);

 private:
  SavedConversation(std::unique_ptr<SessionStore> store, SessionStore::Hold hold)
      : store_(std::move(store)), hold_(std::move(hold)) {}
  std::unique_ptr<SessionStore> store_;
  SessionStore::Hold hold_;
  Session session_;
  std::vector<Message> messages_;
};

class Talk {
 public:
  // Loads the model of `call`, which must outlive the talk, as `line` must. `saved` may be null.
  // Fails: as open_model and open_engine; unsupported (no chat template).
  static Result<std::unique_ptr<Talk>> open(const CommandLine& line, const ChatCall& call,
                                            SavedConversation* saved);

  // "ruvltra-nano, context 1024 tokens, …".
  std::string banner() const;
  // Forgets all messages; the system message stays, or another one takes its place.
  void begin_anew() { begin_anew(std::exchange(system_, "")); }
  void begin_anew(std::string system);
  // Answers on stdout. A turn that fails leaves the conversation as it was.
  void take_turn(const std::string& text);

  // Another model continues the conversation; where it cannot be used, nothing changes.
  Status use_model(const std::string& path);
  // Fails: invalid (no such option, or a wrong value).
  Status set(const std::string& name, const std::string& value);
  // Each option of sampling and its value.
  std::string settings() const;
  // The messages as JSON. Fails: as FileWriter::create, which replaces no file.
  Status save_to(const std::string& path) const;
  // The messages of such a file in place of these. Fails: as reading a file; invalid.
  Status load_from(const std::string& path);
  // Forgets the oldest question and its answer; false: there is none.
  bool drop_oldest();
  size_t n_messages() const { return conversation_.messages.size(); }
  // Whether the last answer could be saved.
  const Status& saved() const { return save_status_; }

 private:
  // A model in memory with what answers need of it.
  struct Voice {
    std::string path;
    std::shared_ptr<const Model> model;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<ToolTalk> tools;
  };
  static Result<Voice> load(const CommandLine& line, const ChatCall& call, const std::string& path);

  Talk(const CommandLine& line, const ChatCall& call, SavedConversation* saved, Voice voice);
  void take_tool_turn();
  void say(const char* role, const std::string& text);
  void save(const Timings& timings);
  // The conversation as ids. Fails: invalid (it does not fit the context).
  Result<std::vector<Token>> prompt();
  Result<Answer> reply();
  // What the user can do about a full context.
  std::string ways_out() const;
  void say_full(FinishReason finish, const Timings& timings) const;
  void remark(FinishReason finish, const Timings& timings) const;

  const CommandLine& line_;
  const ChatCall& call_;
  Voice voice_;
  GenerateParams params_;
  std::map<std::string, std::string> set_;  // what /set changed
  SavedConversation* saved_;
  Status save_status_;
  std::string system_;
  Conversation conversation_;
};

}  // namespace ruv
