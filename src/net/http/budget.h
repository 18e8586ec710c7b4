// ServerBudget: the one place that knows how much memory requests may take together, and how much
// they take now. What is asked for and does not fit is refused; nothing waits for room.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ruv {

// What the memory is for. Each use has a limit of its own, so that none can starve the others.
enum class BudgetUse : uint8_t {
  bodies,   // bytes of bodies that have arrived, until their route is done with them
  parsing,  // what a route may need to read its body: kParseBytesPerBodyByte for each byte
  answers,  // bytes of answers that wait for their clients
};

// A body of JSON and what is made of it (values, texts, ids) take at most about this much memory
// for each of its bytes while a route works on it.
inline constexpr uint64_t kParseBytesPerBodyByte = 24;
// So much of an answer may always wait, however much the others take: no client that reads is given
// up because of those that do not.
inline constexpr uint64_t kOwnAnswerBytes = 64 << 10;

struct BudgetLimits {
  uint64_t bodies = 128ULL << 20;
  uint64_t parsing = 512ULL << 20;
  uint64_t answers = 256ULL << 20;
};

// Any thread.
class ServerBudget {
 public:
  explicit ServerBudget(const BudgetLimits& limits)
      : limits_{limits.bodies, limits.parsing, limits.answers} {}
  ServerBudget(const ServerBudget&) = delete;
  ServerBudget& operator=(const ServerBudget&) = delete;

  uint64_t taken(BudgetUse use) const { return taken_[index(use)]; }

 private:
  friend class BudgetShare;
  static constexpr size_t index(BudgetUse use) { return static_cast<size_t>(use); }
  bool take(BudgetUse use, uint64_t n_bytes);
  void give_back(BudgetUse use, uint64_t n_bytes) { taken_[index(use)] -= n_bytes; }

  std::array<uint64_t, 3> limits_;
  std::array<std::atomic<uint64_t>, 3> taken_{};
};

// What one request has taken of a budget; given back when it is destroyed. Used by one thread at a
// time. The budget must outlive it.
class BudgetShare {
 public:
  BudgetShare(ServerBudget& budget, BudgetUse use) : budget_(&budget), use_(use) {}
  BudgetShare(BudgetShare&& other) noexcept
      : budget_(other.budget_), use_(other.use_), n_bytes_(std::exchange(other.n_bytes_, 0)) {}
  BudgetShare& operator=(BudgetShare&&) = delete;
  ~BudgetShare() { budget_->give_back(use_, n_bytes_); }

  // From now on the share is n_bytes. False, and as it was, when there is no room for more.
  bool resize(uint64_t n_bytes);
  uint64_t bytes() const { return n_bytes_; }

 private:
  ServerBudget* budget_;
  BudgetUse use_;
  uint64_t n_bytes_ = 0;
};

}  // namespace ruv
