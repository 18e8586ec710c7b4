#include "grammar/schema/uri.h"

#include <vector>

#include "text/hex.h"

namespace ruv {
namespace {

// "scheme:" at the start, without the colon.
std::string_view scheme_of(std::string_view uri) {
  const size_t end = uri.find_first_of(":/?#");
  if (end == std::string_view::npos || uri[end] != ':' || end == 0) return {};
  return uri.substr(0, end);
}

// Splits "//authority" off what follows the scheme.
std::string_view take_authority(std::string_view& rest) {
  if (!rest.starts_with("//")) return {};
  const size_t end = std::min(rest.find_first_of("/?#", 2), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end);
  return taken;
}

// Without "." and "..".
std::string plain_path(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool is_absolute = path.starts_with('/');
  bool ends_in_folder = false;
  for (size_t at = is_absolute ? 1 : 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    ends_in_folder = part == "." || part == "..";
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string made = is_absolute ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) made += '/';
    made += parts[i];
  }
  if (ends_in_folder && !made.ends_with('/')) made += '/';
  return made;
}

}  // namespace

UriParts split_uri(std::string_view uri) {
  const size_t at = uri.find('#');
  if (at == std::string_view::npos) return {uri, {}};
  return {uri.substr(0, at), uri.substr(at + 1)};
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const auto [target, fragment] = split_uri(reference);
  const std::string end = fragment.empty() ? "" : "#" + std::string(fragment);
  base = split_uri(base).document;
  if (target.empty()) return std::string(base) + end;
  if (!scheme_of(target).empty()) return std::string(target) + end;
  const std::string_view scheme = scheme_of(base);
  std::string made(scheme);
  if (!scheme.empty()) made += ':';
  if (target.starts_with("//")) return made + std::string(target) + end;
  std::string_view rest = base.substr(made.size());
  made += take_authority(rest);
  if (target.starts_with('/')) return made + plain_path(target) + end;
  const std::string_view path = rest.substr(0, rest.find('?'));
  const size_t slash = path.rfind('/');
  std::string folder(slash == std::string_view::npos ? std::string_view()
                                                     : path.substr(0, slash + 1));
  if (folder.empty() && made.find("//") != std::string::npos) folder = "/";
  if (target.starts_with('?')) return made + std::string(path) + std::string(target) + end;
  return made + plain_path(folder + std::string(target)) + end;
}

std::string percent_decoded(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() + 0 && hex_value(text[i + 1]) >= 0 &&
        hex_value(text[i + 2]) >= 0) {
      made += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      made += text[i];
    }
  }
  return made;
}

}  // namespace ruv
