// TenantLedger: how much service each tenant got, so that those who got less go first: virtual
// token counters (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024). A token of
// a prompt weighs 1, a generated one 2. A tenant that was idle does not save up: when it queues
// again its counter is lifted to the least of those that queue.
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

  // max_pages: of each tenant's running sequences; 0: no quota.
  explicit TenantLedger(int64_t max_pages = 0) : max_pages_(max_pages) {}

  // A request of this tenant begins: its index into views(), which stays as long as it has
  // requests.
  int32_t open(std::string_view name);
  // It ended. Requires: it is not queued.
  void close(int32_t tenant);

  // One of its requests waits (again); starts; waits no longer, since it was cancelled. The whole
  // prompt, without what the cache had, is charged when it first starts, so that a tenant cannot
  // start many before it pays. n_prompt: 0 when it starts again.
  void queue(int32_t tenant, int64_t now_ms);
  void start(int32_t tenant, int64_t n_prompt, int64_t now_ms);
  void leave_queue(int32_t tenant);
  void generated(int32_t tenant, int64_t n_tokens);

  // Indexed by tenant; entries that nobody has are meaningless.
  const std::vector<TenantView>& views(int64_t now_ms);
  // Tenants it remembers: those with requests and a bounded number of others.
  int64_t n_known() const { return static_cast<int64_t>(indexes_.size()); }

 private:
  // Names are made by clients: those of idle tenants must not pile up.
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
