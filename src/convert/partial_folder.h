// A folder that appears under its name only when it is complete.
#pragma once

#include <span>
#include <string>

#include "base/file.h"
#include "base/result.h"

namespace ruv {

// Files are made in path(), which is removed where commit() was not called.
class PartialFolder {
 public:
  // `replace`: a folder of that name that has a config.json, and what an earlier writer left, may
  // go. `never`: files that are read, which such a folder must not hold. Fails: invalid.
  static Result<PartialFolder> create(const std::string& out_path, bool replace,
                                      std::span<const FileId> never);
  PartialFolder(PartialFolder&& other) noexcept;
  PartialFolder& operator=(PartialFolder&&) = delete;
  ~PartialFolder();

  // "<out_path>.partial".
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;
  // A whole small file, in the place of one that is there.
  Status write(std::string_view name, std::string_view text) const;
  // Gives the folder its name. Fails: as rename_file.
  Status commit();

 private:
  PartialFolder(std::string out, std::string path) : out_(std::move(out)), path_(std::move(path)) {}
  std::string out_, path_;
};

}  // namespace ruv
