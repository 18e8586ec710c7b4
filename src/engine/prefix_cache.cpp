#include "engine/prefix_cache.h"

#include <algorithm>

#include "base/allocation.h"

namespace ruv {
namespace {

CacheMiss reason_of(PrefixTree::Miss miss) {
  switch (miss) {
    case PrefixTree::Miss::none:
      return CacheMiss::none;
    case PrefixTree::Miss::diverged:
      return CacheMiss::diverged;
    case PrefixTree::Miss::evicted:
      return CacheMiss::evicted;
    case PrefixTree::Miss::unknown:
      break;
  }
  return CacheMiss::unknown;
}

}  // namespace

int64_t tenant_pages(const KvCacheConfig& config) { return pages_for(config.max_tenant_tokens); }

PrefixCache::PrefixCache(PagePool& pool, KvPages& memory, const KvCacheConfig& config,
                         const Clock& clock, std::unique_ptr<PageStore> store)
    : pool_(&pool),
      memory_(&memory),
      keeps_(config.keep_prefixes),
      disk_max_bytes_(config.disk_max_bytes),
      tree_(pool, {.max_pages_per_tenant = tenant_pages(config)}) {
  if (store == nullptr) return;
  disk_ = std::make_unique<DiskTier>(std::move(store), pool, memory, tree_, clock, config.note);
}

bool PrefixCache::uses(const Sequence& sequence) const {
  return keeps_ && sequence.params().cache_prefix;
}

// At most all but the last token: the row of that one gives the logits with which the answer
// begins.
void PrefixCache::match(const Sequence& sequence) {
  const auto look = [&] {
    sequence.make_cells(key_);
    tree_.match(sequence.scope(), std::span(key_).first(key_.size() - 1), match_);
  };
  if (!try_allocating(look)) {
    match_ = {};
    match_.miss = PrefixTree::Miss::unknown;
  }
  // Pages that are only on disk cannot be shared yet.
  const auto on_disk = [](const PrefixTree::Entry& entry) { return entry.page < 0; };
  cut_match(std::ranges::find_if(match_.entries, on_disk) - match_.entries.begin());
  cut_to_resumable(sequence);
}

void PrefixCache::cut_to_resumable(const Sequence& sequence) {
  do {
    // Checkpoints of running states are at the ends of pages.
    if (pool_->states() != nullptr) cut_match(match_.n_tokens / kPageTokens);
    cut_match(n_resumable([&](int64_t i, int64_t position) {
      return pool_->readable(match_.entries[static_cast<size_t>(i)].page, i, position);
    }));
  } while (cut_to_edge(sequence));
}

// Shortens a match that ends inside a span of rows that one step computes.
bool PrefixCache::cut_to_edge(const Sequence& sequence) {
  const int64_t edge = sequence.media().edge_before(match_.n_tokens);
  if (edge == match_.n_tokens) return false;
  match_.n_tokens = edge;
  match_.entries.resize(static_cast<size_t>(pages_for(edge)));
  return true;
}

// The most leading pages of the match after which a sequence can continue: is_readable(page,
// position) for all that its first row reads. With tails, where the row would otherwise read
// another precision than without the cache; with windows, where it would read nothing.
template <class F>
int64_t PrefixCache::n_resumable(const F& is_readable) const {
  const std::span<PageFrames> frames = pool_->frames();
  int64_t n = std::ssize(match_.entries);
  const auto is_out_of_reach = [&](int64_t i, int64_t position) {
    return std::ranges::all_of(
        frames, [&](const PageFrames& group) { return i < group.reach().first_page(position); });
  };
  for (int64_t i = n - 1; i >= 0; --i) {
    const int64_t position = std::min(match_.n_tokens, n * kPageTokens);
    if (is_out_of_reach(i, position)) break;
    if (!is_readable(i, position)) n = i;
  }
  return n;
}

// Shortens the match to its first n_pages whole pages.
void PrefixCache::cut_match(int64_t n_pages) {
  if (n_pages == std::ssize(match_.entries)) return;
  match_.miss = PrefixTree::Miss::evicted;
  match_.n_tokens = std::min(match_.n_tokens, n_pages * kPageTokens);
  match_.entries.resize(static_cast<size_t>(n_pages));
}

// Changes whenever the result of a match may have changed.
int64_t PrefixCache::n_changes() const {
  int64_t n = n_changes_;
  for (const PageFrames& group : pool_->frames()) n += group.n_evicted();
  return n;
}

// Cached in the sequence with the number of changes at which it was computed.
const CachedPrefix& PrefixCache::look_up(Sequence& sequence) {
  Sequence::Outlook& outlook = sequence.outlook();
  if (outlook.as_of == n_changes()) return outlook.cached;
  outlook.as_of = n_changes();
  outlook.cached = {};
  if (!uses(sequence)) return outlook.cached;
  match(sequence);
  if (match_.n_tokens < sequence.params().min_cache_tokens) return outlook.cached;
  outlook.cached.n_tokens = match_.n_tokens;
  outlook.cached.n_pages = match_.n_tokens / kPageTokens;
  for (int64_t i = 0; i < outlook.cached.n_pages; ++i) {
    outlook.cached.n_pinned += pool_->references(match_.entries[static_cast<size_t>(i)].page) == 1;
  }
  return outlook.cached;
}

// Counts the hit and takes the pages.
void PrefixCache::share(Sequence& sequence, int64_t now_ns) {
  if (!uses(sequence)) {
    return sequence.started(now_ns, 0, CacheMiss::off);
  }
  match(sequence);
  CacheMiss miss = reason_of(match_.miss);
  if (match_.n_tokens < sequence.params().min_cache_tokens) {
    if (match_.n_tokens > 0) miss = CacheMiss::too_few;
    match_.n_tokens = 0;
  }
  if (!try_allocating([&] { hold_match(sequence); })) {
    sequence.pages().clear();
    match_.n_tokens = 0;
  }
  ++n_changes_;
  tree_.touch(sequence.scope(), std::span(key_).first(static_cast<size_t>(match_.n_tokens)));
  ++lookups_;
  hits_ += match_.n_tokens > 0;
  prompt_tokens_ += sequence.n_tokens();
  reused_tokens_ += match_.n_tokens;
  sequence.started(now_ns, match_.n_tokens, miss);
}

// Gives the sequence the pages of match_. The last one is left out if there is no page for a copy
// of it: the match itself may occupy the whole pool. Fewer tokens may then reach further back.
void PrefixCache::hold_match(Sequence& sequence) {
  const int64_t n_whole = match_.n_tokens / kPageTokens;
  for (int64_t i = 0; i < n_whole; ++i) {
    sequence.pages().share(match_.entries[static_cast<size_t>(i)].page);
  }
  sequence.pages().pin(match_.n_tokens, n_whole * kPageTokens);
  if (match_.n_tokens % kPageTokens == 0) return;
  const PageId from = match_.entries[static_cast<size_t>(n_whole)].page;
  pool_->share(from);  // making room must not take it
  const Undo release([&] { pool_->release(from); });
  const bool copied = make_room(1) && sequence.pages().append_copy(from, *memory_);
  if (copied) return;
  sequence.pages().clear();
  cut_match(n_whole);
  cut_to_resumable(sequence);
  hold_match(sequence);
}

// Caches the whole pages and the partly filled last one.
void PrefixCache::keep(Sequence& sequence) {
  if (!uses(sequence) || sequence.n_computed() < sequence.params().min_cache_tokens) return;
  const auto n = static_cast<size_t>(sequence.n_computed());
  const auto n_pages = static_cast<size_t>(pages_for(sequence.n_computed()));
  ++n_changes_;
  // What is not kept is computed again.
  (void)try_allocating([&] {
    sequence.make_cells(key_);
    tree_.insert(sequence.scope(), std::span(key_).first(n),
                 sequence.pages().exchangeable().first(n_pages), true);
  });
}

bool PrefixCache::begin_restore(const Sequence& sequence) {
  if (disk_ == nullptr || !uses(sequence)) return false;
  Restore restore;
  bool begun = false;
  const auto begin = [&] {
    if (!plan_restore(sequence, restore)) return;
    disk_->begin(restore);
    begun = true;
  };
  if (!try_allocating(begin)) disk_->give_up(restore);
  return begun;
}

// As many of the first n pages as the sequence could resume after if they came from disk. Such
// pages have no tails: of tiered types only whole groups are useful.
int64_t PrefixCache::n_restorable(const Sequence& sequence, int64_t n) const {
  const int64_t unit = memory_->tails() != nullptr ? kGroupPages : 1;
  for (;;) {
    n = n / unit * unit;
    const int64_t edge = sequence.media().edge_before(n * kPageTokens);
    if (edge == n * kPageTokens) return n;
    n = edge / kPageTokens;
  }
}

// What is read: pages that are only on disk, and those that lack their frame in a window.
bool PrefixCache::plan_restore(const Sequence& sequence, Restore& restore) {
  sequence.make_cells(key_);
  const std::span<const PrefixCell> cells =
      std::span(key_).first((key_.size() - 1) / kPageTokens * kPageTokens);
  tree_.match(sequence.scope(), cells, match_);
  const auto is_readable = [&](int64_t i, int64_t position) {
    const PrefixTree::Entry& entry = match_.entries[static_cast<size_t>(i)];
    if (entry.page >= 0 && pool_->readable(entry.page, i, position)) return true;
    return entry.record >= 0 && (!needs_state(i, position) || disk_->has_state(entry.record));
  };
  // Fewer pages may end where other groups lack what a row reads.
  for (int64_t n = match_.n_tokens / kPageTokens, before = -1; n != before;) {
    before = n_restorable(sequence, n);
    match_.entries.resize(static_cast<size_t>(before));
    match_.n_tokens = before * kPageTokens;
    n = n_resumable(is_readable);
  }
  const int64_t position = std::ssize(match_.entries) * kPageTokens;
  const auto must_be_read = [&](size_t i) {
    const PageId page = match_.entries[i].page;
    return page < 0 || !pool_->readable(page, static_cast<int64_t>(i), position);
  };
  size_t n_pages = match_.entries.size();
  while (n_pages > 0 && !must_be_read(n_pages - 1)) --n_pages;
  if (n_pages == 0) return false;
  match_.entries.resize(n_pages);
  restore.id = sequence.id();
  restore.scope = sequence.scope();
  restore.cells.assign(cells.begin(), cells.begin() + std::ssize(match_.entries) * kPageTokens);
  for (size_t i = 0; i < n_pages; ++i) {
    restore.records.push_back(must_be_read(i) ? match_.entries[i].record : -1);
    restore.groups.push_back(must_be_read(i) ? groups_read(static_cast<int64_t>(i), position) : 0);
  }
  return hold_for_restore(restore);
}

// Whether a row at `position` reads the running states at the end of page i.
bool PrefixCache::needs_state(int64_t i, int64_t position) const {
  const PageFrames* const states = pool_->states();
  return states != nullptr && i >= states->reach().first_page(position);
}

// The groups of page i that a row at `position` reads.
KvPages::Groups PrefixCache::groups_read(int64_t i, int64_t position) const {
  KvPages::Groups groups = 1;
  for (size_t w = 0; w < memory_->saved().size(); ++w) {
    const bool in_reach = i >= memory_->saved()[w]->reach().first_page(position);
    groups |= KvPages::Groups{in_reach} << (w + 1);
  }
  return groups;
}

// Takes a hold on the pages in memory, and reserves pages and frames for those that are read.
// Nothing throws once the first page is held.
bool PrefixCache::hold_for_restore(Restore& restore) {
  const size_t n = restore.records.size();
  const auto is_read = [&](size_t i) { return restore.records[i] >= 0; };
  const auto n_read = std::ssize(restore.records) - std::ranges::count(restore.records, -1);
  std::vector<PageId> fresh, shared;
  fresh.reserve(static_cast<size_t>(n_read));
  shared.reserve(n);
  restore.pages.reserve(n);
  restore.in_memory.reserve(n);
  for (const PrefixTree::Entry& entry : match_.entries) {
    if (entry.page < 0) continue;
    pool_->share(entry.page);  // making room must not take it
    shared.push_back(entry.page);
  }
  if (make_room(n_read) && pool_->reserve(n_read, fresh)) {
    auto next_fresh = fresh.begin();
    for (size_t i = 0; i < n; ++i) {
      const PageId page = match_.entries[i].page;
      if (is_read(i) && page >= 0) restore.in_memory.push_back(page);
      restore.pages.push_back(is_read(i) ? *next_fresh++ : page);
    }
    if (disk_->hold_frames(restore)) return true;
    for (const PageId page : fresh) pool_->release(page);
  }
  for (const PageId page : shared) pool_->release(page);
  return false;
}

void PrefixCache::poll(const std::function<void(RequestId)>& on_restored) {
  if (disk_ == nullptr) return;
  disk_->poll([&](uint64_t id) {
    ++n_changes_;
    on_restored(id);
  });
}

void PrefixCache::set_on_result(const std::function<void()>& on_result) {
  if (disk_ != nullptr) disk_->set_on_result(on_result);
}

bool PrefixCache::make_room(int64_t n_pages) {
  if (pool_->n_free() >= n_pages) return true;
  ++n_changes_;
  tree_.evict(n_pages - pool_->n_free());
  return pool_->n_free() >= n_pages;
}

void PrefixCache::fill(KvCacheStats& stats) const {
  stats.cached_pages = pool_->n_cached();
  stats.evictable_pages = pool_->n_evictable();
  const PrefixTree::Stats tree = tree_.stats();
  stats.cached_tokens = tree.known_tokens;
  stats.index_bytes = tree.index_bytes;
  stats.evicted_pages = tree.evicted_pages;
  stats.disk_max_bytes = disk_max_bytes_;
  if (disk_ != nullptr) disk_->fill(stats);
  stats.lookups = lookups_;
  stats.hits = hits_;
  stats.prompt_tokens = prompt_tokens_;
  stats.reused_tokens = reused_tokens_;
}

}  // namespace ruv
