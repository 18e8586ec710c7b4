// LocalNames: names that a user has given to models, with tags and versions, kept in one file.
//
// Every assignment of a tag makes a version with a number of its own; a tag means the version that
// it was assigned last. While a name is there its numbers are never used again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

// "NAME", "NAME:TAG" or "NAME@NUMBER": a letter or digit, then letters, digits, '.', '_' and '-',
// at most 64 of each. Fails: invalid.
struct LocalName {
  std::string name;
  std::string tag = "latest";
  int64_t number = 0;    // above 0: this version, whatever tag it has
  bool is_bare = false;  // neither tag nor number was given
};
Result<LocalName> read_local_name(std::string_view text);
std::string text_of(const LocalName& name);

// A file of a model as it was when the name was given.
struct VersionFile {
  std::string path;  // within the model's folder
  std::string sha256;
  int64_t n_bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
};

struct LocalVersion {
  int64_t number = 0;
  std::string tag;                      // that was assigned
  int64_t unix_s = 0;                   // when
  std::string source;                   // an absolute path, or "hf:owner/repo:file@commit"
  std::string sha256;                   // of the file; of several, see model_digest.h
  int64_t n_bytes = 0;                  // of all files
  std::vector<VersionFile> files = {};  // of a path; none of a hub's model, as its commit says all
};

struct LocalModel {
  std::string name;
  int64_t next = 1;  // number of the next version
  std::map<std::string, int64_t> tags = {};
  std::vector<LocalVersion> versions = {};  // by number
};

class LocalNames {
 public:
  // Reads the text of the file. Fails: corrupt, naming the place: "models[1].versions[0].sha256:
  // …"; unsupported (of a newer program).
  static Result<LocalNames> parse(std::string_view text, const std::string& source);
  std::string dump() const;

  const std::vector<LocalModel>& models() const { return models_; }
  // Null: there is none.
  const LocalModel* find(std::string_view name) const;
  // Fails: not_found, naming the tags or versions that there are.
  Result<LocalVersion> version(const LocalName& name) const;

  // The number that the version got. Its tag is that of `name`. Fails: invalid (a number was given,
  // or there are too many versions).
  Result<int64_t> assign(const LocalName& name, LocalVersion version);
  // A bare name goes with all that it has; of NAME:TAG the tag, and of NAME@N the version. A name
  // without versions goes too. Fails: not_found, invalid (a tag means the version).
  Status remove(const LocalName& name);

 private:
  std::vector<LocalModel> models_;  // by name
};

// No file: no names. Fails: as LocalNames::parse and reading the file.
Result<LocalNames> load_local_names(const std::string& path);
// Reads, changes and writes the file under its lock, so that no other process's change is lost;
// after a loss of power the file is the old or the new one. `goes_on`: as wait_for_lock. Fails: as
// `change` (nothing is written then), load_local_names, wait_for_lock and writing.
Status change_local_names(const std::string& path, const std::function<bool()>& goes_on,
                          const std::function<Status(LocalNames&)>& change);

}  // namespace ruv
