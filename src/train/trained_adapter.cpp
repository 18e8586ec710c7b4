#include "train/trained_adapter.h"

#include <cmath>

#include "base/rng.h"
#include "train/own_matrix.h"

namespace ruv {
namespace {

// A model that shares its layers' weights would have several adapters for one matrix.
Status check(const Model& model, const LowRankOptions& options) {
  if (options.rank < 1) return fail(Code::invalid, "adapter: a rank of {}", options.rank);
  if (!std::isfinite(options.alpha) || options.alpha <= 0) {
    return fail(Code::invalid, "adapter: alpha is {}", options.alpha);
  }
  if (model.family->block.repeats_layers) {
    return fail(Code::unsupported,
                "the model's layers have the weights of one: adapters of it are not supported");
  }
  return {};
}

// Routers decide: what is added to them changes which experts are trained.
bool adapts(const LowRankOptions& options, Role role, std::string_view tensor) {
  return options.adapts ? options.adapts(tensor) : !decides(role);
}

// The same on every machine.
std::vector<float> random_numbers(int64_t n, double most, Rng& rng) {
  std::vector<float> numbers(static_cast<size_t>(n));
  for (float& x : numbers) x = static_cast<float>((2 * rng.uniform() - 1) * most);
  return numbers;
}

}  // namespace

template <class T>
Result<TrainedAdapter<T>> TrainedAdapter<T>::create(const Model& model, TrainDevice<T>& device,
                                                    const LowRankOptions& options,
                                                    Parameters<T>& parameters) {
  TRY(check(model, options));
  TrainedAdapter made;
  made.options_ = options;
  made.adapter_ = std::make_shared<Adapter>();
  made.share_ = std::make_shared<AdapterShare>(AdapterShare{made.adapter_.get(), 1});
  made.adapter_->products.resize(n_products(model.h));
  Rng rng(options.seed);
  for (int64_t layer = 0; layer < model.h.n_layers; ++layer) {
    for (const RoleRow& row : role_rows()) {
      const Weight& base = model.layers[static_cast<size_t>(layer)][row.role].weight;
      std::string tensor = fmt::format("blk.{}.{}.weight", layer, row.tensor);
      const bool is_one = !base.empty() && row.of_experts.empty() && !row.of_heads;
      if (!is_one || !adapts(options, row.role, tensor)) continue;
      const std::string name = fmt::format("blk.{}.{}.lora_", layer, row.tensor);
      LowRank& added = made.adapter_->products[product_of(layer, row.role)];
      const size_t first = parameters.all().size();
      const double most = 1 / std::sqrt(static_cast<double>(base.n_in));
      added.a = TRY(add_own_matrix<T>({name + "a", base.n_in},
                                      random_numbers(options.rank * base.n_in, most, rng), device,
                                      parameters));
      added.b = TRY(add_own_matrix<T>(
          {name + "b", options.rank},
          std::vector<float>(static_cast<size_t>(base.n_out * options.rank)), device, parameters));
      added.scale = static_cast<float>(options.alpha / static_cast<double>(options.rank));
      made.modules_.push_back({layer, row.role, std::move(tensor), first, first + 1});
    }
  }
  if (made.modules_.empty()) return fail(Code::invalid, "adapter: no matrix is adapted");
  return made;
}

template class TrainedAdapter<float>;
template class TrainedAdapter<double>;

}  // namespace ruv
