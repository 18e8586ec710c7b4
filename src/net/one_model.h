// For tests: a server with one model, which is always loaded.
#pragma once

#include <mutex>
#include <utility>

#include "net/models/served_models.h"
#include "net/openai/adapter_choice.h"

namespace ruv {

class OneModel final : public ServedModels {
 public:
  // The service must outlive all requests.
  explicit OneModel(const OpenAiService& service) : service_(service) {}

  const ServerParts& parts() const override { return service_; }
  std::vector<ModelState> list() const override {
    return {{.names = service_.names,
             .phase = ModelPhase::loaded,
             .info = service_.text->info(),
             .created = service_.created}};
  }
  void with_model(const std::string& name, uint64_t, Use use) override { use(loaded(name)); }
  ApiResult<ServiceLease> loaded(const std::string& name) const override {
    if (name.empty() || is_named(service_.names, name) || names_adapter(service_, name))
      return ServiceLease(std::shared_ptr<void>(), &service_);
    return tl::unexpected(no_such_model(name, list()));
  }
  void unload(const std::string& name, Done done) override {
    if (const auto found = loaded(name); !found) return done(tl::unexpected(found.error()));
    done({});
  }
  void keep(const std::string&, KeepSeconds seconds) override {
    const std::lock_guard lock(mutex_);
    kept_ = seconds;
  }
  // What `keep` was called with since the last call; none: it was not, or with none.
  KeepSeconds take_kept() {
    const std::lock_guard lock(mutex_);
    return std::exchange(kept_, std::nullopt);
  }

 private:
  const OpenAiService& service_;
  std::mutex mutex_;
  KeepSeconds kept_;  // guarded by mutex_
};

}  // namespace ruv
