// URLs and headers of answers are sent on: they are checked for what would make another request.
#include "hub/upload_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/json.h"
#include "base/json_fields.h"
#include "hub/digest.h"
#include "hub/hub_http.h"
#include "hub/model_reference.h"

namespace ruv {
namespace {

constexpr size_t kMaxParts = 10'000;
constexpr size_t kMaxHeaders = 32;
constexpr size_t kMaxHeaderBytes = 8 << 10;
constexpr JsonLimits kUploadLimits{.depth = 16, .values = 1'000'000};

// Null when the member is absent or no text.
const Json* answer_text(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  return found != nullptr && found->is_string() ? found : nullptr;
}

// Null when the member is absent or no object.
const Json* answer_object(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  return found != nullptr && found->is_object() ? found : nullptr;
}

// Elements of an array member of the answer, all of them objects.
Result<std::span<const Json>> objects_of(const Json& json, std::string_view name) {
  const Json* const list = json.is_object() ? json.find(name) : nullptr;
  if (list == nullptr || !list->is_array() || list->size() > kMaxUploadFiles)
    return fail(Code::corrupt, "'{}' is not an array of at most {}", name, kMaxUploadFiles);
  for (const Json& entry : *list) {
    if (!entry.is_object()) return fail(Code::corrupt, "an entry of '{}' is not an object", name);
  }
  return list->elements();
}

// Only the two ways that are spoken here.
Result<UploadMode> read_mode(const Json& entry) {
  const Json* const path = answer_text(entry, "path");
  const Json* const mode = answer_text(entry, "uploadMode");
  if (path == nullptr || mode == nullptr)
    return fail(Code::corrupt, "a file has no 'path' or no 'uploadMode'");
  if (mode->text() != "lfs" && mode->text() != "regular")
    return fail(Code::corrupt, "'uploadMode' is '{:.40}'", mode->text());
  const FieldResult<bool> ignored = read_flag(entry, "shouldIgnore", false);
  if (!ignored) return fail(Code::corrupt, "{}", ignored.error().message);
  return UploadMode{path->get<std::string>(), mode->text() == "lfs", *ignored};
}

Result<std::string> read_href(const Json& action) {
  const Json* const href = answer_text(action, "href");
  if (href == nullptr) return fail(Code::corrupt, "an action has no 'href'");
  const std::string_view url = href->text();
  const bool has_control =
      std::ranges::any_of(url, [](unsigned char c) { return c <= 32 || c == 127; });
  if (has_control || !origin_of(url)) return fail(Code::corrupt, "an action's 'href' is not a URL");
  return std::string(url);
}

Result<std::string> read_header_line(std::string_view name, const Json& value) {
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  const auto is_plain = [](char c) { return c >= 32 && c < 127; };
  const bool is_right = !name.empty() && std::ranges::all_of(name, is_name) && value.is_string() &&
                        value.text().size() <= kMaxHeaderBytes &&
                        std::ranges::all_of(value.text(), is_plain);
  if (!is_right) return fail(Code::corrupt, "a header of an action is none");
  return fmt::format("{}: {}", name, value.text());
}

// A number as text or as number; nothing: it is none.
std::optional<uint64_t> whole_number(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "chunk_size" and one URL under each part's number, from 1 on.
Status read_parts(const Json& header, uint64_t n_bytes, UploadPlace& place) {
  constexpr uint64_t kLeastPart = 64;
  const std::optional<uint64_t> size = whole_number(header["chunk_size"]);
  if (!size || *size < kLeastPart || *size > uint64_t{1} << 40)
    return fail(Code::corrupt, "'chunk_size' is not the size of a part");
  const uint64_t n_parts = (n_bytes + *size - 1) / *size;
  if (n_parts > kMaxParts) return fail(Code::corrupt, "more than {} parts", kMaxParts);
  place.part_bytes = *size;
  place.part_urls.resize(n_parts);
  for (const auto& [key, value] : header.items()) {
    if (key == "chunk_size") continue;
    const std::optional<uint64_t> number = whole_number(Json(key));
    if (!number) continue;
    if (*number < 1 || *number > n_parts || !value.is_string())
      return fail(Code::corrupt, "a part's number is not from 1 to {}", n_parts);
    const Json action{{"href", value.text()}};
    place.part_urls[*number - 1] = TRY(read_href(action));
  }
  if (std::ranges::any_of(place.part_urls, &std::string::empty))
    return fail(Code::corrupt, "there are not {} parts", n_parts);
  return {};
}

// A size of parts says that the URL joins them; else it takes the whole content with these headers.
Status read_upload_action(const Json& action, uint64_t n_bytes, UploadPlace& place) {
  place.url = TRY(read_href(action));
  const Json* const header = answer_object(action, "header");
  if (header == nullptr) return {};
  if (header->contains("chunk_size")) return read_parts(*header, n_bytes, place);
  if (header->size() > kMaxHeaders) return fail(Code::corrupt, "more than {} headers", kMaxHeaders);
  for (const auto& [key, value] : header->items())
    place.headers.push_back(TRY(read_header_line(key, value)));
  return {};
}

// Without an action for an upload the hub has the content already.
Result<UploadPlace> read_place(const Json& object) {
  const Json* const oid = answer_text(object, "oid");
  if (oid == nullptr) return fail(Code::corrupt, "an object has no 'oid'");
  const FileDigest digest = TRY(read_digest(oid->text()));
  UploadPlace place;
  place.digest = digest.hex;
  if (const Json* const error = answer_object(object, "error")) {
    const Json* const message = answer_text(*error, "message");
    return fail(Code::invalid, "the hub refuses it: {}",
                one_line(message == nullptr ? "without a reason" : message->text()));
  }
  const FieldResult<int64_t> size = read_integer(object, "size", 0, {0, int64_t{1} << 50});
  if (!size) return fail(Code::corrupt, "an object: {}", size.error().message);
  place.n_bytes = static_cast<uint64_t>(*size);
  const Json* const actions = answer_object(object, "actions");
  const Json* const upload = actions == nullptr ? nullptr : answer_object(*actions, "upload");
  place.is_there = upload == nullptr;
  if (upload != nullptr) TRY(read_upload_action(*upload, place.n_bytes, place));
  const Json* const verify = actions == nullptr ? nullptr : answer_object(*actions, "verify");
  if (verify != nullptr) place.verify_url = TRY(read_href(*verify));
  return place;
}

}  // namespace

Result<std::vector<UploadMode>> read_upload_modes(std::string_view text) {
  const Json json = TRY(parse_json(text, "the hub's wishes", kUploadLimits));
  std::vector<UploadMode> modes;
  for (const Json& entry : TRY(objects_of(json, "files"))) modes.push_back(TRY(read_mode(entry)));
  return modes;
}

Result<std::vector<UploadPlace>> read_upload_places(std::string_view text) {
  const Json json = TRY(parse_json(text, "the hub's answer about LFS", kUploadLimits));
  const std::span<const Json> objects = TRY(objects_of(json, "objects"));
  const Json* const transfer = answer_text(json, "transfer");
  if (transfer != nullptr && transfer->text() != "basic" && transfer->text() != "multipart") {
    return fail(Code::unsupported,
                "the hub takes contents over '{}' only, which is not spoken here",
                one_line(transfer->text()));
  }
  std::vector<UploadPlace> places;
  for (const Json& object : objects) places.push_back(TRY(read_place(object)));
  return places;
}

Result<std::string> read_commit_answer(std::string_view text) {
  const Json json = TRY(parse_json(text, "the hub's answer to the commit", kUploadLimits));
  const Json* const oid = json.is_object() ? answer_text(json, "commitOid") : nullptr;
  if (oid != nullptr && is_commit(oid->text())) return oid->get<std::string>();
  return fail(Code::corrupt, "the hub's answer to the commit names none");
}

}  // namespace ruv
