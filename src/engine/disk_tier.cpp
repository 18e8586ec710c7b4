#include "engine/disk_tier.h"

#include <fmt/format.h>

#include <chrono>

#include "base/allocation.h"
#include "base/check.h"
#include "base/thread.h"

namespace ruv {
namespace {

// Pages handed out for writing at once: enough to keep the thread busy between two steps.
constexpr int64_t kWritePages = 32;
// The pause after a failed write, for example on a full disk.
constexpr int64_t kWritePauseNs = 30'000'000'000;
constexpr int64_t kDrainNs = 5'000'000'000;

}  // namespace

DiskTier::DiskTier(std::unique_ptr<PageStore> store, PagePool& pool, KvPages& memory,
                   PrefixTree& tree, const Clock& clock, std::function<void(std::string_view)> note)
    : store_(std::move(store)),
      pool_(&pool),
      memory_(&memory),
      tree_(&tree),
      clock_(&clock),
      note_(std::move(note)),
      bytes_(static_cast<size_t>(memory.saved_bytes())),
      state_(static_cast<size_t>(memory.saved_state_bytes())) {
  for (const PageStore::Record& record : store_->records()) {
    tree_->add_record(record.scope, record.parent, record.cells, record.id);
  }
  CHECK(start_thread(thread_, [this] { work(); }));
}

// Writes what is unwritten within a time limit, then joins the thread.
DiskTier::~DiskTier() {
  const int64_t until_ns = clock_->now_ns() + kDrainNs;
  poll([](uint64_t) {});
  while (!idle() && clock_->now_ns() < until_ns) {
    {
      Lock lock(mutex_);
      done_.wait_for(lock, std::chrono::milliseconds(100),
                     [&] { return !read_.empty() || written_ != nullptr; });
    }
    poll([](uint64_t) {});
  }
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  while (!to_read_.empty()) {
    finish(to_read_.front());
    to_read_.pop_front();
  }
  if (to_write_ != nullptr) finish(*to_write_);
  if (written_ != nullptr) finish(*written_);
  for (Restore& restore : read_) finish(restore);
}

void DiskTier::begin(Restore& restore) {
  std::list<Restore> taken;
  taken.push_back(std::move(restore));
  ++n_restoring_;
  {
    const Lock lock(mutex_);
    to_read_.splice(to_read_.end(), taken);
  }
  wake_.notify_one();
}

// The groups of a page that are held now: those of `wanted` for which there is a frame to hold.
KvPages::Groups DiskTier::hold_windows(PageId page, KvPages::Groups wanted, bool fresh) {
  KvPages::Groups held = wanted & 1;
  for (size_t w = 0; w < memory_->saved().size(); ++w) {
    const KvPages::Groups bit = KvPages::Groups{2} << w;
    PageFrames& window = pool_->frames()[w];
    if ((wanted & bit) != 0 && (fresh || window.has(page)) && window.hold(page)) held |= bit;
  }
  return held;
}

KvPages::Groups DiskTier::groups_in_memory(PageId page) const {
  KvPages::Groups groups = 1;
  for (size_t w = 0; w < memory_->saved().size(); ++w) {
    if (pool_->frames()[w].has(page)) groups |= KvPages::Groups{2} << w;
  }
  return groups;
}

void DiskTier::let_go(PageId page, KvPages::Groups groups) {
  for (size_t w = 0; w < memory_->saved().size(); ++w) {
    if ((groups >> (w + 1) & 1) != 0) pool_->frames()[w].let_go(page);
  }
}

bool DiskTier::hold_frames(const Restore& restore) {
  for (size_t i = 0; i < restore.pages.size(); ++i) {
    const KvPages::Groups held = hold_windows(restore.pages[i], restore.groups[i], true);
    if (held == restore.groups[i]) continue;
    let_go(restore.pages[i], held);
    while (i-- > 0) let_go(restore.pages[i], restore.groups[i]);
    return false;
  }
  return true;
}

void DiskTier::give_up(const Restore& restore) {
  for (size_t i = 0; i < restore.pages.size(); ++i) {
    let_go(restore.pages[i], restore.groups[i]);
    pool_->release(restore.pages[i]);
  }
  for (const PageId page : restore.in_memory) pool_->release(page);
}

void DiskTier::poll(const std::function<void(uint64_t)>& on_restored) {
  std::list<Restore> read;
  std::unique_ptr<Write> written;
  {
    const Lock lock(mutex_);
    read.swap(read_);
    written.swap(written_);
  }
  for (Restore& restore : read) {
    --n_restoring_;
    finish(restore);
    on_restored(restore.id);
  }
  if (written != nullptr) {
    writing_ = false;
    if (written->failed) resume_ns_ = clock_->now_ns() + kWritePauseNs;
    finish(*written);
  }
  forget_dropped();
  if (!writing_ && tree_->has_unwritten()) begin_write();
}

// Records that the store has removed to make room, or found damaged.
void DiskTier::forget_dropped() {
  if (dropped_.empty()) dropped_ = store_->take_dropped();
  // Where memory runs out, the others are for the next time.
  (void)try_allocating([&] {
    for (; !dropped_.empty(); dropped_.pop_back()) tree_->forget_record(dropped_.back());
  });
}

// Holds what the pages of the batch have, and ends the batch before the first page whose windows
// cannot be held beside the others: a record without them is never resumed. False: there is nothing
// to write before a restore has ended.
bool DiskTier::hold_for_writing(Write& write) {
  std::vector<PrefixTree::Unwritten>& pages = write.batch.pages;
  for (size_t i = 0; i < pages.size(); ++i) {
    const PageId page = pages[i].page;
    const KvPages::Groups held = hold_windows(page, memory_->all_groups(), false);
    const bool whole = held == groups_in_memory(page);
    if (whole || (i == 0 && n_restoring_ == 0)) {
      write.groups.push_back(held);
      continue;
    }
    let_go(page, held);
    pages.resize(i);
  }
  return !pages.empty();
}

// Takes the next batch from the tree, unless one is being written or writing has failed recently.
void DiskTier::begin_write() {
  if (clock_->now_ns() < resume_ns_) return;
  std::unique_ptr<Write> write;
  const auto plan = [&] {
    write = std::make_unique<Write>();
    tree_->next_unwritten(kWritePages, write->batch);
    write->records.reserve(write->batch.pages.size());
    write->groups.reserve(write->batch.pages.size());
  };
  if (!try_allocating(plan)) return;
  if (!hold_for_writing(*write)) return;
  for (const PageId page : write->batch.held) pool_->share(page);
  writing_ = true;
  {
    const Lock lock(mutex_);
    to_write_ = std::move(write);
  }
  wake_.notify_one();
}

// A page that could not be read ends the restored part; its record is forgotten.
void DiskTier::finish(Restore& restore) {
  const auto n = static_cast<size_t>(restore.n_done);
  const auto insert = [&] {
    tree_->insert(restore.scope, std::span(restore.cells).first(n * kPageTokens),
                  std::span(restore.pages).first(n), false);
  };
  if (!try_allocating(insert)) restore.n_done = 0;  // read, but the tree will not learn of it
  give_up(restore);
  for (size_t i = 0; i < restore.records.size(); ++i) {
    if (restore.records[i] >= 0) (i < n ? n_restored_pages_ : n_failed_restores_) += 1;
  }
}

// Records that were written become known to the tree, and the pages are released.
void DiskTier::finish(const Write& write) {
  for (size_t i = 0; i < write.records.size(); ++i) {
    const PrefixTree::Unwritten& page = write.batch.pages[i];
    const int64_t parent =
        page.parent >= 0 ? write.records[static_cast<size_t>(page.parent)] : page.parent_record;
    const auto add = [&] { tree_->add_record(page.scope, parent, page.cells, write.records[i]); };
    if (!try_allocating(add)) break;  // later pages need this one; they will be written again
  }
  for (size_t i = 0; i < write.groups.size(); ++i) {
    let_go(write.batch.pages[i].page, write.groups[i]);
  }
  for (const PageId page : write.batch.held) pool_->release(page);
}

bool DiskTier::has_results() const {
  const Lock lock(mutex_);
  return !read_.empty() || written_ != nullptr;
}

void DiskTier::set_on_result(std::function<void()> on_result) {
  const Lock lock(on_result_mutex_);
  on_result_ = std::move(on_result);
}

// Restores first: a request waits for them.
void DiskTier::work() {
  Lock lock(mutex_);
  bool synced = true;
  while (true) {
    const auto has_work = [&] { return stopping_ || !to_read_.empty() || to_write_ != nullptr; };
    if (!synced && !has_work()) {
      lock.unlock();
      flush();
      synced = true;
      lock.lock();
    }
    wake_.wait(lock, has_work);
    if (stopping_) break;
    if (!to_read_.empty()) {
      std::list<Restore> taken;
      taken.splice(taken.end(), to_read_, to_read_.begin());
      lock.unlock();
      (void)try_allocating([&] { read_pages(taken.front()); });
      lock.lock();
      read_.splice(read_.end(), taken);
    } else {
      std::unique_ptr<Write> write = std::move(to_write_);
      lock.unlock();
      Status status;
      if (!try_allocating([&] { status = write_pages(*write); })) {
        status = Status(Code::out_of_memory, "out of memory");
      }
      tell(status);
      synced = false;
      lock.lock();
      // A parent that was dropped in the meantime is not a disk error.
      write->failed = !status.ok() && status.code() != Code::not_found;
      written_ = std::move(write);
    }
    done_.notify_all();
    lock.unlock();
    {
      const Lock on_result_lock(on_result_mutex_);
      if (on_result_) on_result_();
    }
    lock.lock();
  }
  lock.unlock();
  if (!synced) flush();
}

// A failed sync is reported and otherwise ignored: it matters only if the machine stops now.
void DiskTier::flush() {
  (void)try_allocating([&] { (void)store_->flush(); });
}

void DiskTier::tell(const Status& failure) const {
  if (failure.ok() || !note_) return;
  (void)try_allocating([&] { note_(fmt::format("prefix cache: {}", failure.message())); });
}

void DiskTier::read_pages(Restore& restore) {
  for (size_t i = 0; i < restore.pages.size(); ++i) {
    if (restore.records[i] >= 0) {
      const bool wants_state = (restore.groups[i] & memory_->states_group()) != 0;
      const std::span<std::byte> state = std::span(state_).first(wants_state ? state_.size() : 0);
      const Status status = store_->read(restore.records[i], bytes_, state);
      if (!status.ok()) {
        tell(status);
        return;
      }
      // Without the windows' tokens nothing can be resumed after it.
      if (!memory_->load(restore.pages[i], restore.groups[i], bytes_)) return;
      if (wants_state) memory_->load_state(restore.pages[i], state);
      store_->touch(restore.records[i]);
    }
    restore.n_done = static_cast<int64_t>(i) + 1;
  }
}

Status DiskTier::write_pages(Write& write) {
  for (const PrefixTree::Unwritten& page : write.batch.pages) {
    const KvPages::Groups groups = write.groups[write.records.size()];
    memory_->save(page.page, groups, bytes_);
    const bool has_state = (groups & memory_->states_group()) != 0;
    if (has_state) memory_->save_state(page.page, state_);
    const int64_t parent =
        page.parent >= 0 ? write.records[static_cast<size_t>(page.parent)] : page.parent_record;
    write.records.push_back(
        TRY(store_->append(parent, parent < 0 ? std::string_view(page.scope) : std::string_view(),
                           page.cells, bytes_, has_state ? Bytes(state_) : Bytes())));
  }
  return {};
}

void DiskTier::fill(KvCacheStats& stats) const {
  const PageStore::Stats store = store_->stats();
  stats.on_disk = true;
  stats.disk_bytes = store.n_bytes;
  stats.disk_pages = store.n_records;
  stats.written_pages = store.n_written;
  stats.restored_pages = n_restored_pages_;
  stats.failed_restores = n_failed_restores_;
}

Result<std::unique_ptr<PageStore>> open_page_store(const KvCacheConfig& config,
                                                   const uint64_t (&model_hash)[2],
                                                   const std::string& layout,
                                                   const KvPages& pages) {
  PageStoreConfig store;
  store.folder = config.disk_folder;
  store.model_hash[0] = model_hash[0];
  store.model_hash[1] = model_hash[1];
  store.layout = layout;
  store.payload_bytes = pages.saved_bytes();
  store.state_bytes = pages.saved_state_bytes();
  store.max_bytes = config.disk_max_bytes;
  store.key = config.disk_key;
  store.note = config.note;
  return PageStore::open(store);
}

}  // namespace ruv
