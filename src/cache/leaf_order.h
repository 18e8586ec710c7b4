// LeafOrder: the ends of what the prefix tree has in memory, least valuable first: of all, and of
// each tenant. Changing an entry allocates nothing, so that making room cannot fail.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

namespace ruv {

// A node whose page no page below depends on. Of equal values the one used longer ago goes first.
struct TreeLeaf {
  int64_t value = 0;
  int64_t used = 0;
  int32_t node = 0;
  int64_t tenant = 0;

  bool operator<(const TreeLeaf& other) const {
    return std::tie(value, used, node) < std::tie(other.value, other.used, other.node);
  }
};

class LeafOrder {
 public:
  // by_tenant: also keep the order within each tenant, which after() needs when asked for one.
  explicit LeafOrder(bool by_tenant) : by_tenant_(by_tenant) {}

  // Either enters it or throws std::bad_alloc with nothing changed.
  void add(const TreeLeaf& leaf);
  // Puts `now` in the place of `old`, which is known.
  void replace(const TreeLeaf& old, const TreeLeaf& now) noexcept;
  void remove(const TreeLeaf& leaf) noexcept;

  // The first leaf above `at`, of all tenants or (tenant >= 0) of one. O(log n).
  std::optional<TreeLeaf> after(const TreeLeaf& at, int64_t tenant) const;
  bool contains(const TreeLeaf& leaf) const { return all_.contains(leaf); }
  int64_t size() const { return static_cast<int64_t>(all_.size()); }
  bool by_tenant() const { return by_tenant_; }

 private:
  struct TenantFirst {
    bool operator()(const TreeLeaf& a, const TreeLeaf& b) const {
      return a.tenant != b.tenant ? a.tenant < b.tenant : a < b;
    }
  };
  bool by_tenant_;
  std::set<TreeLeaf> all_;
  std::set<TreeLeaf, TenantFirst> of_tenants_;  // the same, when asked for
};

}  // namespace ruv
