// FixedModel: a server with one model that belongs to the program around it: requests can neither
// load nor unload it.
#pragma once

#include "net/models/served_models.h"
#include "net/openai/adapter_choice.h"

namespace ruv {

class FixedModel final : public ServedModels {
 public:
  // The service must outlive all requests.
  explicit FixedModel(const OpenAiService& service) : service_(service) {}

  const ServerParts& parts() const override { return service_; }
  std::vector<ModelState> list() const override {
    return {{.names = service_.names,
             .phase = ModelPhase::loaded,
             .info = service_.text->info(),
             .created = service_.created}};
  }
  void with_model(const std::string& name, uint64_t, Use use) override { use(loaded(name)); }
  ApiResult<ServiceLease> loaded(const std::string& name) const override {
    if (name.empty() || is_named(service_.names, name) || names_adapter(service_, name)) {
      return ServiceLease(std::shared_ptr<void>(), &service_);
    }
    return tl::unexpected(no_such_model(name, list()));
  }
  void unload(const std::string& name, Done done) override {
    if (const auto found = loaded(name); !found) return done(tl::unexpected(found.error()));
    done(tl::unexpected(bad_request("model",
                                    "the model belongs to the program that serves it and "
                                    "stays loaded",
                                    "unsupported")));
  }
  // It stays whatever is asked, as it does where a server has room.
  void keep(const std::string&, KeepSeconds) override {}

 private:
  const OpenAiService& service_;
};

}  // namespace ruv
