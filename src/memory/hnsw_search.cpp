// Searching a graph: from its top level down, then from one near node of the lowest to the next.
#include "memory/hnsw_search.h"

#include <algorithm>

#include "memory/hnsw.h"

namespace ruv {
namespace {

// A search has seen about three of four links of a node on the lowest level before.
constexpr int64_t kSeenBefore = 4;
// For each eight nodes that a search looks at it looks at one of level 1 before: where vectors lie
// in clusters, a way that only gets nearer may end in one that is not the nearest.
constexpr int64_t kShareOfLevel1 = 8;

}  // namespace

// Tags count searches, so that the table is cleared once in 65,535 of them.
void HnswSearch::begin(int64_t n_nodes) {
  if (std::ssize(tags_) < n_nodes) tags_.resize(static_cast<size_t>(n_nodes + n_nodes / 2));
  if (++tag_ == 0) {
    std::ranges::fill(tags_, uint16_t{0});
    tag_ = 1;
  }
}

// Steps to the nearest linked node while there is a nearer one.
Neighbour Hnsw::descend(const float* query, int level, HnswSearch& memory) const {
  memory.nodes_.assign(1, entry_);
  measure(query, memory);
  Neighbour at{memory.distances_[0], entry_};
  for (int on = links_.level_of(entry_); on > level; --on) {
    for (bool moves = true; moves;) {
      const auto links = links_.of(at.node, on);
      memory.nodes_.assign(links.begin(), links.end());
      measure(query, memory);
      moves = false;
      for (size_t i = 0; i < memory.nodes_.size(); ++i) {
        const Neighbour other{memory.distances_[i], memory.nodes_[i]};
        if (!(other < at)) continue;
        at = other;
        moves = true;
      }
    }
  }
  return at;
}

// Follows the nearest node that was not followed, until all of the n_looked_at nearest ones were.
// The distances of all links of a node are computed in one call, which loads several rows at once.
void Hnsw::search_level(const float* query, const Neighbour& from, int level, int64_t n_looked_at,
                        HnswSearch& memory) const {
  memory.begin(links_.n_nodes());
  memory.nearest.begin(static_cast<size_t>(n_looked_at));
  memory.visit(from.node);
  memory.nearest.add(from);
  while (const Neighbour* const at = memory.nearest.follow()) {
    memory.nodes_.clear();
    for (const uint32_t node : links_.of(at->node, level)) {
      if (memory.visit(node)) memory.nodes_.push_back(node);
    }
    measure(query, memory);
    for (size_t i = 0; i < memory.nodes_.size(); ++i) {
      memory.nearest.add({memory.distances_[i], memory.nodes_[i]});
    }
  }
}

// The query is filled up with zeros as rows are.
void Hnsw::begin(const float* query, HnswSearch& memory) const {
  memory.query_.assign(static_cast<size_t>(rows_->step()), 0.0F);
  std::copy_n(query, options_.n_dims, memory.query_.data());
  if (options_.metric == Metric::cosine) {
    normalise({memory.query_.data(), static_cast<size_t>(options_.n_dims)});
  }
  memory.found_.clear();
  memory.damaged_ = HnswSearch::kNone;
  memory.uses_codes_ = has_codes();
  if (memory.uses_codes_) codes_->begin(memory.query_.data(), memory.coded_);
}

void Hnsw::search(const float* query, const SearchOptions& options, HnswSearch& memory,
                  std::vector<Neighbour>& found) const {
  found.clear();
  const auto held = gate_.share();
  begin(query, memory);
  if (n_live_ == 0 || options.k < 1) return;
  SearchOptions wider = options;
  if (memory.uses_codes_) {
    wider.n_looked_at = codes_->n_looked_at(std::max(options.k, options.n_looked_at));
  }
  if (options.among == nullptr && n_removed_ == 0) {
    search_all(wider, memory);
  } else {
    search_among(wider, memory);
  }
  if (memory.uses_codes_) measure_again(options.k, memory);
  const int64_t n = std::min<int64_t>(options.k, std::ssize(memory.found_));
  found.assign(memory.found_.begin(), memory.found_.begin() + static_cast<ptrdiff_t>(n));
}

Neighbour Hnsw::near_to(const float* query, int64_t n_looked_at, HnswSearch& memory) const {
  const int64_t n = n_looked_at / kShareOfLevel1;
  if (n < 2 || links_.level_of(entry_) == 0) return descend(query, 0, memory);
  const Neighbour from = descend(query, 1, memory);
  search_level(query, from, 1, n, memory);
  return memory.nearest.at(0);
}

// All nodes may be found: the list of the nearest ones is the answer.
void Hnsw::search_all(const SearchOptions& options, HnswSearch& memory) const {
  const int64_t n_looked_at = std::max(options.k, options.n_looked_at);
  const Neighbour from = near_to(memory.query_.data(), n_looked_at, memory);
  search_level(memory.query_.data(), from, 0, n_looked_at, memory);
  for (size_t i = 0; i < memory.nearest.size(); ++i) {
    memory.found_.push_back(memory.nearest.at(i));
  }
}

// Looks at a number of nodes of which n_looked_at may be found, if those lie evenly among the
// others; at twice as many where they do not. Once comparing each costs less, it does that.
void Hnsw::search_among(const SearchOptions& options, HnswSearch& memory) const {
  const int64_t n_all = n_live_ + n_removed_;
  const int64_t n_may = options.among != nullptr ? options.among->size() : n_live_;
  if (n_may == 0) return;
  const int64_t n_looked_at = std::max(options.k, options.n_looked_at);
  const int64_t n_needed = std::max(options.k, n_looked_at / 2);
  const Neighbour from = near_to(memory.query_.data(), n_looked_at, memory);
  int64_t n_list = (n_looked_at * n_all + n_may - 1) / n_may;
  for (; n_list * links_.most(0) / kSeenBefore < n_may; n_list *= 2) {
    search_level(memory.query_.data(), from, 0, n_list, memory);
    memory.found_.clear();
    for (size_t i = 0; i < memory.nearest.size(); ++i) {
      const Neighbour& near = memory.nearest.at(i);
      if (may_be_found(near.node, options.among)) memory.found_.push_back(near);
    }
    if (std::ssize(memory.found_) >= n_needed) return;
  }
  compare_each(options, memory);
}

// The nodes that may be found, in blocks; with codes, by these, as a search of the graph does.
void Hnsw::compare_each(const SearchOptions& options, HnswSearch& memory) const {
  constexpr size_t kAtOnce = 64;
  memory.nearest.begin(static_cast<size_t>(std::max(options.k, options.n_looked_at)));
  memory.nodes_.clear();
  const auto compare = [&] {
    measure(memory.query_.data(), memory);
    for (size_t i = 0; i < memory.nodes_.size(); ++i) {
      memory.nearest.add({memory.distances_[i], memory.nodes_[i]});
    }
    memory.nodes_.clear();
  };
  const auto take = [&](uint32_t node) {
    if (node >= states_.size() || states_[node] != State::live) return;
    memory.nodes_.push_back(node);
    if (memory.nodes_.size() == kAtOnce) compare();
  };
  if (options.among != nullptr) {
    options.among->for_each(take);
  } else {
    for (uint32_t node = 0; node < states_.size(); ++node) take(node);
  }
  compare();
  memory.found_.clear();
  for (size_t i = 0; i < memory.nearest.size(); ++i) {
    memory.found_.push_back(memory.nearest.at(i));
  }
}

// What is nearest by codes is nearest within their error: more than k are measured.
void Hnsw::measure_again(int64_t k, HnswSearch& memory) const {
  const auto n = static_cast<size_t>(codes_->n_measured_again(k, std::ssize(memory.found_)));
  memory.found_.resize(n);
  memory.nodes_.clear();
  for (const Neighbour& one : memory.found_) memory.nodes_.push_back(one.node);
  memory.uses_codes_ = false;
  measure(memory.query_.data(), memory);
  for (size_t i = 0; i < n; ++i) memory.found_[i].distance = memory.distances_[i];
  std::sort(memory.found_.begin(), memory.found_.end());
}

}  // namespace ruv
