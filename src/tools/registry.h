// ToolRegistry: all tools that a model may call, under unique names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/once.h"
#include "tools/tool.h"

namespace ruv {

// Whether a call's arguments are what the tool's schema asks for. Fails: invalid, in words that
// help a model to correct them. Any thread.
using ArgumentCheck = std::function<Status(std::string_view arguments_json)>;
// Makes the check of one tool. Fails: invalid, unsupported, naming the part of the schema.
using ArgumentCheckMaker = std::function<Result<ArgumentCheck>(const ToolSpec&)>;

// A tool with its place in a registry. Stays valid, and can be called, after it was removed there.
class RegisteredTool {
 public:
  RegisteredTool(std::shared_ptr<Tool> tool, std::string source, const ArgumentCheckMaker& maker)
      : tool_(std::move(tool)), source_(std::move(source)), maker_(maker) {}

  Tool& tool() const { return *tool_; }
  const ToolSpec& spec() const { return tool_->spec(); }
  // Where it comes from, for people: a file or a server's name.
  const std::string& source() const { return source_; }
  // The arguments as JSON, after the check, which is made at its first use and kept. Empty text
  // counts as {}. Fails: corrupt (not JSON), invalid (not an object, or not as the schema wants),
  // and as ArgumentCheckMaker.
  Result<Json> read_arguments(std::string_view arguments_json) const;
  // Ok, or why no arguments can be checked, so that every call is refused. Fails: as
  // ArgumentCheckMaker.
  Status check_schema() const;

 private:
  std::shared_ptr<Tool> tool_;
  std::string source_;
  ArgumentCheckMaker maker_;
  mutable Once once_;
  mutable Result<ArgumentCheck> check_ = ArgumentCheck();
};

// Adding n tools takes time linear in n and in the number of tools there are; finding one takes
// constant time. Thread safety: any function from any thread.
class ToolRegistry {
 public:
  using Entry = std::shared_ptr<const RegisteredTool>;

  // `maker` null: arguments need only be a JSON object.
  explicit ToolRegistry(ArgumentCheckMaker maker = {}) : maker_(std::move(maker)) {}

  // Makes these the tools of the source, in place of those it had: all of them, or none where one
  // fails. Fails: invalid (a name that breaks the rules, or is taken: both sources are named).
  Status set_tools(const std::string& source, std::vector<std::shared_ptr<Tool>> tools);
  // Null: there is none.
  Entry find(std::string_view name) const;
  // In the order in which their sources were first set.
  std::vector<Entry> tools() const;
  // The same as a list {"type": "function", "function": {"name", "description", "parameters"}}, as
  // chat templates and OpenAI's API have it.
  Json definitions() const;
  // Different after every change.
  uint64_t revision() const;

 private:
  Status check_names(const std::string& source, const std::vector<Entry>& added) const;

  ArgumentCheckMaker maker_;
  mutable Mutex mutex_;
  std::vector<std::pair<std::string, std::vector<Entry>>> sources_;
  std::unordered_map<std::string_view, Entry> by_name_;  // keys are in the entries
  uint64_t revision_ = 0;
};

}  // namespace ruv
