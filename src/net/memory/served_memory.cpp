#include "net/memory/served_memory.h"

#include <algorithm>

#include "base/entropy.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"

namespace ruv {

namespace {

std::string catalog_path(const std::string& folder) { return folder + "/catalog.db"; }
std::string catalog_key_path(const std::string& folder) { return folder + "/catalog.key"; }

Result<SharedStoreKeys> catalog_keys(const std::string& folder, const std::optional<SealKey>& key) {
  return open_store_keys(catalog_key_path(folder), key, file_exists(catalog_path(folder)));
}

}  // namespace

Result<std::unique_ptr<ServedMemory>> ServedMemory::open(const ServedMemoryOptions& options) {
  TRY(make_folder(options.folder));
  auto catalog = TRY(MemoryCatalog::open(catalog_path(options.folder), options.shelf.syncs,
                                         TRY(catalog_keys(options.folder, options.shelf.key))));
  std::unique_ptr<ServedMemory> memory(new ServedMemory(options, std::move(catalog)));
  TRY(memory->remove_leftovers());
  return memory;
}

bool ServedMemory::has_key(const std::string& folder) {
  return file_exists(catalog_key_path(folder));
}

// The catalog, which one process has open at a time, keeps servers away meanwhile; its key is
// changed last, so that it tells whether all others were.
Status ServedMemory::change_key(const std::string& folder, const SealKey& from, const SealKey& to) {
  if (!has_key(folder)) return fail(Code::not_found, "{}: no encrypted memory", folder);
  Result<SharedStoreKeys> keys = catalog_keys(folder, from);
  if (!keys) keys = TRY(catalog_keys(folder, to));
  const auto catalog = TRY(MemoryCatalog::open(catalog_path(folder), false, *keys));
  for (const std::string& name : folders_in(folder)) {
    const std::string store = folder + "/" + name;
    if (!file_exists(store + "/store.key")) continue;
    TRY(MemoryStore::change_key(store, from, to));
  }
  return rewrap_store_key(catalog_key_path(folder), from, to);
}

// A store's row goes before its files, so a crash between the two leaves files without a row.
Status ServedMemory::remove_leftovers() {
  const std::vector<std::string> known = TRY(catalog_->all_stores());
  for (const std::string& name : folders_in(options_.folder)) {
    if (!name.starts_with("vs_") || std::ranges::find(known, name) != known.end()) continue;
    TRY(remove_tree(options_.folder + "/" + name));
  }
  return {};
}

Result<std::string> ServedMemory::tenant_folder(const std::string& tenant) {
  if (tenant.empty()) return options_.folder + "/memory";
  return options_.folder + "/memory-" + std::to_string(TRY(catalog_->tenant(tenant)));
}

// 24 letters and digits of 120 bits: too many to guess.
std::string ServedMemory::new_id(std::string_view prefix) const {
  if (options_.new_id) return options_.new_id(prefix);
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuv";
  std::string id(prefix);
  for (int half = 0; half < 2; ++half) {
    uint64_t number = draw_entropy();
    for (int i = 0; i < 12; ++i) {
      id += kLetters[number % kLetters.size()];
      number /= kLetters.size();
    }
  }
  return id;
}

std::string ServedMemory::store_folder(const std::string& id) const {
  return options_.folder + "/" + id;
}

std::optional<MemoryStore::Kind> ServedMemory::kind(const std::string& model) const {
  const std::lock_guard held(kinds_lock_);
  const auto at = kinds_.find(model);
  return at == kinds_.end() ? std::nullopt : std::optional(at->second);
}

void ServedMemory::set_kind(const std::string& model, const MemoryStore::Kind& kind) {
  const std::lock_guard held(kinds_lock_);
  kinds_[model] = kind;
}

}  // namespace ruv
