// TestFolder: a folder that lives as long as one test, and the places of test data.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ruv {

class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ruv_format_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  // Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    const std::string path = path_ + "/" + std::string(name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::string path_;
};

// A file or folder of the shared test data; empty where it is absent.
inline std::string shared_file(std::string_view name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  const std::string path =
      (folder != nullptr ? folder : std::string(RUV_SOURCE_DIR) + "/../shared/data") + "/" +
      std::string(name);
  return std::filesystem::exists(path) ? path : std::string();
}

}  // namespace ruv
