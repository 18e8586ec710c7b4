#include "cache/session_file.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace ruv {
namespace {

constexpr std::string_view kSessionMagic = "RUVSESS1";
// The label ends with adapters. Files without any are of the first version, which older programs
// read, too.
constexpr std::string_view kAdaptedMagic = "RUVSESS2";
constexpr std::string_view kSessionKeyContext = "ruvsessn";
enum SessionKeyUse : size_t { kSessionLabels, kSessionTexts, kSessionNames };
constexpr std::string_view kSessionSuffix = ".session";
constexpr size_t kMaxName = 64;
constexpr size_t kMaxUser = 160;
constexpr size_t kMaxModel = 256;
constexpr size_t kMaxAdapterName = 256;

// Header:
//   0 magic │ 8 sealed │ 12 bytes of the label │ 16 nonce │ 40 tag or hash of the label
//   56 tag or hash of the text │ 72 bytes of the text │ 80 label │ text
// Label:
//   0 created │ 8 updated │ 16 messages │ 24 tokens │ 32 lengths of user, name, model │ 44 these
//   version 2: adapters │ of each: scale │ length of its name │ name
constexpr size_t kSealed = 8;
constexpr size_t kLabelSize = 12;
constexpr size_t kSessionNonce = 16;
constexpr size_t kSessionLabelTag = 40;
constexpr size_t kTextTag = 56;
constexpr size_t kTextSize = 72;
constexpr size_t kHeader = 80;
constexpr size_t kMinLabel = 44;
constexpr size_t kMaxLabel =
    kMinLabel + kMaxUser + kMaxName + kMaxModel + 4 + kMaxSessionAdapters * (8 + kMaxAdapterName);

// All of the header except the label's own tag. It is bound to the label, and through the text's
// tag so is the text.
std::string bound_header(Bytes file) {
  std::string bound(as_text(file.first(kSessionLabelTag)));
  return bound.append(as_text(file.subspan(kTextTag, kHeader - kTextTag)));
}

uint64_t hash_of_label(Bytes file, Bytes label) {
  return hash_bytes(label, hash_bytes(as_bytes(bound_header(file))));
}

std::string label_of(const SessionInfo& info) {
  std::string label;
  const auto add = [&label](const auto& number) {
    label.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const int64_t n : {info.created, info.updated, info.n_messages, info.n_tokens}) add(n);
  for (const std::string* text : {&info.user, &info.name, &info.model})
    add(static_cast<uint32_t>(text->size()));
  label += info.user + info.name + info.model;
  if (info.adapters.empty()) return label;
  add(static_cast<uint32_t>(info.adapters.size()));
  for (const SessionAdapter& adapter : info.adapters) {
    add(adapter.scale);
    add(static_cast<uint32_t>(adapter.name.size()));
    label += adapter.name;
  }
  return label;
}

Result<std::string> read_text(ByteReader& reader, uint32_t n, size_t most, const char* field) {
  if (n > most) return reader.error(field, fmt::format("{} bytes, at most {}", n, most));
  return std::string(as_text(TRY(reader.take(n, field))));
}

Result<std::vector<SessionAdapter>> read_adapters(ByteReader& reader) {
  const auto n = TRY(reader.read<uint32_t>("adapters"));
  if (n == 0 || n > kMaxSessionAdapters) return reader.error("adapters", fmt::format("{}", n));
  std::vector<SessionAdapter> adapters;
  for (uint32_t i = 0; i < n; ++i) {
    SessionAdapter adapter;
    adapter.scale = TRY(reader.read<float>("scale"));
    if (!std::isfinite(adapter.scale)) return reader.error("scale", "not a number");
    const auto n_name = TRY(reader.read<uint32_t>("adapter"));
    adapter.name = TRY(read_text(reader, n_name, kMaxAdapterName, "adapter"));
    adapters.push_back(std::move(adapter));
  }
  return adapters;
}

Result<SessionInfo> read_label(Bytes label, bool is_adapted, const std::string& source) {
  ByteReader reader(label, source + ": label");
  SessionInfo info;
  info.created = TRY(reader.read<int64_t>("created"));
  info.updated = TRY(reader.read<int64_t>("updated"));
  info.n_messages = TRY(reader.read<int64_t>("messages"));
  info.n_tokens = TRY(reader.read<int64_t>("tokens"));
  const auto n_user = TRY(reader.read<uint32_t>("user"));
  const auto n_name = TRY(reader.read<uint32_t>("name"));
  const auto n_model = TRY(reader.read<uint32_t>("model"));
  info.user = TRY(read_text(reader, n_user, kMaxUser, "user"));
  info.name = TRY(read_text(reader, n_name, kMaxName, "name"));
  info.model = TRY(read_text(reader, n_model, kMaxModel, "model"));
  if (is_adapted) info.adapters = TRY(read_adapters(reader));
  const bool fits = reader.remaining() == 0 && info.n_messages >= 0 && info.n_tokens >= 0 &&
                    info.user.find('\0') == std::string::npos;
  if (!fits || !check_session_name(info.name).ok())
    return fail(Code::corrupt, "{}: the label's fields do not fit together", source);
  return info;
}

struct Parts {
  Bytes label;
  Bytes text;
};

bool has_magic(Bytes file, std::string_view magic) {
  return file.size() >= magic.size() && as_text(file.first(magic.size())) == magic;
}

// The positions of label and text; their contents are not checked.
Result<Parts> parts_of(Bytes file, const std::string& source, const SealKeys& keys) {
  const bool is_known = has_magic(file, kSessionMagic) || has_magic(file, kAdaptedMagic);
  if (file.size() < kHeader || !is_known)
    return fail(Code::corrupt, "{}: not a session's file of this version", source);
  const auto flag = get<uint32_t>(file, kSealed);
  if (flag > 1) return fail(Code::corrupt, "{}: offset {}: damaged", source, kSealed);
  if (flag != uint32_t{keys.sealed()})
    return fail(Code::unsupported, "{}: {}", source, keys.refusal());
  const auto n_label = get<uint32_t>(file, kLabelSize);
  const auto n_text = get<uint64_t>(file, kTextSize);
  if (n_label < kMinLabel || n_label > kMaxLabel || n_text > kMaxSessionTextBytes ||
      file.size() != kHeader + n_label + n_text)
    return fail(Code::corrupt, "{}: {} bytes, and its header speaks of {} and {}", source,
                file.size(), n_label, n_text);
  return Parts{file.subspan(kHeader, n_label), file.subspan(kHeader + n_label)};
}

std::vector<std::byte> copied(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

// Names become parts of paths in requests, hence the small alphabet.
Status check_session_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto fits = [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; };
  if (!name.empty() && name.size() <= kMaxName && is_plain(name[0]) &&
      std::ranges::all_of(name, fits))
    return {};
  return fail(Code::invalid,
              "a session's name has 1 to {} letters, digits, '.', '_' and '-', and begins with a "
              "letter or a digit",
              kMaxName);
}

Result<SessionCodec> SessionCodec::create(const std::optional<SealKey>& key) {
  TRY(start_sealing());
  return SessionCodec(key);
}

SessionCodec::SessionCodec(const std::optional<SealKey>& key) : keys_(key, kSessionKeyContext) {}

// The hash hides user and name from a reader of the folder.
std::string SessionCodec::file_name(std::string_view user, std::string_view name) const {
  std::string text(user);
  text.push_back('\0');
  text.append(name);
  std::string digits;
  for (const std::byte byte : keyed_hash(keys_[kSessionNames], text))
    digits += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return digits.append(kSessionSuffix);
}

bool SessionCodec::is_file_name(std::string_view name) {
  return name.size() == 32 + kSessionSuffix.size() && name.ends_with(kSessionSuffix) &&
         name.substr(0, 32).find_first_not_of("0123456789abcdef") == name.npos;
}

Result<std::vector<std::byte>> SessionCodec::close(const SessionInfo& info,
                                                   std::string_view text) const {
  TRY(check_session_name(info.name));
  if (info.user.size() > kMaxUser || info.user.find('\0') != std::string::npos)
    return fail(Code::invalid, "a session's user has at most {} bytes, none of them NUL", kMaxUser);
  if (info.model.size() > kMaxModel)
    return fail(Code::invalid, "a session's model has at most {} bytes", kMaxModel);
  const bool fit = info.adapters.size() <= kMaxSessionAdapters &&
                   std::ranges::all_of(info.adapters, [](const SessionAdapter& adapter) {
                     return adapter.name.size() <= kMaxAdapterName && std::isfinite(adapter.scale);
                   });
  if (!fit) {
    return fail(Code::invalid,
                "a session has at most {} adapters, with names of at most {} bytes and scales that "
                "are numbers",
                kMaxSessionAdapters, kMaxAdapterName);
  }
  if (text.size() > kMaxSessionTextBytes)
    return fail(Code::invalid, "session '{}': {} bytes of messages, at most {}; begin another",
                info.name, text.size(), kMaxSessionTextBytes);
  const std::string label = label_of(info);
  std::vector<std::byte> file(kHeader + label.size() + text.size());
  const std::string_view magic = info.adapters.empty() ? kSessionMagic : kAdaptedMagic;
  std::memcpy(file.data(), magic.data(), magic.size());
  put(file, kSealed, uint32_t{keys_.sealed()});
  put(file, kLabelSize, static_cast<uint32_t>(label.size()));
  put(file, kTextSize, static_cast<uint64_t>(text.size()));
  std::ranges::copy(as_bytes(label), file.begin() + kHeader);
  const std::span<std::byte> all(file);
  const std::span<std::byte> label_part = all.subspan(kHeader, label.size());
  const std::span<std::byte> text_part = all.subspan(kHeader + label.size());
  std::ranges::copy(as_bytes(text), text_part.begin());
  if (keys_.sealed()) {
    const std::span<std::byte> nonce = all.subspan(kSessionNonce, kSealNonceBytes);
    fill_random(nonce);
    seal({keys_[kSessionTexts], nonce, {}}, text_part, all.subspan(kTextTag, kSealTagBytes));
    const std::string bound = bound_header(file);
    seal({keys_[kSessionLabels], nonce, as_bytes(bound)}, label_part,
         all.subspan(kSessionLabelTag, kSealTagBytes));
  } else {
    put_plain_tag(all.subspan(kTextTag, kSealTagBytes), hash_bytes(text_part));
    put_plain_tag(all.subspan(kSessionLabelTag, kSealTagBytes), hash_of_label(file, label_part));
  }
  return file;
}

Result<SessionInfo> SessionCodec::open_label(Bytes file, const std::string& source) const {
  const Parts parts = TRY(parts_of(file, source, keys_));
  std::vector<std::byte> label = copied(parts.label);
  if (keys_.sealed()) {
    const std::string bound = bound_header(file);
    if (!unseal(
            {keys_[kSessionLabels], file.subspan(kSessionNonce, kSealNonceBytes), as_bytes(bound)},
            label, file.subspan(kSessionLabelTag, kSealTagBytes)))
      return fail(Code::corrupt, "{}: damaged, or encrypted with another key", source);
  } else if (!is_plain_tag(file.subspan(kSessionLabelTag, kSealTagBytes),
                           hash_of_label(file, parts.label))) {
    return fail(Code::corrupt, "{}: its label is damaged", source);
  }
  return read_label(label, has_magic(file, kAdaptedMagic), source);
}

Result<std::string> SessionCodec::open_text(Bytes file, const std::string& source) const {
  TRY(open_label(file, source));
  const Parts parts = TRY(parts_of(file, source, keys_));
  std::string text(as_text(parts.text));
  if (keys_.sealed()) {
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(text));
    if (!unseal({keys_[kSessionTexts], file.subspan(kSessionNonce, kSealNonceBytes), {}}, bytes,
                file.subspan(kTextTag, kSealTagBytes)))
      return fail(Code::corrupt, "{}: its conversation is damaged", source);
  } else if (!is_plain_tag(file.subspan(kTextTag, kSealTagBytes), hash_bytes(parts.text))) {
    return fail(Code::corrupt, "{}: its conversation is damaged", source);
  }
  return text;
}

}  // namespace ruv
