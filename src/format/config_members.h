// Members: typed access to the members of one object of config.json. Errors name the file and the
// key as written there ('rope_scaling.factor').
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ruv {

class Members {
 public:
  // `path`: the object's path in the file, "" or ending in '.'. `object` and `source` must outlive
  // this.
  Members(const Json& object, const std::string& source, std::string path = {})
      : object_(&object), source_(&source), path_(std::move(path)) {}

  const Json& json() const { return *object_; }
  const std::string& source() const { return *source_; }
  std::string path_of(std::string_view name) const { return path_ + std::string(name); }
  // Null when absent; a null in the file is a value.
  const Json* find(std::string_view name) const { return object_->find(name); }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Whether the member exists and is not null.
  bool is_set(std::string_view name) const;

  // All fail (corrupt) on null and other types. Integers are 0 to 2^31 - 1.
  Result<int64_t> integer(std::string_view name) const;
  Result<int64_t> positive(std::string_view name) const;
  // `otherwise` when absent; `otherwise` 0 means that the member is required.
  Result<int64_t> positive_or(std::string_view name, int64_t otherwise) const;
  Result<std::optional<double>> number(std::string_view name) const;  // nothing when absent
  Result<std::optional<bool>> truth(std::string_view name) const;
  Result<std::string> text_or(std::string_view name, std::string_view otherwise) const;
  // An object's members; those of an empty object when absent or null.
  Result<Members> object(std::string_view name) const;

  tl::unexpected<Status> wrong(std::string_view name, std::string_view what,
                               Code code = Code::corrupt) const;
  // The value as short JSON text, to be quoted in an error.
  std::string shown(std::string_view name) const;

 private:
  const Json* object_;
  const std::string* source_;
  std::string path_;
};

}  // namespace ruv
