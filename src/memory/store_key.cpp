// The file: {u64 magic, u64 version, the sealed key with its nonce and tag}, 88 bytes. Magic and
// version are bound to the key.
#include "memory/store_key.h"

#include <array>

#include "base/file.h"

namespace ruv {
namespace {

constexpr uint64_t kStoreKeyMagic = 0x59454B524F545352;  // "RSTORKEY"
constexpr uint64_t kStoreKeyVersion = 1;
constexpr size_t kHeadBytes = 2 * sizeof(uint64_t);

std::string wrapped(const SealKey& store_key, const SealKey& user) {
  std::string file(kHeadBytes, '\0');
  const auto head = std::as_writable_bytes(std::span(file));
  put(head, 0, kStoreKeyMagic);
  put(head, sizeof(uint64_t), kStoreKeyVersion);
  const std::string bound = file;
  append_sealed(file, user, std::as_bytes(std::span(store_key)), as_bytes(bound));
  return file;
}

Status write_key(const std::string& path, const SealKey& store_key, const SealKey& user,
                 bool replace) {
  FileWriter file =
      TRY(FileWriter::create(path, {.readers = FileReaders::owner, .replace = replace}));
  TRY(file.write(as_bytes(wrapped(store_key, user))));
  return file.commit();
}

// Nothing: another key of a user sealed it, or it was changed.
Result<std::optional<SealKey>> unwrapped(const std::string& path, const SealKey& user) {
  const std::string text = TRY(read_text_file(path));
  const Bytes file = as_bytes(text);
  SealKey store_key = {};
  if (file.size() < kHeadBytes || get<uint64_t>(file, 0) != kStoreKeyMagic) {
    return fail(Code::corrupt, "{}: not the key of a store", path);
  }
  if (get<uint64_t>(file, sizeof(uint64_t)) != kStoreKeyVersion) {
    return fail(Code::unsupported, "{}: a key of a newer version", path);
  }
  if (file.size() != kHeadBytes + kSealedExtraBytes + store_key.size()) {
    return fail(Code::corrupt, "{}: a key of {} bytes", path, file.size());
  }
  const bool is_open = open_sealed(user, file.subspan(kHeadBytes), file.first(kHeadBytes),
                                   std::as_writable_bytes(std::span(store_key)));
  return is_open ? std::optional(store_key) : std::nullopt;
}

SharedStoreKeys shared_keys_of(SealKey& store_key) {
  auto keys = std::make_shared<const StoreKeys>(store_key);
  forget_key(store_key);
  return keys;
}

}  // namespace

// A key's file is written before what it is for, so that a crash leaves none of that in clear.
Result<SharedStoreKeys> open_store_keys(const std::string& path, const std::optional<SealKey>& user,
                                        bool has_data) {
  const bool has_key = file_exists(path);
  if (!user && has_key) return fail(Code::invalid, "{}: encrypted, and no key is given", path);
  if (!user) return SharedStoreKeys();
  TRY(start_sealing());
  if (has_key) {
    auto store_key = TRY(unwrapped(path, *user));
    if (store_key) return shared_keys_of(*store_key);
    return fail(Code::invalid, "{}: the key is not that of this store, or the file is damaged",
                path);
  }
  if (has_data) {
    return fail(Code::invalid,
                "{}: missing, as the store is not encrypted, and a key is given; export it, and "
                "import it into a new store",
                path);
  }
  SealKey drawn = {};
  fill_random(std::as_writable_bytes(std::span(drawn)));
  TRY(write_key(path, drawn, *user, false));
  return shared_keys_of(drawn);
}

Status rewrap_store_key(const std::string& path, const SealKey& from, const SealKey& to) {
  if (!file_exists(path)) return fail(Code::not_found, "{}: no key of a store", path);
  TRY(start_sealing());
  auto store_key = TRY(unwrapped(path, from));
  if (!store_key) {
    if (TRY(unwrapped(path, to))) return {};
    return fail(Code::invalid, "{}: the key is not that of this store, or the file is damaged",
                path);
  }
  const Status written = write_key(path, *store_key, to, true);
  forget_key(*store_key);
  return written;
}

}  // namespace ruv
