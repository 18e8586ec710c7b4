#include "chat/tools/tool_message.h"

#include "base/check.h"

namespace ruv {

std::string_view warning_name(ToolWarning::Kind kind) {
  switch (kind) {
    case ToolWarning::Kind::malformed_call:
      return "malformed_call";
    case ToolWarning::Kind::unfinished_call:
      return "unfinished_call";
    case ToolWarning::Kind::missing_end:
      return "missing_end";
    case ToolWarning::Kind::wrong_type:
      return "wrong_type";
    case ToolWarning::Kind::control_in_string:
      return "control_in_string";
    case ToolWarning::Kind::unknown_recipient:
      return "unknown_recipient";
    case ToolWarning::Kind::unknown_header:
      return "unknown_header";
    case ToolWarning::Kind::unknown_member:
      return "unknown_member";
  }
  return "";
}

void ToolMessage::add(const ToolDelta& delta) {
  n_bytes_ += delta.text.size() + delta.id.size();
  switch (delta.kind) {
    case ToolDelta::Kind::reasoning:
      reasoning_ += delta.text;
      break;
    case ToolDelta::Kind::content:
      content_ += delta.text;
      break;
    case ToolDelta::Kind::call_begin:
      CHECK(delta.call == calls_.size());
      calls_.push_back({{delta.text, delta.id, {}}});
      break;
    case ToolDelta::Kind::arguments:
      calls_.at(delta.call).call.arguments += delta.text;
      break;
    case ToolDelta::Kind::call_end:
      if (!delta.id.empty()) calls_.at(delta.call).call.id = delta.id;
      break;
    case ToolDelta::Kind::call_broken:
      calls_.at(delta.call).broken = true;
      break;
  }
}

std::vector<size_t> ToolMessage::call_places() const {
  std::vector<size_t> places;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i].broken) places.push_back(i);
  }
  return places;
}

std::vector<ToolCall> ToolMessage::calls() const {
  std::vector<ToolCall> whole;
  for (const Call& call : calls_) {
    if (!call.broken) whole.push_back(call.call);
  }
  return whole;
}

}  // namespace ruv
