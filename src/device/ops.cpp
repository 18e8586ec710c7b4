// What the fused operations mean.
#include "device/ops.h"

namespace ruv {

void Ops::matmul_each(std::span<const Product> products, View x) {
  for (const Product& p : products) matmul(p.out, x, *p.weight, *p.bias);
}

void Ops::add_norm(View x, View y, View out, const Vector& weight, const Vector& bias,
                   NormParams params) {
  add(x, y);
  norm(out, x, weight, bias, params);
}

}  // namespace ruv
