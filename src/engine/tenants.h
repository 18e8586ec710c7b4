// TenantLedger: counts the service that each tenant received, so that the scheduler can prefer
// those that received less. These are the virtual token counters of Sheng et al., "Fairness in
// Serving Large Language Models", OSDI 2024: a prompt token weighs 1, a generated one 2. An idle
// tenant does not save up credit: when it queues again, its counter is lifted to the least counter
// of those that queue. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/schedule.h"

namespace ruv {

class TenantLedger {
 public:
  static constexpr double kPromptWeight = 1;
  static constexpr double kGeneratedWeight = 2;

  // max_pages: pages that the running sequences of one tenant may hold; 0: no quota.
  explicit TenantLedger(int64_t max_pages = 0) : max_pages_(max_pages) {}

  // Registers a request of this tenant. Returns its index into views(), which stays valid while the
  // tenant has requests.
  int32_t open(std::string_view name);
  // The request has ended. Requires: it is not queued.
  void close(int32_t tenant);

  // A request waits (again), starts, or leaves the queue because it was cancelled. The computed
  // part of the prompt is charged when the request first starts, so that a tenant cannot start many
  // before paying. n_prompt: 0 when it starts again.
  void queue(int32_t tenant, int64_t now_ms);
  void start(int32_t tenant, int64_t n_prompt, int64_t now_ms);
  void leave_queue(int32_t tenant);
  void generated(int32_t tenant, int64_t n_tokens);

  // Indexed by tenant; unused entries are meaningless.
  const std::vector<TenantView>& views(int64_t now_ms);
  // Number of tenants remembered: those with requests and a bounded number of others.
  int64_t n_known() const { return static_cast<int64_t>(indexes_.size()); }

 private:
  // Clients invent names, so idle tenants must not accumulate.
  static constexpr size_t kMaxIdle = 1024;
  struct Account {
    std::string name;
    int64_t n_requests = 0;
    int64_t n_queued = 0;
    int64_t unserved_since_ms = 0;
  };
  void forget_idle();

  int64_t max_pages_;
  std::map<std::string, int32_t, std::less<>> indexes_;
  std::vector<Account> accounts_;
  std::vector<TenantView> views_;
  std::vector<int32_t> unused_;
  size_t n_idle_ = 0;
  double served_of_last_ = 0;  // of the tenant that left the queue last
};

}  // namespace ruv
