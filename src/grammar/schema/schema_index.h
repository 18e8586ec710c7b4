// SchemaIndex: where the parts of schemas are that others refer to: documents, embedded resources
// ("$id"), anchors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"

namespace ruv {

enum class SchemaDraft : uint8_t { draft4, draft6, draft7, draft2019, draft2020 };

class SchemaIndex {
 public:
  struct Resource {
    std::string uri;  // without fragment
    const Json* root;
    SchemaDraft draft;
  };
  // A place in a document, and the resource that it belongs to.
  struct Place {
    const Json* json = nullptr;  // null: there is none
    uint32_t resource = 0;
  };

  // Adds a document and the resources in it. It must outlive the object. `draft`: where the
  // document does not name one.
  Place add(const Json& document, std::string uri, SchemaDraft draft);

  const Resource& resource(uint32_t number) const { return resources_[number]; }
  // The resource that begins at this value, else `around`.
  uint32_t resource_at(const Json& json, uint32_t around) const;
  // What a reference in a resource means.
  Place find(uint32_t from, std::string_view reference) const;
  // The value with this dynamic anchor in a resource.
  Place find_dynamic(uint32_t resource, std::string_view anchor) const;
  bool has_dynamic_anchors() const { return !dynamic_.empty(); }

 private:
  struct Open;
  // Notes an embedded resource, and what is in a value that others may refer to.
  void add_resource(const Json& json, std::string uri, SchemaDraft draft);
  void add_anchors(const Json& json, uint32_t resource);
  Place follow_pointer(uint32_t resource, std::string_view pointer) const;

  std::vector<Resource> resources_;
  std::unordered_map<std::string, uint32_t> by_uri_;
  std::unordered_map<const Json*, uint32_t> by_root_;
  std::map<std::pair<uint32_t, std::string>, const Json*> anchors_;
  std::map<std::pair<uint32_t, std::string>, const Json*> dynamic_;
};

// The draft that "$schema" names; `otherwise` where it names none that is known.
SchemaDraft schema_draft(const Json& document, SchemaDraft otherwise);

}  // namespace ruv
