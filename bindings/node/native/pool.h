// Pool: threads for work that waits. libuv's own pool has four threads, which files and names of
// hosts need; a call here may wait for minutes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace ruv_node {

class Pool {
 public:
  using Task = std::function<void()>;

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // stop() was called before.
  ~Pool() = default;

  // Runs a task at once: on an idle thread, or a new one. After stop() the caller's thread runs it.
  // Throws std::system_error where no thread can be started; the task is dropped then.
  void run(Task task);
  // Waits for the end of all tasks and threads.
  void stop();

 private:
  // More idle threads than this end.
  static constexpr size_t kMaxIdle = 4;

  void start_thread();
  void work(std::list<std::thread>::iterator self);

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::list<std::thread> threads_;
  std::list<std::thread> ended_;  // to be joined
  size_t n_idle_ = 0;
  bool stopping_ = false;
};

}  // namespace ruv_node
