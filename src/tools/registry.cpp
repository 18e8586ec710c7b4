#include "tools/registry.h"

#include <algorithm>

namespace ruv {

// The check sees the text as the model wrote it: what it is made of can tell duplicate keys and
// numbers apart that are equal as values.
Result<Json> RegisteredTool::read_arguments(std::string_view arguments_json) const {
  const bool is_blank = arguments_json.find_first_not_of(" \t\r\n") == arguments_json.npos;
  if (is_blank) arguments_json = "{}";
  Json arguments = TRY(parse_json(arguments_json, "arguments"));
  if (!arguments.is_object())
    return fail(Code::invalid, "arguments must be an object, not {}", arguments.type_name());
  TRY(check_schema());
  if (*check_) TRY((*check_)(arguments_json));
  return arguments;
}

Status RegisteredTool::check_schema() const {
  if (!maker_) return {};
  once_.run([&] { check_ = maker_(spec()); });
  return check_ ? Status() : check_.error();
}

// Against the rules, the other sources, and each other.
Status ToolRegistry::check_names(const std::string& source, const std::vector<Entry>& added) const {
  std::unordered_map<std::string_view, bool> seen;
  for (const Entry& entry : added) {
    const std::string& name = entry->spec().name;
    TRY(with_context(source, check_tool_name(name)));
    if (!seen.emplace(name, true).second)
      return fail(Code::invalid, "{}: has two tools named '{}'", source, name);
    const auto taken = by_name_.find(name);
    if (taken != by_name_.end() && taken->second->source() != source) {
      return fail(Code::invalid, "{}: the tool name '{}' is taken by {}", source, name,
                  taken->second->source());
    }
  }
  return {};
}

// Names are checked before anything changes.
Status ToolRegistry::set_tools(const std::string& source,
                               std::vector<std::shared_ptr<Tool>> tools) {
  std::vector<Entry> added;
  added.reserve(tools.size());
  for (std::shared_ptr<Tool>& tool : tools)
    added.push_back(std::make_shared<RegisteredTool>(std::move(tool), source, maker_));
  std::vector<Entry> removed;  // freed after the lock
  const Lock lock(mutex_);
  TRY(check_names(source, added));
  const auto is_source = [&](const auto& pair) { return pair.first == source; };
  auto place = std::find_if(sources_.begin(), sources_.end(), is_source);
  if (place == sources_.end()) place = sources_.insert(place, {source, {}});
  removed = std::move(place->second);
  for (const Entry& entry : removed) by_name_.erase(entry->spec().name);
  for (const Entry& entry : added) by_name_.emplace(entry->spec().name, entry);
  place->second = std::move(added);
  ++revision_;
  return {};
}

ToolRegistry::Entry ToolRegistry::find(std::string_view name) const {
  const Lock lock(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<ToolRegistry::Entry> ToolRegistry::tools() const {
  const Lock lock(mutex_);
  std::vector<Entry> all;
  all.reserve(by_name_.size());
  for (const auto& [source, entries] : sources_)
    all.insert(all.end(), entries.begin(), entries.end());
  return all;
}

Json ToolRegistry::definitions() const {
  Json list = Json::array();
  for (const Entry& entry : tools()) {
    const ToolSpec& spec = entry->spec();
    list.push_back(Json{{"type", "function"},
                        {"function",
                         {{"name", spec.name},
                          {"description", spec.description},
                          {"parameters", spec.parameters}}}});
  }
  return list;
}

uint64_t ToolRegistry::revision() const {
  const Lock lock(mutex_);
  return revision_;
}

}  // namespace ruv
