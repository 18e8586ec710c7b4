#include "model/adapter.h"

#include <bit>
#include <cmath>

#include "base/key_text.h"
#include "model/adapter_rows.h"
#include "model/file_rows.h"
#include "model/row_lengths.h"

namespace ruv {
namespace {

const RoleRow& row_of(Role role) { return role_rows()[static_cast<size_t>(role)]; }

std::string_view name_of(ModelEnd end) {
  return end == ModelEnd::token_embd ? "token_embd" : "output";
}

// "adapter: layer 3, attn_q+attn_k" or "adapter: output", the beginning of every message.
std::string name_of(const AdapterMatrices& m) {
  if (m.end) return fmt::format("adapter: {}", name_of(*m.end));
  std::string name = fmt::format("adapter: layer {}", m.layer);
  const char* between = ", ";
  for (const Role role : m.roles) {
    name += fmt::format("{}{}", between, row_of(role).tensor);
    between = "+";
  }
  if (m.expert) name += fmt::format(" of expert {}", *m.expert);
  return name;
}

// Other models embed tokens elsewhere, too, or look nothing up in a step.
Status check_end(const Model& model, ModelEnd end) {
  const bool has = end == ModelEnd::output ? !model.output.empty()
                                           : model.h.n_layers > 0 && !model.h.reads_source();
  if (has) return {};
  return fail(Code::unsupported, "adapter: {}: adapters of it are not supported in such a model",
              name_of(end));
}

Status check_end_shapes(const Model& model, const AdapterMatrices& m) {
  TRY(check_end(model, *m.end));
  const HParams& h = model.h;
  const bool embeds = *m.end == ModelEnd::token_embd;
  const int64_t n_rows_a = embeds ? h.n_vocab : m.b.n_in, n_in_a = embeds ? m.b.n_in : h.n_embd;
  const int64_t n_out = embeds ? h.n_embd_in : h.n_vocab;
  if (m.b.n_in < 1 || std::ssize(m.a.rows) != n_rows_a || m.a.n_in != n_in_a ||
      std::ssize(m.b.rows) != n_out) {
    return fail(Code::invalid,
                "{}: the matrices are ({}, {}) and ({}, {}), and the model's ({}, {})", name_of(m),
                std::ssize(m.a.rows), m.a.n_in, std::ssize(m.b.rows), m.b.n_in, h.n_vocab,
                embeds ? h.n_embd_in : h.n_embd);
  }
  return {};
}

Status check_expert(const LayerPlan& plan, const AdapterMatrices& m, Role role) {
  if (m.expert.has_value() == row_of(role).of_experts.empty()) {
    return fail(Code::invalid, "{}: an expert is {}", name_of(m),
                m.expert ? "named, and the matrix is of none" : "not named");
  }
  if (!m.expert) return {};
  if (*m.expert < 0 || *m.expert >= plan.n_experts) {
    return fail(Code::invalid, "{}: the layer has {} experts", name_of(m), plan.n_experts);
  }
  if (m.magnitudes.empty() && m.biases.empty()) return {};
  return fail(Code::unsupported, "{}: {} of experts are not supported", name_of(m),
              m.biases.empty() ? "magnitudes" : "biases");
}

Status check_layer_shapes(const LayerPlan& plan, const AdapterMatrices& m) {
  const auto rank = std::ssize(m.a.rows);
  int64_t n_out = 0;
  for (const Role role : m.roles) {
    if (!plan.has(role)) {
      return fail(Code::invalid, "{}: the model has no {} there", name_of(m), row_of(role).tensor);
    }
    TRY(check_expert(plan, m, role));
    if (row_of(role).of_heads) {
      return fail(Code::unsupported, "{}: adapters of single heads are not supported", name_of(m));
    }
    n_out += n_rows_of(role, plan);
    const int64_t n_in = plan.extent(row_of(role).n_in);
    if (rank < 1 || m.a.n_in != n_in) {
      return fail(Code::invalid, "{}: A is ({}, {}), expected (rank, {}) with a rank of at least 1",
                  name_of(m), rank, m.a.n_in, n_in);
    }
  }
  if (std::ssize(m.b.rows) != n_out || m.b.n_in != rank) {
    return fail(Code::invalid, "{}: B is ({}, {}), expected ({}, {})", name_of(m),
                std::ssize(m.b.rows), m.b.n_in, n_out, rank);
  }
  return {};
}

// Rows of an unpacked format would have to be kept, and blocks may not be cut.
Status check_format(const Packing& packing, const AdapterMatrices& m) {
  for (const MatrixRows* matrix : {&m.a, &m.b}) {
    const Format& format = format_of(matrix->dtype);
    const bool is_looked_up = matrix == &m.a && m.end == ModelEnd::token_embd;
    if (matrix->n_in % format.block_size != 0 ||
        (!is_looked_up && !packing.shape_of(matrix->dtype, matrix->n_in, 1).is_packed())) {
      return fail(Code::unsupported, "{}: rows of {} numbers cannot be {}; write them as f16",
                  name_of(m), matrix->n_in, format.name);
    }
  }
  return {};
}

}  // namespace

Status check_shapes(const Model& model, const AdapterMatrices& m) {
  if (m.end) {
    TRY(check_end_shapes(model, m));
  } else {
    if (m.layer < 0 || m.layer >= model.h.n_layers) {
      return fail(Code::invalid, "{}: the model has {} layers", name_of(m), model.h.n_layers);
    }
    TRY(check_layer_shapes(model.plans[static_cast<size_t>(m.layer)], m));
  }
  for (const std::vector<float>* numbers : {&m.magnitudes, &m.biases}) {
    if (numbers->empty() || numbers->size() == m.b.rows.size()) continue;
    return fail(Code::invalid, "{}: {} {} of {} rows", name_of(m), numbers->size(),
                numbers == &m.biases ? "biases" : "magnitudes", m.b.rows.size());
  }
  if (!std::isfinite(m.scale)) {
    return fail(Code::invalid, "{}: the scale is {}", name_of(m), m.scale);
  }
  return {};
}

namespace {

void add_rows(KeyText& key, const MatrixRows& matrix) {
  const auto n_bytes = static_cast<size_t>(format_of(matrix.dtype).bytes_of(matrix.n_in));
  key.number(static_cast<uint64_t>(matrix.dtype));
  for (const std::byte* const row : matrix.rows) key.number(hash_bytes({row, n_bytes}));
}

// Everything that decides what the matrices add.
uint64_t hash_of(uint64_t before, const AdapterMatrices& m) {
  KeyText key;
  key.number(before);
  key.number(m.end ? ~static_cast<uint64_t>(*m.end) : static_cast<uint64_t>(m.layer));
  for (const Role role : m.roles) key.number(static_cast<uint64_t>(role));
  if (m.expert) key.number(~static_cast<uint64_t>(*m.expert));
  key.number(static_cast<uint64_t>(m.order));
  key.number(std::bit_cast<uint32_t>(m.scale));
  add_rows(key, m.a);
  add_rows(key, m.b);
  for (const float magnitude : m.magnitudes) key.number(std::bit_cast<uint32_t>(magnitude));
  for (const float bias : m.biases) key.number(std::bit_cast<uint32_t>(bias));
  key.number(m.has_own_biases);
  return key.hash(1);
}

uint64_t hash_of(uint64_t before, const WholeMatrix& whole) {
  KeyText key;
  key.number(before);
  key.number(~uint64_t{2} - static_cast<uint64_t>(whole.end));
  add_rows(key, whole.rows);
  return key.hash(1);
}

uint64_t hash_of(uint64_t before, const LayerDirection& direction) {
  KeyText key;
  key.number(before);
  key.number(~uint64_t{4} - static_cast<uint64_t>(direction.layer));
  key.number(hash_bytes(std::as_bytes(std::span(direction.numbers))));
  return key.hash(1);
}

// As files count, no direction follows the first layer.
Status check_direction(const Model& model, const LayerDirection& direction) {
  const HParams& h = model.h;
  const auto fault = [&direction](Code code, std::string_view what) {
    return fail(code, "adapter: direction {}: {}", direction.layer, what);
  };
  if (h.reads_source()) {
    return fault(Code::unsupported, "models that read a source text have no one stream");
  }
  if (h.streams.exists()) {
    return fault(Code::unsupported, "the model's layers have several streams, and no one of them");
  }
  if (direction.layer < 1 || direction.layer >= h.n_layers) {
    return fault(Code::invalid, fmt::format("the model has {} layers, and a direction follows one "
                                            "from 1 to {}",
                                            h.n_layers, h.n_layers - 1));
  }
  if (std::ssize(direction.numbers) != h.n_embd) {
    return fault(Code::invalid, fmt::format("it has {} numbers, and the model's stream {}",
                                            direction.numbers.size(), h.n_embd));
  }
  for (size_t i = 0; i < direction.numbers.size(); ++i) {
    if (std::isfinite(direction.numbers[i])) continue;
    return fault(Code::invalid, fmt::format("number {} is {}", i, direction.numbers[i]));
  }
  return {};
}

class AdapterMaker {
 public:
  AdapterMaker(const Model& model, RopeOrder order, WorkerPool& pool)
      : model_(model), order_(order), pool_(pool) {
    adapter_.products.resize(n_products(model.h));
    adapter_.key = static_cast<uint64_t>(order);
  }

  Status add(const AdapterMatrices& m) {
    TRY(check_shapes(model_, m));
    TRY(check_format(model_.device->packing(), m));
    adapter_.key = hash_of(adapter_.key, m);
    return m.end ? add_to_end(m) : add_to_layer(m);
  }
  Status replace(const WholeMatrix& whole) {
    const auto fault = [&whole](Code code, std::string_view what) {
      return fail(code, "adapter: {}: {}", name_of(whole.end), what);
    };
    TRY(check_end(model_, whole.end));
    const HParams& h = model_.h;
    const bool embeds = whole.end == ModelEnd::token_embd;
    const MatrixRows& rows = whole.rows;
    if (std::ssize(rows.rows) != h.n_vocab || rows.n_in != (embeds ? h.n_embd_in : h.n_embd)) {
      return fault(Code::invalid, "the matrix in its place has another shape");
    }
    Weight& place = embeds ? adapter_.token_embd : adapter_.output;
    const size_t product = product_of(h, whole.end);
    if (!place.empty() || !adapter_.products[product].empty()) {
      return fault(Code::invalid, "it is there twice");
    }
    place = TRY(embeds ? look_up(rows) : pack(rows));
    if (!embeds && !place.is_packed()) {
      return fault(Code::unsupported, "rows of it cannot be multiplied in the adapter's format");
    }
    adapter_.key = hash_of(adapter_.key, whole);
    return {};
  }
  Status steer(const LayerDirection& direction) {
    TRY(check_direction(model_, direction));
    adapter_.directions.resize(static_cast<size_t>(model_.h.n_layers));
    Vector& place = adapter_.directions[static_cast<size_t>(direction.layer)];
    if (!place.empty()) {
      return fail(Code::invalid, "adapter: direction {}: it is there twice", direction.layer);
    }
    adapter_.key = hash_of(adapter_.key, direction);
    place = TRY(model_.device->vector(direction.numbers));
    return {};
  }
  Adapter take() { return std::move(adapter_); }

 private:
  Result<Weight> pack(const MatrixRows& rows) {
    return pack_weight(*model_.device, pool_, rows.dtype, rows.n_in, rows.rows);
  }

  Result<LowRank*> place(size_t product, const AdapterMatrices& m, std::string_view tensor) {
    if (m.expert && adapter_.experts.empty()) adapter_.experts.resize(n_products(model_.h));
    if (m.expert && adapter_.experts[product].empty()) {
      const LayerPlan& plan = model_.plans[static_cast<size_t>(m.layer)];
      adapter_.experts[product].resize(static_cast<size_t>(plan.n_experts));
    }
    LowRank& added = m.expert ? adapter_.experts[product][static_cast<size_t>(*m.expert)]
                              : adapter_.products[product];
    if (added.empty()) return &added;
    return fail(Code::invalid, "{}: {} is there twice", name_of(m), tensor);
  }

  Status add_to_layer(const AdapterMatrices& m) {
    const Weight a = TRY(pack(m.a));
    for (const Role role : m.roles) {
      LowRank& added = *TRY(place(product_of(m.layer, role), m, row_of(role).tensor));
      RoleRows rows = rows_of_role(model_, m, role, order_);
      added.a = a;
      added.b = TRY(pack(rows.b));
      added.scale = m.scale;
      std::vector<float> factors;
      if (!m.magnitudes.empty()) {
        const BaseRows& base = *TRY(base_rows());
        factors = TRY(named(m, row_factors(base, base.of(m.layer, role), {m.a, rows.b, m.scale},
                                           rows.magnitudes, pool_)));
      }
      const Linear& linear = model_.layers[static_cast<size_t>(m.layer)][role];
      TRY(change_columns(m, added, linear.bias, std::move(factors), rows.biases));
    }
    return {};
  }

  Status add_to_end(const AdapterMatrices& m) {
    LowRank& added = *TRY(place(product_of(model_.h, *m.end), m, "it"));
    added.a = TRY(*m.end == ModelEnd::token_embd ? look_up(m.a) : pack(m.a));
    added.b = TRY(pack(m.b));
    added.scale = m.scale;
    const bool embeds = *m.end == ModelEnd::token_embd;
    std::vector<float> factors;
    if (!m.magnitudes.empty()) {
      const BaseRows& base = *TRY(base_rows());
      const AddedRows rows{m.a, m.b, m.scale};
      factors = TRY(named(m, embeds ? column_factors(base, rows, m.magnitudes, pool_)
                                    : row_factors(base, base.output(), rows, m.magnitudes, pool_)));
    }
    return change_columns(m, added, embeds ? Vector() : model_.output_bias, std::move(factors),
                          m.biases);
  }

  static Result<std::vector<float>> named(const AdapterMatrices& m,
                                          Result<std::vector<float>> numbers) {
    if (numbers) return numbers;
    return fail(numbers.error().code(), "{}: {}", name_of(m), numbers.error().message());
  }

  // A product's bias is not multiplied by its factors: f · (x + bias) + (new bias - f · bias).
  Status change_columns(const AdapterMatrices& m, LowRank& added, const Vector& bias,
                        std::vector<float> factors, std::vector<float> biases) {
    std::vector<float> shifts(static_cast<size_t>(bias.size()));
    if (!bias.empty()) {
      model_.device->download(bias.memory.start, std::as_writable_bytes(std::span(shifts)));
    }
    if (!biases.empty()) TRY(check_biases(m, shifts, biases));
    const bool changes = !biases.empty() && m.has_own_biases && biases != shifts;
    if (factors.empty() && !changes) return {};
    if (factors.empty()) factors.resize(shifts.size(), 1.0F);
    for (size_t i = 0; i < shifts.size(); ++i) {
      const float wanted = changes ? biases[i] : shifts[i];
      shifts[i] = wanted - factors[i] * shifts[i];
    }
    if (!shifts.empty()) added.shifts = TRY(model_.device->vector(std::move(shifts)));
    added.factors = TRY(model_.device->vector(std::move(factors)));
    return {};
  }

  // A file of the model in f16 or bf16 may have rounded them.
  static Status check_biases(const AdapterMatrices& m, std::span<const float> of_model,
                             std::span<const float> biases) {
    if (of_model.size() != biases.size()) {
      return fail(Code::unsupported, "{}: the model's product has no bias that could be another",
                  name_of(m));
    }
    for (size_t i = 0; i < biases.size(); ++i) {
      const float off = std::fabs(biases[i] - of_model[i]);
      const bool is_near = off <= 0x1p-7F * std::fabs(biases[i]);
      if (std::isfinite(biases[i]) && (m.has_own_biases || is_near)) continue;
      return fail(Code::unsupported, "{}: bias {} is {}, and the model's is {}", name_of(m), i,
                  biases[i], of_model[i]);
    }
    return {};
  }

  Result<const BaseRows*> base_rows() {
    if (!base_) base_ = TRY(BaseRows::create(model_, pool_));
    return &*base_;
  }

  // Plain rows, of memory that the adapter keeps.
  Result<Weight> look_up(const MatrixRows& rows) {
    Weight weight;
    weight.n_out = std::ssize(rows.rows);
    weight.n_in = rows.n_in;
    weight.dtype = rows.dtype;
    const int64_t row_bytes = format_of(rows.dtype).bytes_of(rows.n_in);
    weight.plain = TRY(model_.device->take_rows(rows.rows, row_bytes));
    if (weight.plain.memory.owner == nullptr) weight.plain.memory.owner = rows.owned;
    return weight;
  }

  const Model& model_;
  RopeOrder order_;
  WorkerPool& pool_;
  std::optional<BaseRows> base_;  // made when a row's length is wanted
  Adapter adapter_;
};

}  // namespace

Result<Adapter> make_adapter(const Model& model, std::span<const AdapterMatrices> matrices,
                             RopeOrder order, WorkerPool& pool, std::span<const WholeMatrix> wholes,
                             std::span<const LayerDirection> directions) {
  if (model.family->block.repeats_layers) {
    return fail(Code::unsupported,
                "the model's layers have the weights of one: adapters of it are not supported");
  }
  AdapterMaker maker(model, order, pool);
  for (const AdapterMatrices& m : matrices) TRY(maker.add(m));
  for (const WholeMatrix& whole : wholes) TRY(maker.replace(whole));
  for (const LayerDirection& direction : directions) TRY(maker.steer(direction));
  return maker.take();
}

}  // namespace ruv
