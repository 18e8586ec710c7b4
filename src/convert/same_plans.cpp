// Each structure is taken apart into as many names as it has members: one that is added to it does
// not compile here until it is compared.
#include "convert/same_plans.h"

#include <cmath>
#include <tuple>

namespace ruv {
namespace {

auto fields_of(const DeltaHeads& x) {
  const auto& [f0, f1, f2, f3, f4, f5, f6] = x;
  return std::tie(f0, f1, f2, f3, f4, f5, f6);
}
auto fields_of(const TimeMixPlan& x) {
  const auto& [f0, f1, f2, f3] = x;
  return std::tie(f0, f1, f2, f3);
}
auto fields_of(const GatedRecurrencePlan& x) {
  const auto& [f0, f1, f2] = x;
  return std::tie(f0, f1, f2);
}
auto fields_of(const MatrixMemoryPlan& x) {
  const auto& [f0, f1, f2, f3, f4] = x;
  return std::tie(f0, f1, f2, f3, f4);
}
auto fields_of(const StateSpacePlan& x) {
  const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = x;
  return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13);
}
auto fields_of(const StreamPlan& x) {
  const auto& [f0, f1, f2, f3] = x;
  return std::tie(f0, f1, f2, f3);
}
auto fields_of(const SharedPlan& x) {
  const auto& [f0, f1, f2, f3] = x;
  return std::tie(f0, f1, f2, f3);
}
auto fields_of(const LatentPlan& x) {
  const auto& [f0, f1, f2, f3, f4] = x;
  return std::tie(f0, f1, f2, f3, f4);
}
auto fields_of(const IndexPlan& x) {
  const auto& [f0, f1, f2, f3, f4] = x;
  return std::tie(f0, f1, f2, f3, f4);
}
auto fields_of(const RelativePlan& x) {
  const auto& [f0, f1, f2, f3, f4, f5, f6] = x;
  return std::tie(f0, f1, f2, f3, f4, f5, f6);
}
auto fields_of(const RouteParams& x) {
  const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = x;
  return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9);
}
auto fields_of(const GateLimits& x) {
  const auto& [f0, f1] = x;
  return std::tie(f0, f1);
}
auto fields_of(const RopePlan& x) {
  const auto& [f0, f1, f2] = x;
  return std::tie(f0, f1, f2);
}
auto fields_of(const RopePlans& x) {
  const auto& [f0, f1, f2, f3] = x;
  return std::tie(f0, f1, f2, f3);
}
auto fields_of(const Xielu& x) {
  const auto& [f0, f1, f2, f3] = x;
  return std::tie(f0, f1, f2, f3);
}
auto fields_of(const HParams& x) {
  const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
               f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
               f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52,
               f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63, f64, f65, f66, f67, f68, f69,
               f70, f71] = x;
  return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17,
                  f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
                  f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49,
                  f50, f51, f52, f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63, f64, f65,
                  f66, f67, f68, f69, f70, f71);
}
auto fields_of(const LayerPlan& x) {
  const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
               f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
               f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52,
               f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63, f64, f65, f66, f67, f68, f69,
               f70] = x;
  return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17,
                  f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
                  f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49,
                  f50, f51, f52, f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63, f64, f65,
                  f66, f67, f68, f69, f70);
}

// Bits that decimal text and another order of operations may cost.
constexpr double kClose = 1e-6;

bool same(float a, float b) {
  if (a == b) return true;
  return std::abs(double{a} - double{b}) <=
         kClose * std::max(std::abs(double{a}), std::abs(double{b}));
}

template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(static_cast<const T&>(a[i]), static_cast<const T&>(b[i]))) return false;
  }
  return true;
}
bool same(const std::vector<bool>& a, const std::vector<bool>& b) { return a == b; }

template <class T, size_t n>
bool same(const std::array<T, n>& a, const std::array<T, n>& b) {
  for (size_t i = 0; i < n; ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (requires { a == b; }) {
    return a == b;
  } else {
    const auto x = fields_of(a), y = fields_of(b);
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return (same(std::get<i>(x), std::get<i>(y)) && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(x)>>());
  }
}

}  // namespace

std::string_view first_difference(const Model& a, const Model& b) {
  if (!same(a.h, b.h)) return "number";
  if (!same(a.rope, b.rope)) return "table of rotary positions";
  if (!same(a.plans, b.plans)) return "plan of layers";
  return {};
}

}  // namespace ruv
