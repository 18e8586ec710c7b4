#include "hub/registry_reference.h"

#include <fmt/format.h>

#include <algorithm>

namespace ruv {
namespace {

constexpr std::string_view kPartLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
constexpr size_t kMaxPart = 80;
constexpr size_t kMaxHost = 255;

// It begins with a letter, digit or '_', so that it is neither hidden nor an option.
bool is_part(std::string_view part, size_t longest, std::string_view more) {
  const auto is_plain = [&](char c) {
    return kPartLetters.find(c) != kPartLetters.npos || more.find(c) != more.npos;
  };
  return !part.empty() && part.size() <= longest &&
         kPartLetters.find(part.front()) != kPartLetters.npos &&
         std::ranges::all_of(part, is_plain) && part.find("..") == part.npos;
}

// What comes before the first '/', which goes with it.
std::string take_part(std::string_view& text) {
  const size_t slash = text.find('/');
  std::string part(text.substr(0, slash));
  text.remove_prefix(slash + 1);
  return part;
}

bool is_this_machine(std::string_view host) {
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" || name == "127.0.0.1";
}

}  // namespace

Result<RegistryReference> read_registry_reference(std::string_view text) {
  std::string_view left = text;
  if (left.starts_with(kRegistryScheme)) left.remove_prefix(kRegistryScheme.size());
  RegistryReference reference;
  // A host's port is before a '/'.
  const size_t colon = left.rfind(':');
  if (colon != left.npos && left.find('/', colon) == left.npos) {
    reference.tag = left.substr(colon + 1);
    left = left.substr(0, colon);
  }
  const auto n_slashes = std::ranges::count(left, '/');
  if (n_slashes == 2) reference.host = take_part(left);
  if (n_slashes == 1 || n_slashes == 2) reference.space = take_part(left);
  reference.name = left;
  constexpr std::string_view kMore = ".-";
  const bool is_right =
      n_slashes <= 2 && is_part(reference.host, kMaxHost, ".-:") &&
      std::ranges::count(reference.host, ':') <= 1 && is_part(reference.space, kMaxPart, kMore) &&
      is_part(reference.name, kMaxPart, kMore) && is_part(reference.tag, kMaxPart, kMore);
  if (is_right) return reference;
  return fail(Code::invalid, "'{:.200}' is not a model; give ollama:[[host/]namespace/]name[:tag]",
              text);
}

std::string text_of(const RegistryReference& reference) {
  const RegistryReference usual;
  std::string text(kRegistryScheme);
  if (reference.host != usual.host) text += reference.host + "/";
  if (reference.host != usual.host || reference.space != usual.space) text += reference.space + "/";
  return text + reference.name + ":" + reference.tag;
}

std::string endpoint_of(const RegistryReference& reference) {
  return (is_this_machine(reference.host) ? "http://" : "https://") + reference.host;
}

}  // namespace ruv
