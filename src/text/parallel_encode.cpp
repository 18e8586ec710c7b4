// The caller cuts the text into stretches and sends their tokens in order; others encode them.
// Only a few stretches are under way at a time, so that what they hold is little beside the text.
#include "text/parallel_encode.h"

#include <deque>

#include "base/allocation.h"
#include "base/machine.h"
#include "base/thread.h"

namespace ruv {
namespace {

// A few hundred kB are held for each while it is under way; shorter ones make threads wait for one
// another.
constexpr size_t kStretchBytes = size_t{1} << 13;
// A word without an end. Its tokens go straight to the sink, which may keep them in less room.
constexpr size_t kLongStretchBytes = 16 * kStretchBytes;

struct Stretch {
  std::vector<Word> words;
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;
  TokenSink sink{nullptr};
  bool done = false;
};

class Stretches {
 public:
  Stretches(const WordWork& work, int n_threads, TokenSink& sink)
      : work_(work), window_(2 * static_cast<size_t>(n_threads) + 2), begin_(sink), sink_(sink) {}

  // The caller's part: returns when all tokens are sent or a thread failed.
  void run() {
    for (size_t at = 0; cut(at);) {
      const bool is_long = n_cut_bytes_ >= kLongStretchBytes;
      const size_t n_wait = is_long ? 0 : window_ - 1;
      while (n_under_way() > n_wait) {
        if (!advance()) return;
      }
      if (is_long) {
        sink_.move_to(begin_.at());
        work_.encode(cut_, sink_);
      } else {
        add();
      }
    }
    finish();
    while (advance()) continue;
  }
  // The others': until no stretches will come.
  void encode_all() {
    while (Stretch* next = take(Wait::yes)) encode(*next);
  }
  // No more stretches come. `failed`: memory ran out in a thread, so the others stop.
  void finish(bool failed = false) {
    {
      const Lock lock(mutex_);
      ended_ = true;
      failed_ = failed_ || failed;
    }
    changed_.notify_all();
  }
  bool failed() const { return failed_; }

 private:
  enum class Wait { no, yes };

  // Only the caller adds and removes.
  size_t n_under_way() const { return stretches_.size(); }

  // The words of the next stretch. False: the text is cut.
  bool cut(size_t& at) {
    cut_.clear();
    n_cut_bytes_ = 0;
    while (n_cut_bytes_ < kStretchBytes && work_.next_words(at, words_)) {
      cut_.insert(cut_.end(), words_.begin(), words_.end());
      n_cut_bytes_ += words_.back().end - words_.front().begin;
    }
    return !cut_.empty();
  }
  void add() {
    {
      const Lock lock(mutex_);
      Stretch& stretch = stretches_.emplace_back();
      stretch.words = cut_;
      stretch.sink = begin_.part(stretch.ids, stretch.spans);
    }
    changed_.notify_all();
  }
  // Sends the first stretch, or helps to get there. False: there is none, or a thread failed.
  bool advance() {
    {
      Lock lock(mutex_);
      if (stretches_.empty() || failed_) return false;
      const auto is_first_done = [&] { return stretches_.front().done; };
      if (n_taken_ == stretches_.size()) {
        changed_.wait(lock, [&] { return is_first_done() || failed_; });
      }
      if (!is_first_done()) {
        lock.unlock();
        if (Stretch* next = take(Wait::no)) encode(*next);
        return true;
      }
    }
    sink_.take(stretches_.front().sink);
    const Lock lock(mutex_);
    stretches_.pop_front();
    --n_taken_;
    return true;
  }
  Stretch* take(Wait wait) {
    Lock lock(mutex_);
    const auto is_there = [&] { return n_taken_ < stretches_.size(); };
    if (wait == Wait::yes) {
      changed_.wait(lock, [&] { return is_there() || ended_ || failed_; });
    }
    return is_there() && !failed_ ? &stretches_[n_taken_++] : nullptr;
  }
  void encode(Stretch& stretch) {
    work_.encode(stretch.words, stretch.sink);
    {
      const Lock lock(mutex_);
      stretch.done = true;
    }
    changed_.notify_all();
  }

  const WordWork& work_;
  const size_t window_;
  const TokenSink begin_;  // the sink's position before the text
  TokenSink& sink_;
  std::vector<Word> words_;
  std::vector<Word> cut_;  // the next stretch
  size_t n_cut_bytes_ = 0;
  Mutex mutex_;
  Condition changed_;
  std::deque<Stretch> stretches_;  // a deque, so that they stay where they are
  size_t n_taken_ = 0;             // of them
  bool ended_ = false;
  bool failed_ = false;
};

}  // namespace

int threads_for(size_t n_bytes, const TokenSink& sink) {
  if (n_bytes < kParallelBytes) return 1;
  return sink.thread_limit() > 0 ? sink.thread_limit() : available_cores();
}

void parallel_encode(const WordWork& work, int n_threads, TokenSink& sink) {
  Stretches stretches(work, n_threads, sink);
  std::vector<Thread> threads;
  const auto encode_all = [&] {
    if (!try_allocating([&] { stretches.encode_all(); })) stretches.finish(true);
  };
  const bool done = try_allocating([&] {
    threads.resize(static_cast<size_t>(n_threads) - 1);
    for (Thread& thread : threads) {
      if (!start_thread(thread, encode_all)) break;  // those that run do the others' work
    }
    stretches.run();
  });
  if (!done) stretches.finish(true);
  for (Thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  if (stretches.failed()) throw_out_of_memory();
}

}  // namespace ruv
