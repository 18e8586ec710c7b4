#include "format/rank_readme.h"

#include "base/file.h"

namespace ruv {

bool ranks_by_readme(const ModelFile& file) {
  constexpr size_t kMostBytes = size_t{256} << 10;
  if (file.container() != "safetensors" || file.family() == nullptr) return false;
  const std::string_view heading = file.family()->ranks.heading;
  if (heading.empty()) return false;
  const std::string& folder = file.path();
  const auto readme =
      MappedFile::open(fmt::format("{}{}README.md", folder, folder.ends_with('/') ? "" : "/"));
  if (!readme) return false;
  const std::string_view text = as_text(readme->bytes()).substr(0, kMostBytes);
  for (size_t at = text.find(heading); at != text.npos; at = text.find(heading, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return readme->check_read().ok();
  }
  return false;
}

}  // namespace ruv
