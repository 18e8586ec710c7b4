#include "grammar/schema/schema_index.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "grammar/schema/uri.h"

namespace ruv {
namespace {

// Members whose values are data, not schemas.
constexpr std::array<std::string_view, 4> kData = {"const", "enum", "default", "examples"};

std::string_view text_member(const Json& json, std::string_view name) {
  const Json* found = json.find(name);
  return found != nullptr && found->is_string() ? found->text() : std::string_view();
}

// "$id", of draft 4 "id". A fragment alone is an anchor in old drafts.
std::string_view id_of(const Json& json, SchemaDraft draft) {
  if (draft <= SchemaDraft::draft7 && json.contains("$ref")) return {};
  return text_member(json, draft == SchemaDraft::draft4 ? "id" : "$id");
}

std::string unescaped_token(std::string_view token) {
  std::string made;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      made += token[++i] == '0' ? '~' : '/';
    } else {
      made += token[i];
    }
  }
  return made;
}

}  // namespace

SchemaDraft schema_draft(const Json& document, SchemaDraft otherwise) {
  if (!document.is_object()) return otherwise;
  const std::string_view name = text_member(document, "$schema");
  const std::pair<std::string_view, SchemaDraft> known[] = {
      {"draft-04", SchemaDraft::draft4},
      {"draft-06", SchemaDraft::draft6},
      {"draft-07", SchemaDraft::draft7},
      {"draft/2019-09", SchemaDraft::draft2019},
      {"draft/2020-12", SchemaDraft::draft2020}};
  for (const auto& [part, draft] : known) {
    if (name.find(part) != std::string_view::npos) return draft;
  }
  return otherwise;
}

struct SchemaIndex::Open {
  const Json* json;
  uint32_t resource;
};

// Goes through the whole document once: any object in it may be referred to.
SchemaIndex::Place SchemaIndex::add(const Json& document, std::string uri, SchemaDraft draft) {
  draft = schema_draft(document, draft);
  const auto first = static_cast<uint32_t>(resources_.size());
  resources_.push_back({uri, &document, draft});
  by_uri_.emplace(uri, first);
  by_root_.emplace(&document, first);
  std::vector<Open> open = {{&document, first}};
  while (!open.empty()) {
    auto [json, resource] = open.back();
    open.pop_back();
    if (json->is_array()) {
      for (const Json& item : *json) open.push_back({&item, resource});
    }
    if (!json->is_object()) continue;
    const std::string_view id = id_of(*json, resources_[resource].draft);
    if (!id.empty() && !id.starts_with('#')) {
      add_resource(*json, resolve_uri(resources_[resource].uri, id), resources_[resource].draft);
      resource = by_root_.at(json);
    }
    add_anchors(*json, resource);
    for (const auto& [key, value] : json->items()) {
      if (!value.is_object() && !value.is_array()) continue;
      if (std::ranges::find(kData, key) == kData.end()) open.push_back({&value, resource});
    }
  }
  return {&document, resource_at(document, first)};
}

void SchemaIndex::add_resource(const Json& json, std::string uri, SchemaDraft draft) {
  const auto number = static_cast<uint32_t>(resources_.size());
  const std::string document(split_uri(uri).document);
  resources_.push_back({document, &json, schema_draft(json, draft)});
  by_uri_.emplace(document, number);
  by_root_[&json] = number;
  const std::string_view fragment = split_uri(uri).fragment;
  if (!fragment.empty()) anchors_.emplace(std::pair(number, std::string(fragment)), &json);
}

// Old drafts write anchors as identifiers that begin with '#'.
void SchemaIndex::add_anchors(const Json& json, uint32_t resource) {
  const SchemaDraft draft = resources_[resource].draft;
  if (draft <= SchemaDraft::draft7) {
    const std::string_view id = id_of(json, draft);
    if (id.starts_with('#') && id.size() > 1) {
      anchors_.emplace(std::pair(resource, std::string(id.substr(1))), &json);
    }
    return;
  }
  const std::string_view anchor = text_member(json, "$anchor");
  if (!anchor.empty()) anchors_.emplace(std::pair(resource, std::string(anchor)), &json);
  const std::string_view dynamic = text_member(json, "$dynamicAnchor");
  if (!dynamic.empty()) {
    anchors_.emplace(std::pair(resource, std::string(dynamic)), &json);
    dynamic_.emplace(std::pair(resource, std::string(dynamic)), &json);
  }
  const Json* recursive = json.find("$recursiveAnchor");
  if (recursive != nullptr && *recursive == true) {
    dynamic_.emplace(std::pair(resource, std::string()), &json);
  }
}

uint32_t SchemaIndex::resource_at(const Json& json, uint32_t around) const {
  const auto at = by_root_.find(&json);
  return at == by_root_.end() ? around : at->second;
}

// Relative to the resource in which the reference is; documents that were not given are not found.
SchemaIndex::Place SchemaIndex::find(uint32_t from, std::string_view reference) const {
  const std::string uri = resolve_uri(resources_[from].uri, reference);
  const auto [document, raw] = split_uri(uri);
  uint32_t resource = from;
  if (document != resources_[from].uri) {
    const auto at = by_uri_.find(std::string(document));
    if (at == by_uri_.end()) return {};
    resource = at->second;
  }
  const std::string fragment = percent_decoded(raw);
  if (fragment.empty()) return {resources_[resource].root, resource};
  if (fragment[0] == '/') return follow_pointer(resource, fragment);
  const auto anchor = anchors_.find({resource, fragment});
  if (anchor == anchors_.end()) return {};
  return {anchor->second, resource};
}

SchemaIndex::Place SchemaIndex::find_dynamic(uint32_t resource, std::string_view anchor) const {
  const auto at = dynamic_.find({resource, std::string(anchor)});
  return at == dynamic_.end() ? Place{} : Place{at->second, resource};
}

// Passing an embedded resource changes what references there are relative to.
SchemaIndex::Place SchemaIndex::follow_pointer(uint32_t resource, std::string_view pointer) const {
  Place at = {resources_[resource].root, resource};
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string token = unescaped_token(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(std::min(pointer.find('/'), pointer.size()));
    if (at.json->is_object()) {
      at.json = at.json->find(token);
    } else if (at.json->is_array()) {
      size_t index = 0;
      const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
      const bool is_index = error == std::errc() && end == token.data() + token.size();
      at.json = is_index && index < at.json->size() ? &at.json->at(index) : nullptr;
    } else {
      return {};
    }
    if (at.json == nullptr) return {};
    at.resource = resource_at(*at.json, at.resource);
  }
  return at;
}

}  // namespace ruv
