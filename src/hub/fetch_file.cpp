// The caller's thread watches; some threads each fetch one range after another; one thread hashes
// what is whole from the beginning on, and now and then has the disk keep what is here.
#include "hub/fetch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/patch_file.h"
#include "base/thread.h"
#include "base/tree.h"
#include "hub/byte_ranges.h"
#include "hub/content_range.h"
#include "hub/range_journal.h"

namespace ruv {
namespace {

constexpr uint64_t kNoteBytes = 1 << 20;  // written between two notes of a range
constexpr size_t kHashBytes = 1 << 20;
constexpr int64_t kSyncNs = 10'000'000'000;
constexpr std::chrono::milliseconds kWatch(100);
constexpr uint64_t kSpareBytes = 16 << 20;  // of disk, beside the file

// All that the threads share.
struct FetchWork {
  HubHttp& http;
  const FetchCall& call;
  const PatchFile& file;
  RangeJournal& journal;
  Cancellation stop = {};

  Mutex mutex = {};
  Condition changed = {};
  // All below under `mutex`.
  ByteRanges here = {};
  std::deque<ByteRange> pieces = {};
  std::string url = {};  // where redirects led; empty: to be found again
  int n_running = 0;
  Status failure = {};
  std::string digest = {};  // empty: not all is hashed
  bool no_ranges = false;   // the server sends whole files only

  bool is_ended() const { return !failure.ok(); }
};

void end_with(FetchWork& work, Status status) {
  const Lock lock(work.mutex);
  if (work.failure.ok()) work.failure = std::move(status);
  work.stop.cancel();
  work.changed.notify_all();
}

// One answer to a request for a range.
class RangeAnswer {
 public:
  RangeAnswer(FetchWork& work, ByteRange range) : work_(work), range_(range) {}

  uint64_t at() const { return at_; }
  const HttpAnswerHead& head() const { return head_; }

  Status take_head(const HttpAnswerHead& head) {
    head_ = head;
    TRY(status_of_answer(head, work_.call.name));
    const std::string_view encoding = head.header("content-encoding");
    if (!encoding.empty() && encoding != "identity")
      return fail(Code::unsupported, "{}: the answer is packed, which was not asked for",
                  work_.call.name);
    if (head.status == 206)
      return check_content_range(head.header("content-range"), range_, work_.call.n_bytes);
    if (range_ == ByteRange{0, work_.call.n_bytes}) return {};
    const Lock lock(work_.mutex);
    work_.no_ranges = true;
    return fail(Code::unsupported, "{}: the server sends no ranges", work_.call.name);
  }

  Status take_body(std::string_view bytes) {
    if (bytes.size() > range_.end - at_)
      return fail(Code::corrupt, "{}: the server sends more than was asked for", work_.call.name);
    TRY(work_.file.write_at(at_, as_bytes(bytes)));
    at_ += bytes.size();
    if (at_ - noted_ >= kNoteBytes || at_ == range_.end) return note();
    return {};
  }

  // What is written but not noted yet.
  Status note() {
    if (at_ == noted_) return {};
    const Lock lock(work_.mutex);
    TRY(work_.journal.note({noted_, at_}));
    work_.here.add({noted_, at_});
    noted_ = at_;
    work_.changed.notify_all();
    return {};
  }

 private:
  FetchWork& work_;
  const ByteRange range_;
  uint64_t at_ = range_.begin;
  uint64_t noted_ = range_.begin;
  HttpAnswerHead head_;
};

// Asks for a range once. What arrived is off `range` afterwards.
Status fetch_range_once(FetchWork& work, ByteRange& range, int64_t& asked_ms) {
  std::string url;
  {
    const Lock lock(work.mutex);
    url = work.url.empty() ? work.call.url : work.url;
  }
  HttpExchange exchange;
  exchange.method = "GET";
  exchange.url = url;
  exchange.headers = work.call.headers;
  exchange.headers.push_back(fmt::format("Range: bytes={}-{}", range.begin, range.end - 1));
  exchange.timeout_ms = 0;
  RangeAnswer answer(work, range);
  HttpAnswerSink sink;
  sink.on_head = [&](const HttpAnswerHead& head) { return answer.take_head(head); };
  sink.on_body = [&](std::string_view bytes) { return answer.take_body(bytes); };
  std::string final_url;
  Status status = work.http.exchange(exchange, sink, &final_url, &work.stop);
  const Status noted = answer.note();
  range.begin = answer.at();
  asked_ms = asked_wait_ms(answer.head());
  const Lock lock(work.mutex);
  if (status.ok()) {
    work.url = final_url;
    status = noted;
  } else if (url != work.call.url || (!final_url.empty() && final_url != url)) {
    // A signed URL may have expired. Another thread may have noticed before.
    if (work.url == url) work.url.clear();
    const int code = answer.head().status;
    if (code == 401 || code == 403 || code == 404 || code == 410)
      return fail(Code::unavailable, "{}", status.message());
  }
  return status;
}

// Tries until the range is here.
Status fetch_range(FetchWork& work, ByteRange range) {
  for (int n_failed = 0; range.begin < range.end;) {
    const uint64_t before = range.begin;
    int64_t asked_ms = 0;
    const Status status = fetch_range_once(work, range, asked_ms);
    if (status.ok() && range.begin == range.end) break;
    if (!status.ok() && !may_try_again(status)) return status;
    n_failed = range.begin > before ? 0 : n_failed + 1;
    if (n_failed > work.http.options().retries) {
      return status.ok() ? fail(Code::unavailable, "{}: the server sends nothing", work.call.name)
                         : status;
    }
    if (!work.http.wait_for_try(n_failed, asked_ms, &work.stop))
      return fail(Code::cancelled, "{}: cancelled", work.call.name);
  }
  return {};
}

// A thread's work: one piece after another until none is left or one failed for good.
void fetch_pieces(FetchWork& work) {
  for (;;) {
    ByteRange piece;
    {
      const Lock lock(work.mutex);
      if (work.is_ended() || work.pieces.empty()) break;
      piece = work.pieces.front();
      work.pieces.pop_front();
    }
    const Status status = fetch_range(work, piece);
    if (status.ok()) continue;
    end_with(work, status);
    break;
  }
  const Lock lock(work.mutex);
  --work.n_running;
  work.changed.notify_all();
}

// The end of what is here without a gap, once there is more to hash; nothing: the work ended.
std::optional<uint64_t> next_prefix(FetchWork& work, uint64_t hashed) {
  Lock lock(work.mutex);
  for (;;) {
    const uint64_t prefix = work.here.prefix();
    const bool is_all = prefix == work.call.n_bytes;
    if (work.is_ended()) return std::nullopt;
    if (is_all || prefix - hashed >= kHashBytes) return prefix;
    work.changed.wait_for(lock, kWatch);
  }
}

// What is here when this begins survives a loss of power when it has ended.
Status sync_now(FetchWork& work) {
  ByteRanges here;
  {
    const Lock lock(work.mutex);
    here = work.here;
  }
  TRY(work.file.sync());
  const Lock lock(work.mutex);
  return work.journal.note_safe(here);
}

// Follows the fetching threads, so that little is left to hash when they have ended.
Status hash_all(FetchWork& work) {
  DigestStream digest = TRY(DigestStream::start(work.call.digest.kind, work.call.n_bytes));
  std::vector<std::byte> piece(kHashBytes);
  const SteadyClock clock;
  int64_t next_sync = clock.now_ns() + kSyncNs;
  for (uint64_t hashed = 0; hashed < work.call.n_bytes;) {
    const std::optional<uint64_t> prefix = next_prefix(work, hashed);
    if (!prefix) return {};
    while (hashed < *prefix) {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(kHashBytes, *prefix - hashed));
      TRY(work.file.read_at(hashed, {piece.data(), n}));
      digest.add({piece.data(), n});
      hashed += n;
    }
    if (clock.now_ns() < next_sync || hashed == work.call.n_bytes) continue;
    TRY(sync_now(work));
    next_sync = clock.now_ns() + kSyncNs;
  }
  const Lock lock(work.mutex);
  work.digest = digest.finish();
  work.changed.notify_all();
  return {};
}

// Until all threads have ended.
void watch(FetchWork& work, std::vector<Thread>& threads) {
  Lock lock(work.mutex);
  for (;;) {
    const bool is_done = work.n_running == 0 && (work.is_ended() || !work.digest.empty());
    if (is_done) break;
    const uint64_t n_here = work.here.n_bytes();
    lock.unlock();
    const bool stops =
        work.http.cancellation().is_cancelled() || (work.call.watch && !work.call.watch(n_here));
    if (stops) end_with(work, {Code::cancelled, work.call.name + ": stopped"});
    lock.lock();
    if (stops && work.n_running == 0) break;
    work.changed.wait_for(lock, kWatch);
  }
  lock.unlock();
  for (Thread& thread : threads) thread.join();
}

// Returns the digest of the whole file.
Result<std::string> fetch_all(FetchWork& work) {
  const uint64_t n_bytes = work.call.n_bytes;
  const uint64_t piece = work.call.connections == 1 ? n_bytes : work.call.piece_bytes;
  for (const ByteRange& range : pieces_of(work.here, n_bytes, std::max<uint64_t>(piece, 1)))
    work.pieces.push_back(range);
  const int wanted = static_cast<int>(
      std::min<size_t>(static_cast<size_t>(work.call.connections), work.pieces.size()));
  std::vector<Thread> threads;
  for (int i = 0; i < wanted; ++i) {
    Thread thread;
    {
      const Lock lock(work.mutex);
      ++work.n_running;
    }
    if (start_thread(thread, [&work] { fetch_pieces(work); })) {
      threads.push_back(std::move(thread));
      continue;
    }
    const Lock lock(work.mutex);
    --work.n_running;
    if (i == 0) work.failure = {Code::out_of_memory, "the system starts no thread"};
    break;
  }
  Thread hasher;
  const bool hashes = start_thread(hasher, [&work] {
    const Status status = hash_all(work);
    if (!status.ok()) end_with(work, status);
  });
  if (hashes) {
    threads.push_back(std::move(hasher));
  } else {
    end_with(work, {Code::out_of_memory, "the system starts no thread"});
  }
  watch(work, threads);
  TRY(work.failure);
  return work.digest;
}

void forget_unfinished(const FetchCall& call) {
  remove_file(journal_path(call.path));
  remove_file(unfinished_path(call.path));
}

// What another program began is ours from now on: a file without gaps.
Status take_over(const FetchCall& call, RangeJournal& journal, ByteRanges& here) {
  if (call.begun_path.empty() || here.n_bytes() > 0) return {};
  const Result<FileStamp> stamp = stamp_of(call.begun_path);
  if (!stamp || stamp->n_bytes == 0 || stamp->n_bytes > call.n_bytes) return {};
  TRY(rename_file(call.begun_path, unfinished_path(call.path)));
  here.add({0, stamp->n_bytes});
  return journal.note({0, stamp->n_bytes});
}

Status check_room(const FetchCall& call, uint64_t n_missing) {
  const std::string folder = call.path.substr(0, call.path.rfind('/'));
  const DiskRoom room = TRY(disk_room(folder));
  if (static_cast<uint64_t>(std::max<int64_t>(room.n_free, 0)) >= n_missing + kSpareBytes)
    return {};
  return fail(Code::out_of_memory, "{}: {} bytes are missing, but {} has room for {}", call.name,
              n_missing, folder, room.n_free);
}

struct FetchEnd {
  std::string digest;
  bool continued = false;  // some of it was here before
  bool no_ranges = false;
};

Result<FetchEnd> fetch_unfinished(HubHttp& http, const FetchCall& call, FetchEnd& end) {
  RangeJournal journal =
      TRY(RangeJournal::open(journal_path(call.path), call.n_bytes, machine_start_id()));
  ByteRanges here = journal.found().here;
  TRY(take_over(call, journal, here));
  const PatchFile file = TRY(PatchFile::open(unfinished_path(call.path)));
  // A file that is shorter than its journal says is not the one that it was written for.
  if (TRY(file.size()) < (here.n_bytes() == 0 ? 0 : here.ranges().back().end)) here = {};
  TRY(check_room(call, call.n_bytes - here.n_bytes()));
  end.continued = here.n_bytes() > 0;
  TRY(file.resize(call.n_bytes));
  FetchWork work{http, call, file, journal};
  work.here = std::move(here);
  Result<std::string> digest = fetch_all(work);
  end.no_ranges = work.no_ranges;
  if (!digest) return tl::unexpected(digest.error());
  end.digest = *digest;
  // The digest is right or the file goes; the journal stays until the disk has all of it.
  if (end.digest == call.digest.hex) TRY(journal.note_whole());
  return end;
}

Status fetch_verified(HubHttp& http, const FetchCall& call, FetchEnd& end) {
  TRY(fetch_unfinished(http, call, end));
  if (end.digest == call.digest.hex) return rename_file(unfinished_path(call.path), call.path);
  forget_unfinished(call);
  return fail(Code::corrupt,
              "{}: its bytes hash to {} and not to {}, which the hub names; they were removed",
              call.name, end.digest, call.digest.hex);
}

}  // namespace

std::string unfinished_path(const std::string& path) { return path + ".ruvllm.incomplete"; }
std::string journal_path(const std::string& path) { return path + ".ruvllm.ranges"; }

int64_t fetched_bytes(const std::string& path) {
  const Result<FileStamp> stamp = stamp_of(unfinished_path(path));
  const Result<std::string> journal = read_text_file(journal_path(path));
  if (!stamp || !journal) return 0;
  const JournalState state = read_journal(*journal, stamp->n_bytes, machine_start_id());
  return static_cast<int64_t>(state.here.n_bytes());
}

Status fetch_file(HubHttp& http, const FetchCall& call) {
  FetchEnd end;
  FetchCall now = call;
  Status status = fetch_verified(http, now, end);
  if (end.no_ranges) {
    // Once more from the beginning, in one answer.
    forget_unfinished(call);
    now.connections = 1;
    now.begun_path.clear();
    status = fetch_verified(http, now, end);
  }
  // What was here before may be to blame; once more without it.
  if (status.code() == Code::corrupt && end.continued && !end.digest.empty()) {
    now.begun_path.clear();
    status = fetch_verified(http, now, end);
  }
  return status;
}

Status check_after_power_loss(const std::string& path, const FileDigest& digest) {
  const std::string journal = journal_path(path);
  if (!file_exists(journal) || file_exists(unfinished_path(path))) return {};
  const FileStamp stamp = TRY(stamp_of(path));
  const std::string text = TRY(read_text_file(journal));
  if (!read_journal(text, stamp.n_bytes, machine_start_id()).whole) {
    if (TRY(digest_of_file(path, digest.kind)) != digest.hex) {
      remove_file(path);
      remove_file(journal);
      return fail(Code::corrupt, "{}: damaged by a loss of power, and removed; pull it again",
                  path);
    }
  }
  TRY(TRY(PatchFile::open(path)).sync());
  remove_file(journal);
  return {};
}

}  // namespace ruv
