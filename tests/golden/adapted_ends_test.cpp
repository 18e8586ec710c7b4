// Adapters of the embedding and of the output, of lengths of rows, and whole matrices, against
// models that have them in their weights. Against PEFT: tests/oracle/compare_adapters.py.
#include <gtest/gtest.h>

#include <cmath>

#include "golden/test_changed_model.h"
#include "model/test_adapter.h"
#include "ruv/logits.h"

namespace ruv::adapted_ends_test {
namespace {

using Numbers = std::vector<float>;

Numbers logits_of(const std::shared_ptr<const Model>& model, const Adapter* adapter = nullptr) {
  LogitsOptions options{.n_threads = 1, .all = true};
  if (adapter != nullptr) {
    options.adapters = {
        {std::make_shared<LoadedAdapter>(LoadedAdapter{.adapter = *adapter, .model = model})}};
  }
  const Token ids[] = {3, 14, 15, 9, 2, 6, 5, 3, 5};
  Numbers all;
  const Status status = compute_logits(*model, ids, options, [&](int64_t, auto row) {
    all.insert(all.end(), row.begin(), row.end());
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return all;
}

Adapter made(const Model& model, std::span<const AdapterMatrices> matrices,
             RopeOrder order = RopeOrder::halves, std::span<const WholeMatrix> wholes = {}) {
  WorkerPool pool(2);
  Result<Adapter> adapter = make_adapter(model, matrices, order, pool, wholes);
  EXPECT_TRUE(adapter) << adapter.error().message();
  return adapter ? std::move(*adapter) : Adapter();
}

std::string matrix_of(ModelEnd end) {
  return end == ModelEnd::output ? "output.weight" : "token_embd.weight";
}

// An adapter of the last column of a table (n_vocab, n_embd), which is zero in the model: so the
// sums of both are rounded alike, and the bytes are those of the merged table.
struct ExactEnd {
  AdapterMatrices adapter;
  Numbers merged;

  ExactEnd(const Model& model, ModelEnd end, Rng& rng) {
    const auto n_vocab = static_cast<size_t>(model.h.n_vocab);
    const auto n_embd = static_cast<size_t>(model.h.n_embd);
    Numbers of_tokens, of_columns(n_embd);
    of_columns.back() = -2;
    for (size_t i = 0; i < n_vocab; ++i) {
      of_tokens.push_back(static_cast<float>(1 << rng.below(4)) * 0x1p-3F);
      merged.push_back(-of_tokens.back());
    }
    const bool embeds = end == ModelEnd::token_embd;
    const int64_t n = model.h.n_embd;
    adapter = {.a = host_matrix(embeds ? of_tokens : of_columns, embeds ? 1 : n),
               .b = host_matrix(embeds ? of_columns : of_tokens, 1),
               .scale = 0.5F,
               .end = end};
  }
};

void set_last_column(std::span<float> matrix, int64_t n_in, const Numbers& column) {
  for (size_t row = 0; row < column.size(); ++row) {
    matrix[row * static_cast<size_t>(n_in) + static_cast<size_t>(n_in - 1)] = column[row];
  }
}

TEST(AdaptedEnds, OneMatrixGivesTheBytesOfMergedWeights) {
  for (const char* name : {"llama2", "phi3"}) {
    for (const ModelEnd end : {ModelEnd::token_embd, ModelEnd::output}) {
      ChangedModel file(name);
      const auto h = (*load_model(golden_gguf(name)))->h;
      const std::span<float> table = file.numbers(matrix_of(end));
      set_last_column(table, h.n_embd, Numbers(static_cast<size_t>(h.n_vocab)));
      const auto model = *load_model(file.write());
      Rng rng(1);
      const ExactEnd exact(*model, end, rng);
      const Adapter adapter = made(*model, std::span(&exact.adapter, 1));
      const Numbers adapted = logits_of(model, &adapter);
      EXPECT_NE(adapted, logits_of(model)) << name;
      set_last_column(table, h.n_embd, exact.merged);
      EXPECT_EQ(adapted, logits_of(*load_model(file.write()))) << name;
    }
  }
}

// A tied table has an adapter for each of its two uses, and one of them does not change the other.
TEST(AdaptedEnds, TiedMatricesAreTwo) {
  for (const char* name : {"qwen3", "gpt2"}) {
    ChangedModel file(name);
    const auto h = (*load_model(golden_gguf(name)))->h;
    const std::span<float> table = file.numbers("token_embd.weight");
    ASSERT_TRUE(file.numbers("output.weight").empty());
    set_last_column(table, h.n_embd, Numbers(static_cast<size_t>(h.n_vocab)));
    const auto model = *load_model(file.write());
    Rng rng(1), again(1);
    const AdapterMatrices both[] = {ExactEnd(*model, ModelEnd::token_embd, rng).adapter,
                                    ExactEnd(*model, ModelEnd::output, again).adapter};
    const Adapter two = made(*model, both), first = made(*model, std::span(both).first(1));
    const Adapter last = made(*model, std::span(both).last(1));
    const Numbers adapted = logits_of(model, &two);
    EXPECT_NE(adapted, logits_of(model, &first)) << name;
    EXPECT_NE(adapted, logits_of(model, &last)) << name;
    EXPECT_NE(logits_of(model, &first), logits_of(model, &last)) << name;
    again = Rng(1);
    set_last_column(table, h.n_embd, ExactEnd(*model, ModelEnd::output, again).merged);
    EXPECT_EQ(adapted, logits_of(*load_model(file.write()))) << name;
  }
}

TEST(AdaptedEnds, AWholeMatrixTakesThePlaceOfTheModels) {
  for (const ModelEnd end : {ModelEnd::token_embd, ModelEnd::output}) {
    ChangedModel file("llama2");
    const auto model = *load_model(golden_gguf("llama2"));
    const std::span<float> table = file.numbers(matrix_of(end));
    Rng rng(3);
    const Numbers other = small_numbers(std::ssize(table), rng);
    const WholeMatrix whole = {end, host_matrix(other, model->h.n_embd)};
    const Adapter adapter = made(*model, {}, RopeOrder::halves, std::span(&whole, 1));
    EXPECT_TRUE(adapter.replaces());
    // Steps have no room for adapters without a matrix of some rank.
    constexpr Role kQ[] = {Role::q};
    AdapterMatrices nothing = random_matrices(*model, 0, kQ, 1, rng);
    nothing.scale = 0;
    const Adapter beside =
        made(*model, std::span(&nothing, 1), RopeOrder::halves, std::span(&whole, 1));
    std::ranges::copy(other, table.begin());
    EXPECT_EQ(logits_of(model, &beside), logits_of(*load_model(file.write())));
    EXPECT_NE(adapter.key, beside.key);
  }
}

// W + scale · B · A of rows in the file's order, each of the length that is given.
void merge(std::span<float> w, const AdapterMatrices& m) {
  const auto n_in = static_cast<size_t>(m.a.n_in);
  const auto at = [](const MatrixRows& rows, size_t i, size_t j) {
    return double{reinterpret_cast<const float*>(rows.rows[i])[j]};
  };
  for (size_t row = 0; row < m.b.rows.size(); ++row) {
    std::vector<double> sum(n_in);
    double squares = 0;
    for (size_t i = 0; i < n_in; ++i) {
      sum[i] = w[row * n_in + i];
      for (size_t j = 0; j < m.a.rows.size(); ++j) {
        sum[i] += double{m.scale} * at(m.b, row, j) * at(m.a, j, i);
      }
      squares += sum[i] * sum[i];
    }
    for (size_t i = 0; i < n_in; ++i) {
      w[row * n_in + i] = static_cast<float>(sum[i] * m.magnitudes[row] / std::sqrt(squares));
    }
  }
}

// The largest difference over the greatest number.
double difference(const Numbers& a, const Numbers& b) {
  double most = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(double{a[i]} - double{b[i]}));
    size = std::max(size, std::fabs(double{b[i]}));
  }
  return most / size;
}

// llama2: rows in the order of neighbours. gpt2: fused matrices, and biases, which keep their size.
// phi3: fused matrices. gemma2: norms after products. Keys in f16 may round either way.
TEST(RowLengths, AreThoseOfMergedWeights) {
  for (const char* name : {"llama2", "gpt2", "phi3", "gemma2"}) {
    ChangedModel file(name);
    const auto model = *load_model(golden_gguf(name));
    Rng rng(5);
    std::vector<AdapterMatrices> all, plain;
    for (const FileMatrix& m : matrices_of(*model)) {
      all.push_back({.layer = m.layer,
                     .roles = m.roles,
                     .a = host_matrix(small_numbers(4 * m.n_in, rng), m.n_in),
                     .b = host_matrix(small_numbers(m.n_out * 4, rng), 4),
                     .scale = 2.0F});
      plain.push_back(all.back());
      add_random_lengths(all.back(), rng);
      merge(file.numbers(m.name + ".weight"), all.back());
    }
    const RopeOrder order = file.file().rope_order();
    const Adapter adapter = made(*model, all, order), without = made(*model, plain, order);
    EXPECT_TRUE(adapter.has_factors());
    EXPECT_NE(adapter.key, without.key);
    const Numbers merged = logits_of(*load_model(file.write()));
    EXPECT_LT(difference(logits_of(model, &adapter), merged), 1e-3) << name;
    EXPECT_GT(difference(logits_of(model, &without), merged), 1e-2) << name;
  }
}

// gpt2: fused matrices. With lengths the bias is not multiplied, so that it is the adapter's.
TEST(RowLengths, LeaveBiasesThatMayBeTheAdaptersOwn) {
  ChangedModel file("gpt2");
  const auto model = *load_model(golden_gguf("gpt2"));
  Rng rng(8);
  std::vector<AdapterMatrices> all;
  for (const FileMatrix& m : matrices_of(*model)) {
    const std::span<float> bias = file.numbers(m.name + ".bias");
    ASSERT_FALSE(bias.empty()) << m.name;
    all.push_back({.layer = m.layer,
                   .roles = m.roles,
                   .a = host_matrix(Numbers(static_cast<size_t>(m.n_in)), m.n_in),
                   .b = host_matrix(Numbers(static_cast<size_t>(m.n_out)), 1),
                   .biases = {bias.begin(), bias.end()}});
  }
  EXPECT_FALSE(made(*model, all).has_factors()) << "the model's own";
  for (const bool has_lengths : {false, true}) {
    size_t at = 0;
    for (const FileMatrix& m : matrices_of(*model)) {
      AdapterMatrices& one = all[at++];
      one.has_own_biases = true;
      const Numbers changes = small_numbers(m.n_out, rng);
      const std::span<float> bias = file.numbers(m.name + ".bias");
      for (size_t i = 0; i < bias.size(); ++i) bias[i] = one.biases[i] += 4 * changes[i];
      if (!has_lengths) continue;
      add_random_lengths(one, rng);
      merge(file.numbers(m.name + ".weight"), one);
    }
    const Adapter adapter = made(*model, all);
    const Numbers merged = logits_of(*load_model(file.write()));
    EXPECT_LT(difference(logits_of(model, &adapter), merged), 1e-3);
    EXPECT_GT(difference(logits_of(model), merged), 1e-2);
  }
}

// The output's rows, and of the embedding, which trainers see transposed, the columns.
TEST(RowLengths, OfTheEnds) {
  ChangedModel file("llama2");
  const auto model = *load_model(golden_gguf("llama2"));
  const auto n_vocab = static_cast<size_t>(model->h.n_vocab);
  const auto n_embd = static_cast<size_t>(model->h.n_embd);
  Rng rng(6);
  AdapterMatrices ends[] = {random_matrices(*model, ModelEnd::token_embd, 3, rng),
                            random_matrices(*model, ModelEnd::output, 3, rng)};
  for (AdapterMatrices& m : ends) add_random_lengths(m, rng);
  merge(file.numbers("output.weight"), ends[1]);
  // Transposed: columns as rows.
  const std::span<float> table = file.numbers("token_embd.weight");
  Numbers columns(table.size()), of_tokens(3 * n_vocab);
  for (size_t i = 0; i < n_vocab; ++i) {
    for (size_t j = 0; j < n_embd; ++j) columns[j * n_vocab + i] = table[i * n_embd + j];
    const auto* const a = reinterpret_cast<const float*>(ends[0].a.rows[i]);
    for (size_t j = 0; j < 3; ++j) of_tokens[j * n_vocab + i] = a[j];
  }
  AdapterMatrices seen = ends[0];
  seen.a = host_matrix(of_tokens, model->h.n_vocab);
  merge(columns, seen);
  for (size_t i = 0; i < n_vocab; ++i) {
    for (size_t j = 0; j < n_embd; ++j) table[i * n_embd + j] = columns[j * n_vocab + i];
  }
  const Adapter adapter = made(*model, ends);
  EXPECT_LT(difference(logits_of(model, &adapter), logits_of(*load_model(file.write()))), 1e-3);
  EXPECT_GT(difference(logits_of(model, &adapter), logits_of(model)), 1e-2);
}

}  // namespace
}  // namespace ruv::adapted_ends_test
