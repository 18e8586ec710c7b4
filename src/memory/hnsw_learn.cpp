// What codes learn from the first vectors of a graph: once, when there are vectors enough, so that
// it follows from the changes and their order as the graph does.
#include "memory/hnsw.h"

namespace ruv {

// From the lowest nodes that have a row. Where memory is missing searches keep to float32, and
// the next addition tries again.
void Hnsw::learn_codes(WorkerPool& pool) {
  if (codes_ == nullptr || codes_->is_ready()) return;
  const auto n_needed = static_cast<size_t>(codes_->n_to_learn_from());
  if (links_.n_nodes() < codes_->n_to_learn_from()) return;
  const std::vector<uint32_t> nodes = used_nodes();
  if (nodes.size() < n_needed) return;
  std::vector<const float*> rows;
  for (const uint32_t node : std::span(nodes).first(n_needed)) rows.push_back(rows_->row(node));
  if (!codes_->learn(rows, pool).ok()) return;
  code_all(pool);
  const auto held = gate_.alone();
  codes_->use();
}

}  // namespace ruv
