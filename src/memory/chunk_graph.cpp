// A walk looks at a bounded part of the graph: at most most_nodes nodes, and kEdgesOfNode edges of
// each, in an order of numbers alone. What it finds is a function of the table and the time.
#include "memory/chunk_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>

#include "base/elementary.h"
#include "memory/page_rank.h"

namespace ruv {
namespace {

// Rows of a node that are read, and edges that are followed; a node with more is a hub, which says
// little of its neighbours.
constexpr int64_t kRowsOfNode = 256;
constexpr size_t kEdgesOfNode = 32;
constexpr double kLn2 = 0.6931471805599453;

constexpr std::string_view kEdgesOf =
    "SELECT target AS other, kind, weight, at_s FROM edges WHERE source = ?1 UNION ALL "
    "SELECT source AS other, kind, weight, at_s FROM edges WHERE target = ?1";

// What an edge counts in a walk; 0 for numbers that a row should not have.
double weight_of(EdgeKind kind, double weight, int64_t at_s, const WalkTerms& terms) {
  if (!std::isfinite(weight) || weight <= 0) return 0;
  if (kind == EdgeKind::next) return 1;
  if (kind == EdgeKind::similar) return std::min(weight, 1.0);
  const double left = ChunkGraph::decayed(weight, terms.now_s - at_s, terms.half_life_s);
  return left / (1 + left);
}

// The nodes that were visited, in their order, and the edges between them.
class Visit {
 public:
  explicit Visit(int64_t most) : most_(static_cast<size_t>(most)) {}

  // Its place; nothing where there is no room for a new node.
  std::optional<uint32_t> place_of(int64_t id) {
    const auto [at, is_new] = places_.try_emplace(id, static_cast<uint32_t>(ids_.size()));
    if (!is_new) return at->second;
    if (ids_.size() == most_) {
      places_.erase(at);
      return std::nullopt;
    }
    ids_.push_back(id);
    return at->second;
  }
  // Both ends tell of it; it counts once.
  void connect(uint32_t a, uint32_t b, double weight) {
    edges_[{std::min(a, b), std::max(a, b)}] = weight;
  }
  size_t size() const { return ids_.size(); }
  int64_t id(size_t place) const { return ids_[place]; }
  std::vector<RankEdge> edges() const {
    std::vector<RankEdge> all;
    for (const auto& [ends, weight] : edges_) all.push_back({ends.first, ends.second, weight});
    return all;
  }

 private:
  size_t most_;
  std::vector<int64_t> ids_;
  std::unordered_map<int64_t, uint32_t> places_;
  std::map<std::pair<uint32_t, uint32_t>, double> edges_;
};

// The strongest edges of the node that a statement of kEdgesOf is bound to, kinds added up.
Result<std::vector<WeighedChunk>> edges_of_node(DbStatement& statement, const WalkTerms& terms) {
  std::map<int64_t, double> weights;
  while (TRY(statement.step())) {
    const auto kind = static_cast<EdgeKind>(statement.integer(1));
    const double weight = weight_of(kind, statement.real(2), statement.integer(3), terms);
    if (weight > 0) weights[statement.integer(0)] += weight;
  }
  std::vector<WeighedChunk> edges;
  for (const auto& [id, weight] : weights) edges.push_back({id, weight});
  std::ranges::stable_sort(edges, std::greater(), &WeighedChunk::weight);
  if (edges.size() > kEdgesOfNode) edges.resize(kEdgesOfNode);
  return edges;
}

}  // namespace

double ChunkGraph::decayed(double weight, int64_t age_s, int64_t half_life_s) {
  if (age_s <= 0) return weight;
  return weight *
         exact_exp(-kLn2 * (static_cast<double>(age_s) / static_cast<double>(half_life_s)));
}

Status ChunkGraph::add_edge(int64_t a, int64_t b, EdgeKind kind, double weight, int64_t at_s) {
  DbStatement statement = TRY(database_.prepare(
      "INSERT OR REPLACE INTO edges(source, target, kind, weight, at_s) SELECT ?1, ?2, ?3, ?4, ?5"
      " WHERE EXISTS (SELECT 1 FROM chunks WHERE id = ?1)"
      " AND EXISTS (SELECT 1 FROM chunks WHERE id = ?2)"));
  statement.bind(1, std::min(a, b));
  statement.bind(2, std::max(a, b));
  statement.bind(3, static_cast<int64_t>(kind));
  statement.bind_real(4, weight);
  statement.bind(5, at_s);
  return statement.run();
}

Status ChunkGraph::add_next(std::span<const int64_t> ids) {
  for (size_t i = 1; i < ids.size(); ++i) {
    TRY(add_edge(ids[i - 1], ids[i], EdgeKind::next, 1, 0));
  }
  return {};
}

Status ChunkGraph::add_similar(int64_t id, std::span<const WeighedChunk> near) {
  DbStatement is_chunk = TRY(database_.prepare("SELECT 1 FROM chunks WHERE id = ?1"));
  int64_t n = 0;
  for (const WeighedChunk& one : near) {
    if (n == kSimilarEdges) break;
    if (one.id == id || !(one.weight > 0)) continue;
    is_chunk.bind(1, one.id);
    const bool is_there = TRY(is_chunk.step());
    is_chunk.reset();
    if (!is_there) continue;
    TRY(add_edge(id, one.id, EdgeKind::similar, one.weight, 0));
    ++n;
  }
  return {};
}

Status ChunkGraph::strengthen(int64_t a, int64_t b, const WalkTerms& terms) {
  double weight = 0;
  {
    DbStatement found = TRY(database_.prepare(
        "SELECT weight, at_s FROM edges WHERE source = ?1 AND target = ?2 AND kind = ?3"));
    found.bind(1, std::min(a, b));
    found.bind(2, std::max(a, b));
    found.bind(3, static_cast<int64_t>(EdgeKind::together));
    if (TRY(found.step())) {
      const double before = found.real(0);
      const bool is_sound = std::isfinite(before) && before > 0;
      if (is_sound) weight = decayed(before, terms.now_s - found.integer(1), terms.half_life_s);
    }
  }
  return add_edge(a, b, EdgeKind::together, weight + 1, terms.now_s);
}

Status ChunkGraph::keep_strongest(int64_t id, const WalkTerms& terms) {
  std::vector<WeighedChunk> edges;
  {
    DbStatement found = TRY(database_.prepare("SELECT * FROM (" + std::string(kEdgesOf) +
                                              ") WHERE kind = ?2 ORDER BY other"));
    found.bind(1, id);
    found.bind(2, static_cast<int64_t>(EdgeKind::together));
    while (TRY(found.step())) {
      edges.push_back({found.integer(0),
                       weight_of(EdgeKind::together, found.real(2), found.integer(3), terms)});
    }
  }
  if (edges.size() <= kTogetherEdges) return {};
  std::ranges::stable_sort(edges, std::greater(), &WeighedChunk::weight);
  DbStatement removal =
      TRY(database_.prepare("DELETE FROM edges WHERE source = ?1 AND target = ?2 AND kind = ?3"));
  for (size_t i = kTogetherEdges; i < edges.size(); ++i) {
    removal.bind(1, std::min(id, edges[i].id));
    removal.bind(2, std::max(id, edges[i].id));
    removal.bind(3, static_cast<int64_t>(EdgeKind::together));
    TRY(removal.run());
  }
  return {};
}

Status ChunkGraph::add_together(std::span<const int64_t> ids, const WalkTerms& terms) {
  const auto first = ids.first(std::min(ids.size(), kFoundTogether));
  for (size_t i = 0; i < first.size(); ++i) {
    for (size_t j = i + 1; j < first.size(); ++j) TRY(strengthen(first[i], first[j], terms));
  }
  for (const int64_t id : first) TRY(keep_strongest(id, terms));
  return {};
}

Result<std::vector<WeighedChunk>> ChunkGraph::related(std::span<const WeighedChunk> begin,
                                                      const WalkTerms& terms) const {
  Visit visit(terms.most_nodes);
  std::vector<double> restart;
  for (const WeighedChunk& one : begin) {
    if (visit.place_of(one.id)) restart.push_back(one.weight);
  }
  const size_t n_begin = visit.size();
  std::string text = "SELECT other, kind, weight, at_s FROM (" + std::string(kEdgesOf) + ")";
  if (!terms.filter.empty()) {
    text += " JOIN chunks ON chunks.id = other WHERE " + terms.filter.condition();
  }
  text += " ORDER BY kind, other LIMIT " + std::to_string(kRowsOfNode);
  DbStatement statement = TRY(database_.prepare(text));
  for (size_t at = 0; at < visit.size(); ++at) {
    statement.bind(1, visit.id(at));
    terms.filter.bind(statement);
    for (const WeighedChunk& edge : TRY(edges_of_node(statement, terms))) {
      const auto other = visit.place_of(edge.id);
      if (other && *other != at) visit.connect(static_cast<uint32_t>(at), *other, edge.weight);
    }
    statement.reset();
  }
  restart.resize(visit.size(), 0);
  const std::vector<double> shares = page_rank(visit.edges(), restart);
  std::vector<WeighedChunk> found;
  for (size_t i = n_begin; i < visit.size(); ++i) found.push_back({visit.id(i), shares[i]});
  std::ranges::sort(found, [](const WeighedChunk& a, const WeighedChunk& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  });
  return found;
}

}  // namespace ruv
