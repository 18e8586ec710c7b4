// Tool: something that a model can ask for by name, with arguments in JSON, and that gives a text
// back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "tools/cancellation.h"

namespace ruv {

// What a model is shown of a tool.
struct ToolSpec {
  std::string name;  // check_tool_name() accepts it
  std::string description;
  Json parameters = Json::object();  // the JSON schema of its arguments, an object
  // Whether a person has to agree to each call. False: a call changes nothing, and its arguments
  // go nowhere.
  bool needs_consent = true;
};

// What a model reads in answer to a call. A call that failed has a text, too: the model may try
// again with other arguments.
struct ToolReply {
  std::string text;
  bool is_error = false;
  Json structured = {};  // the same for programs, an object; null: there is none
};

// How far a call has come.
struct ToolProgress {
  double done = 0;  // grows from one report to the next
  std::optional<double> total = {};
  std::string message = {};
};

// What a call runs under.
struct ToolCallTerms {
  // Null: it cannot be cancelled.
  const Cancellation* cancellation = nullptr;
  // From the start of the call; tools with a shorter limit of their own keep to that.
  int64_t timeout_ms = 120'000;
  // Called on the thread of the call. May be null.
  std::function<void(const ToolProgress&)> on_progress = {};

  bool is_cancelled() const { return cancellation != nullptr && cancellation->is_cancelled(); }
};

// Thread safety: call() may run in several threads at once.
class Tool {
 public:
  virtual ~Tool() = default;
  // Never changes.
  virtual const ToolSpec& spec() const = 0;
  // Waits for the answer. `arguments` is an object. Fails where there is no answer: cancelled,
  // deadline, unavailable (what it runs on), and as the tool itself says.
  virtual Result<ToolReply> call(const Json& arguments, const ToolCallTerms& terms) = 0;
};

// 1 to 64 of the characters a-z, A-Z, 0-9, '_' and '-', as OpenAI's API wants names of functions.
// Fails: invalid, naming the character or the length.
Status check_tool_name(std::string_view name);

}  // namespace ruv
