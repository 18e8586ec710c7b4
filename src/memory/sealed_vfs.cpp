// Methods of SQLite's files and VFS. Those that do not touch content are the system's own.
#include "memory/sealed_vfs.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace ruv {
namespace {

constexpr auto kPage = static_cast<int64_t>(SealedPages::kPageBytes);
constexpr auto kFrame = static_cast<int64_t>(SealedPages::kFrameBytes);
constexpr auto kFrameHead = static_cast<int64_t>(SealedPages::kFrameHeadBytes);
constexpr int64_t kLogHead = 32;       // of the log: magic, version, size of pages, salts, checksum
constexpr int64_t kLogPageSizeAt = 8;  // big-endian
constexpr int64_t kSaltsAt = 16;
constexpr int64_t kJournalHead = 28;

enum class SealedKind : uint8_t { database, wal, journal };

// What SQLite has of an open file; the system's file lies after it.
struct SealedFile {
  sqlite3_file base = {};  // first, as SQLite knows it alone
  const SealedPages* pages = nullptr;
  sqlite3_file* under = nullptr;
  SealedKind kind = SealedKind::database;
  // The frame whose header was written last, and that; -1: none.
  int64_t head_frame = -1;
  SealedPages::FrameHead head = {};
  // The salts in the header of a log, once they are known.
  bool has_salts = false;
  std::array<std::byte, 8> salts = {};
};
static_assert(sizeof(SealedFile) % alignof(int64_t) == 0);

SealedFile& sealed_of(sqlite3_file* file) { return *reinterpret_cast<SealedFile*>(file); }

int read_under(SealedFile& file, std::span<std::byte> to, int64_t offset) {
  return file.under->pMethods->xRead(file.under, to.data(), static_cast<int>(to.size()), offset);
}

int write_under(SealedFile& file, Bytes from, int64_t offset) {
  return file.under->pMethods->xWrite(file.under, from.data(), static_cast<int>(from.size()),
                                      offset);
}

bool is_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
}

// Copies the part of `from`, which is at `at` of the file, that a reader of `to`, at `offset`,
// wants.
void copy_overlap(Bytes from, int64_t at, std::span<std::byte> to, int64_t offset) {
  const int64_t first = std::max(at, offset);
  const int64_t end = std::min(at + std::ssize(from), offset + std::ssize(to));
  if (first >= end) return;
  std::copy_n(from.data() + (first - at), end - first, to.data() + (first - offset));
}

// Nothing of a page is there: the file ends before. A part of one: damage.
int code_of_short_page(SealedFile& file, int64_t at) {
  sqlite3_int64 n_bytes = 0;
  const int result = file.under->pMethods->xFileSize(file.under, &n_bytes);
  if (result != SQLITE_OK) return result;
  return n_bytes <= at ? SQLITE_IOERR_SHORT_READ : SQLITE_CORRUPT;
}

// When a database is opened, SQLite asks for the size of pages, in the first 100 bytes, before it
// recovers a log that may have the page anew. So the answer is the same for a damaged page, which
// is noticed when it is read as a whole.
void put_page_shape(SealedPages::Page& page) {
  page[16] = std::byte{SealedPages::kPageBytes >> 8};
  page[20] = std::byte{kSealedExtraBytes};
}

int read_database(SealedFile& file, std::span<std::byte> to, int64_t offset) {
  const int64_t end = offset + std::ssize(to);
  for (int64_t at = offset / kPage * kPage; at < end; at += kPage) {
    SealedPages::Page page = {};
    int result = read_under(file, page, at);
    if (result == SQLITE_IOERR_SHORT_READ) result = code_of_short_page(file, at);
    if (result == SQLITE_IOERR_SHORT_READ) {
      const int64_t n_before = std::max<int64_t>(at - offset, 0);
      std::ranges::fill(to.subspan(static_cast<size_t>(n_before)), std::byte{0});
      return result;
    }
    if (result != SQLITE_OK && result != SQLITE_CORRUPT) return result;
    if (result == SQLITE_CORRUPT || !file.pages->open_page(page, at / kPage + 1)) {
      if (at != 0 || end >= kPage) return SQLITE_CORRUPT;
      page = {};
      put_page_shape(page);
    }
    copy_overlap(page, at, to, offset);
  }
  return SQLITE_OK;
}

int write_database(SealedFile& file, Bytes from, int64_t offset) {
  if (offset % kPage != 0 || std::ssize(from) != kPage) return SQLITE_IOERR_WRITE;
  const auto page = from.first<SealedPages::kPageBytes>();
  const auto number = static_cast<uint64_t>(offset / kPage + 1);
  if (!SealedPages::may_be_sealed(page, number)) return SQLITE_IOERR_WRITE;
  SealedPages::Page sealed;
  file.pages->seal_page(page, number, sealed);
  return write_under(file, sealed, offset);
}

int64_t place_of_frame(int64_t frame) { return kLogHead + frame * kFrame; }

// The header of a frame as it is in the file.
int read_head(SealedFile& file, int64_t frame, SealedPages::FrameHead& head) {
  if (frame == file.head_frame) {
    head = file.head;
    return SQLITE_OK;
  }
  return read_under(file, head, place_of_frame(frame));
}

int kind_of_frame(SealedFile& file, const SealedPages::FrameHead& head,
                  SealedPages::FrameKind& kind) {
  if (!file.has_salts) {
    const int result = read_under(file, file.salts, kSaltsAt);
    if (result != SQLITE_OK) return result;
    file.has_salts = true;
  }
  std::copy_n(head.begin(), kind.size() - file.salts.size(), kind.begin());
  std::ranges::copy(file.salts, kind.end() - std::ssize(file.salts));
  return SQLITE_OK;
}

// A page that is wanted with its header is looked at by what compares its checksum, to which one
// that does not open is zeros; one that is wanted alone is content.
int read_frame(SealedFile& file, int64_t frame, std::span<std::byte> to, int64_t offset) {
  const int64_t at = place_of_frame(frame), page_at = at + kFrameHead;
  const int64_t end = offset + std::ssize(to);
  SealedPages::FrameHead head;
  int result = read_head(file, frame, head);
  if (result != SQLITE_OK) return result;
  const bool wants_head = offset < page_at;
  if (wants_head) {
    SealedPages::FrameHead clear = head;
    file.pages->mask(clear, static_cast<uint64_t>(frame));
    copy_overlap(clear, at, to, offset);
  }
  if (end <= page_at) return SQLITE_OK;
  SealedPages::Page page = {};
  SealedPages::FrameKind kind;
  result = kind_of_frame(file, head, kind);
  if (result == SQLITE_OK) result = read_under(file, page, page_at);
  if (result != SQLITE_OK) return result;
  const bool is_open = file.pages->open_frame(page, static_cast<uint64_t>(frame), kind);
  if (!is_open && !wants_head) return SQLITE_CORRUPT;
  copy_overlap(page, page_at, to, offset);
  return SQLITE_OK;
}

// Whether the header of the log, 32 bytes, is of pages as ours.
bool has_our_pages(Bytes log_head) {
  const Bytes size = log_head.subspan(kLogPageSizeAt, 4);
  return is_zero(size.first(2)) && size[2] == std::byte{SealedPages::kPageBytes >> 8} &&
         size[3] == std::byte{0};
}

int read_wal(SealedFile& file, std::span<std::byte> to, int64_t offset) {
  const int64_t end = offset + std::ssize(to);
  std::ranges::fill(to, std::byte{0});
  if (offset < kLogHead) {
    std::array<std::byte, kLogHead> head = {};
    const int result = read_under(file, head, 0);
    if (result != SQLITE_OK) return result;
    if (!has_our_pages(head)) return SQLITE_CORRUPT;
    copy_overlap(head, 0, to, offset);
  }
  const int64_t first = std::max<int64_t>(offset - kLogHead, 0) / kFrame;
  for (int64_t frame = first; place_of_frame(frame) < end; ++frame) {
    const int result = read_frame(file, frame, to, offset);
    if (result != SQLITE_OK) return result;
  }
  return SQLITE_OK;
}

int write_head(SealedFile& file, int64_t frame, Bytes from) {
  SealedPages::FrameHead head;
  std::ranges::copy(from, head.begin());
  file.pages->mask(head, static_cast<uint64_t>(frame));
  file.head_frame = -1;
  const int result = write_under(file, head, place_of_frame(frame));
  if (result != SQLITE_OK) return result;
  file.head_frame = frame;
  file.head = head;
  return SQLITE_OK;
}

int write_frame_page(SealedFile& file, int64_t frame, Bytes from) {
  SealedPages::FrameHead head;
  SealedPages::FrameKind kind;
  int result = read_head(file, frame, head);
  if (result == SQLITE_OK) result = kind_of_frame(file, head, kind);
  if (result != SQLITE_OK) return SQLITE_IOERR_WRITE;
  const auto page = from.first<SealedPages::kPageBytes>();
  const bool is_first_page = head[3] == std::byte{1} && is_zero(Bytes(head).first(3));
  if (!SealedPages::may_be_sealed(page, is_first_page ? 1 : 0)) return SQLITE_IOERR_WRITE;
  SealedPages::Page sealed;
  file.pages->seal_frame(page, static_cast<uint64_t>(frame), kind, sealed);
  return write_under(file, sealed, place_of_frame(frame) + kFrameHead);
}

// Whole headers and whole pages, in any number.
int write_wal(SealedFile& file, Bytes from, int64_t offset) {
  if (offset == 0 && std::ssize(from) >= kLogHead) {
    const Bytes head = from.first(kLogHead);
    if (!has_our_pages(head)) return SQLITE_IOERR_WRITE;
    file.has_salts = false;
    const int result = write_under(file, head, 0);
    if (result != SQLITE_OK) return result;
    from = from.subspan(kLogHead);
    offset = kLogHead;
  }
  while (!from.empty()) {
    if (offset < kLogHead) return SQLITE_IOERR_WRITE;
    const int64_t frame = (offset - kLogHead) / kFrame, within = (offset - kLogHead) % kFrame;
    const int64_t n = within == 0 ? kFrameHead : kPage;
    if ((within != 0 && within != kFrameHead) || std::ssize(from) < n) return SQLITE_IOERR_WRITE;
    const Bytes part = from.first(static_cast<size_t>(n));
    const int result =
        within == 0 ? write_head(file, frame, part) : write_frame_page(file, frame, part);
    if (result != SQLITE_OK) return result;
    from = from.subspan(part.size());
    offset += n;
  }
  return SQLITE_OK;
}

// That a part of a journal is of its header, or zeros.
bool has_no_content(Bytes bytes, int64_t offset) {
  const int64_t n_of_head = std::clamp<int64_t>(kJournalHead - offset, 0, std::ssize(bytes));
  return is_zero(bytes.subspan(static_cast<size_t>(n_of_head)));
}

int close_sealed(sqlite3_file* file) {
  SealedFile& sealed = sealed_of(file);
  const int result = sealed.under->pMethods->xClose(sealed.under);
  sealed.~SealedFile();
  return result;
}

int read_sealed(sqlite3_file* file, void* to, int n_bytes, sqlite3_int64 offset) {
  SealedFile& sealed = sealed_of(file);
  const std::span<std::byte> room(static_cast<std::byte*>(to), static_cast<size_t>(n_bytes));
  switch (sealed.kind) {
    case SealedKind::database:
      return read_database(sealed, room, offset);
    case SealedKind::wal:
      return read_wal(sealed, room, offset);
    case SealedKind::journal:
      break;
  }
  const int result = read_under(sealed, room, offset);
  const bool is_read = result == SQLITE_OK || result == SQLITE_IOERR_SHORT_READ;
  return is_read && !has_no_content(room, offset) ? SQLITE_CORRUPT : result;
}

int write_sealed(sqlite3_file* file, const void* from, int n_bytes, sqlite3_int64 offset) {
  SealedFile& sealed = sealed_of(file);
  const Bytes bytes(static_cast<const std::byte*>(from), static_cast<size_t>(n_bytes));
  switch (sealed.kind) {
    case SealedKind::database:
      return write_database(sealed, bytes, offset);
    case SealedKind::wal:
      return write_wal(sealed, bytes, offset);
    case SealedKind::journal:
      break;
  }
  if (!has_no_content(bytes, offset)) return SQLITE_IOERR_WRITE;
  return write_under(sealed, bytes, offset);
}

// Calls of the system's file.
sqlite3_file* under_of(sqlite3_file* file) { return sealed_of(file).under; }
int truncate_sealed(sqlite3_file* file, sqlite3_int64 n_bytes) {
  sealed_of(file).head_frame = -1;
  sealed_of(file).has_salts = false;
  return under_of(file)->pMethods->xTruncate(under_of(file), n_bytes);
}
int sync_sealed(sqlite3_file* file, int flags) {
  return under_of(file)->pMethods->xSync(under_of(file), flags);
}
int size_of_sealed(sqlite3_file* file, sqlite3_int64* n_bytes) {
  return under_of(file)->pMethods->xFileSize(under_of(file), n_bytes);
}
int lock_sealed(sqlite3_file* file, int level) {
  return under_of(file)->pMethods->xLock(under_of(file), level);
}
int unlock_sealed(sqlite3_file* file, int level) {
  return under_of(file)->pMethods->xUnlock(under_of(file), level);
}
int has_lock_sealed(sqlite3_file* file, int* has) {
  return under_of(file)->pMethods->xCheckReservedLock(under_of(file), has);
}
int control_sealed(sqlite3_file* file, int operation, void* argument) {
  return under_of(file)->pMethods->xFileControl(under_of(file), operation, argument);
}
int sector_of_sealed(sqlite3_file* file) {
  return under_of(file)->pMethods->xSectorSize(under_of(file));
}
// A frame is written as a whole and checked as a whole, so that SQLite need not write it in parts
// that end with sectors.
int traits_of_sealed(sqlite3_file* file) {
  const int traits = under_of(file)->pMethods->xDeviceCharacteristics(under_of(file));
  return traits | SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// Version 1 has neither shared memory nor mappings.
constexpr sqlite3_io_methods kSealedMethods = {.iVersion = 1,
                                               .xClose = close_sealed,
                                               .xRead = read_sealed,
                                               .xWrite = write_sealed,
                                               .xTruncate = truncate_sealed,
                                               .xSync = sync_sealed,
                                               .xFileSize = size_of_sealed,
                                               .xLock = lock_sealed,
                                               .xUnlock = unlock_sealed,
                                               .xCheckReservedLock = has_lock_sealed,
                                               .xFileControl = control_sealed,
                                               .xSectorSize = sector_of_sealed,
                                               .xDeviceCharacteristics = traits_of_sealed,
                                               .xShmMap = nullptr,
                                               .xShmLock = nullptr,
                                               .xShmBarrier = nullptr,
                                               .xShmUnmap = nullptr,
                                               .xFetch = nullptr,
                                               .xUnfetch = nullptr};

const SealedVfs& vfs_of(sqlite3_vfs* vfs) { return *static_cast<const SealedVfs*>(vfs->pAppData); }
sqlite3_vfs* system_of(sqlite3_vfs* vfs) { return vfs_of(vfs).system(); }

// Other files, of temporary tables and of sorting, would be in clear: they are kept in memory
// (temp_store = MEMORY), and refused here.
int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  SealedKind kind = SealedKind::database;
  if ((flags & SQLITE_OPEN_WAL) != 0) {
    kind = SealedKind::wal;
  } else if ((flags & SQLITE_OPEN_MAIN_JOURNAL) != 0) {
    kind = SealedKind::journal;
  } else if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
    return SQLITE_CANTOPEN;
  }
  auto* const sealed = new (file) SealedFile();
  sealed->pages = &vfs_of(vfs).pages();
  sealed->under = reinterpret_cast<sqlite3_file*>(sealed + 1);
  sealed->kind = kind;
  const int result = system_of(vfs)->xOpen(system_of(vfs), name, sealed->under, flags, out_flags);
  if (result == SQLITE_OK) sealed->base.pMethods = &kSealedMethods;
  return result;
}

// Calls of the system's VFS.
int delete_file(sqlite3_vfs* vfs, const char* name, int syncs) {
  return system_of(vfs)->xDelete(system_of(vfs), name, syncs);
}
int access_file(sqlite3_vfs* vfs, const char* name, int flags, int* result) {
  return system_of(vfs)->xAccess(system_of(vfs), name, flags, result);
}
int full_path(sqlite3_vfs* vfs, const char* name, int n_bytes, char* path) {
  return system_of(vfs)->xFullPathname(system_of(vfs), name, n_bytes, path);
}
int random_bytes(sqlite3_vfs* vfs, int n_bytes, char* bytes) {
  return system_of(vfs)->xRandomness(system_of(vfs), n_bytes, bytes);
}
int sleep_us(sqlite3_vfs* vfs, int n_us) { return system_of(vfs)->xSleep(system_of(vfs), n_us); }
int current_day(sqlite3_vfs* vfs, double* day) {
  return system_of(vfs)->xCurrentTime(system_of(vfs), day);
}
int last_error(sqlite3_vfs* vfs, int n_bytes, char* text) {
  return system_of(vfs)->xGetLastError(system_of(vfs), n_bytes, text);
}

}  // namespace

SealedVfs::SealedVfs(SharedStoreKeys keys)
    : keys_(std::move(keys)), pages_(*keys_), system_(sqlite3_vfs_find(nullptr)) {
  static std::atomic<int64_t> n_made = 0;
  name_ = fmt::format("ruv-sealed-{}", n_made.fetch_add(1));
}

Result<std::unique_ptr<SealedVfs>> SealedVfs::create(SharedStoreKeys keys) {
  std::unique_ptr<SealedVfs> made(new SealedVfs(std::move(keys)));
  if (made->system_ == nullptr) return fail(Code::internal, "SQLite has no files here");
  made->vfs_ = std::make_unique<sqlite3_vfs>();
  sqlite3_vfs& vfs = *made->vfs_;
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(SealedFile)) + made->system_->szOsFile;
  vfs.mxPathname = made->system_->mxPathname;
  vfs.zName = made->name();
  vfs.pAppData = made.get();
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_path;
  vfs.xRandomness = random_bytes;
  vfs.xSleep = sleep_us;
  vfs.xCurrentTime = current_day;
  vfs.xGetLastError = last_error;
  if (sqlite3_vfs_register(&vfs, 0) == SQLITE_OK) return made;
  made->vfs_.reset();
  return fail(Code::out_of_memory, "SQLite has no room for encrypted files");
}

SealedVfs::~SealedVfs() {
  if (vfs_ != nullptr) sqlite3_vfs_unregister(vfs_.get());
}

}  // namespace ruv
