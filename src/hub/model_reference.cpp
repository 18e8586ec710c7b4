// Whatever is accepted here may become part of a path on this machine and of a URL.
#include "hub/model_reference.h"

#include <fmt/format.h>

#include <algorithm>

namespace ruv {
namespace {

constexpr std::string_view kNameLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr size_t kMaxName = 96;
constexpr size_t kMaxPath = 1024;

// A name that is safe as a part of a path and of a URL; "--" separates owner and name in folders.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name != "." && name != ".." &&
         name.front() != '-' && name.find_first_not_of(kNameLetters) == name.npos &&
         name.find("--") == name.npos && name.find("..") == name.npos;
}

bool are_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Cuts off what follows the last `mark`, and the mark.
std::string_view cut_after(std::string_view& text, char mark) {
  const size_t at = text.rfind(mark);
  if (at == text.npos) return {};
  const std::string_view after = text.substr(at + 1);
  text = text.substr(0, at);
  return after;
}

// A part that is empty or leads up, or to the same folder.
bool has_bad_part(std::string_view path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

Status check_repo(std::string_view repo) {
  const size_t slash = repo.find('/');
  if (slash != repo.npos && is_name(repo.substr(0, slash)) && is_name(repo.substr(slash + 1)))
    return {};
  return fail(Code::invalid, "'{:.200}' is not a repository; give owner/name", repo);
}

bool is_commit(std::string_view revision) { return revision.size() == 40 && are_hex(revision); }

Status check_revision(std::string_view revision) {
  const bool is_plain =
      revision.size() <= kMaxPath &&
      revision.find_first_not_of(std::string(kNameLetters) + "/+") == revision.npos;
  if (is_plain && !has_bad_part(revision) && revision.front() != '-') return {};
  return fail(Code::invalid, "'{:.200}' is not a revision", revision);
}

// Control characters would also garble what is printed.
Status check_file_path(std::string_view path) {
  const bool has_control =
      std::ranges::any_of(path, [](unsigned char c) { return c < 32 || c == 127 || c == '\\'; });
  if (path.size() <= kMaxPath && !has_control && !has_bad_part(path)) return {};
  std::string shown(path.substr(0, 200));
  for (char& c : shown) c = static_cast<unsigned char>(c) < 32 ? '?' : c;
  return fail(Code::corrupt, "'{}' is not a file name that may be used here", shown);
}

std::string url_path(std::string_view path) {
  std::string url;
  for (const char c : path) {
    const bool is_plain = kNameLetters.find(c) != kNameLetters.npos || c == '/' || c == '~';
    url += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

// The revision first: a file's name may hold ':', a revision may not.
Result<HubReference> read_hub_reference(std::string_view text) {
  if (text.starts_with("hf:")) text.remove_prefix(3);
  HubReference reference;
  if (text.find('@') != text.npos) {
    reference.revision = cut_after(text, '@');
    TRY(check_revision(reference.revision));
  }
  const size_t colon = text.find(':');
  reference.repo = text.substr(0, colon);
  TRY(check_repo(reference.repo));
  if (colon == text.npos) return reference;
  reference.want = text.substr(colon + 1);
  const Status status = check_file_path(reference.want);
  if (!status.ok()) return fail(Code::invalid, "{}", status.message());
  return reference;
}

std::string text_of(const HubReference& reference) {
  const bool is_main = reference.revision == "main";
  return fmt::format("hf:{}{}{}{}{}", reference.repo, reference.want.empty() ? "" : ":",
                     reference.want, is_main ? "" : "@", is_main ? "" : reference.revision);
}

}  // namespace ruv
