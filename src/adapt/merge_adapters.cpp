// All ranks are known before the first module is merged, so that headers are written first and the
// matrices follow one by one.
#include "adapt/merge_adapters.h"

#include <algorithm>
#include <cmath>

#include "adapt/adapter_writer.h"
#include "format/gguf.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr double kMaxF16 = 65504;

// The rank that a module of the result has.
int64_t planned_rank(const SetModule& module, const AdapterSet& set, const MergeOptions& options) {
  const MergeStrategyRow& row = strategy_row(set.recipe().strategy);
  const bool only_last = row.strategy == MergeStrategy::most_recent;
  const int64_t sum = only_last ? module.parts.back().second->rank() : module.sum_of_ranks();
  if (row.strategy == MergeStrategy::cat) return sum;
  const int64_t wanted = options.rank_of == MergedRank::given     ? options.rank
                         : options.rank_of == MergedRank::largest ? module.largest_rank()
                                                                  : sum;
  // A change without two thin factors has any rank.
  const int64_t most = std::min(module.n_out, module.n_in);
  return std::min({wanted, most, row.takes_density ? most : sum});
}

// Bytes of a matrix whose rows are the columns of x, or with `by_columns` whose columns they are;
// x becomes what the bytes say. Columns beyond those of x are zeros.
Result<std::vector<std::byte>> rounded(Columns& x, int64_t rank, bool by_columns, DType dtype,
                                       const std::string& tensor) {
  for (const double number : x.numbers) {
    if (dtype == DType::f16 ? std::fabs(number) > kMaxF16
                            : !std::isfinite(static_cast<float>(number))) {
      return fail(Code::invalid, "'{}': {} is above what {} can hold; use type f32",
                  quoted_name(tensor), number, format_of(dtype).name);
    }
  }
  x.numbers.resize(static_cast<size_t>(x.n_rows * rank));
  x.n_cols = rank;
  std::vector<float> numbers(x.numbers.size());
  const auto place = [&](size_t i) {
    const size_t column = i / static_cast<size_t>(x.n_rows),
                 row = i % static_cast<size_t>(x.n_rows);
    return by_columns ? row * static_cast<size_t>(rank) + column : i;
  };
  for (size_t i = 0; i < numbers.size(); ++i) numbers[place(i)] = static_cast<float>(x.numbers[i]);
  const Format& format = format_of(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(format.bytes_of(std::ssize(numbers))));
  format.encode(numbers.data(), nullptr, bytes.data(), std::ssize(numbers));
  format.decode(bytes.data(), numbers.data(), std::ssize(numbers));
  for (size_t i = 0; i < numbers.size(); ++i) x.numbers[i] = numbers[place(i)];
  return bytes;
}

// The architecture of the model that an adapter in a GGUF file is for.
Result<std::string> architecture_of(const AdapterFile& file) {
  const GgufContents contents = TRY(parse_gguf(file.files.front().bytes(), file.path));
  const auto found = contents.metadata.find("general.architecture");
  const auto* const text =
      found == contents.metadata.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (text == nullptr) {
    return fail(Code::corrupt, "{}: metadata 'general.architecture': not a text, or missing",
                file.path);
  }
  return *text;
}

// Everything but the numbers, checked.
Result<WrittenAdapter> planned(const AdapterSet& set, const std::string& out_path,
                               const MergeOptions& options) {
  const bool names_gguf = out_path.ends_with(".gguf");
  if (names_gguf != set.is_gguf()) {
    return fail(Code::invalid, "{}: {}", out_path,
                set.is_gguf() ? "adapters that are GGUF files give a GGUF file: name it .gguf"
                              : "adapters of PEFT and MLX give a folder of PEFT, not a GGUF file");
  }
  if (options.rank_of == MergedRank::given && options.rank <= 0) {
    return fail(Code::invalid, "rank {} is not above 0", options.rank);
  }
  if (set.recipe().strategy == MergeStrategy::cat && options.rank_of != MergedRank::sum) {
    return fail(Code::invalid, "strategy cat has the sum of the ranks; linear takes another");
  }
  WrittenAdapter out{.dtype = options.dtype};
  out.base = options.base.empty() ? TRY(set.base()) : options.base;
  if (set.is_gguf()) {
    out.container = AdapterContainer::gguf;
    out.architecture = TRY(architecture_of(set.files().front()));
    for (const AdapterFile& file : set.files()) {
      if (const std::string other = TRY(architecture_of(file)); other != out.architecture) {
        return fail(Code::invalid, "{} is for the architecture '{}' and {} for '{}'",
                    set.files().front().path, quoted_name(out.architecture), file.path,
                    quoted_name(other));
      }
    }
  }
  for (const SetModule& module : set.modules()) {
    out.modules.push_back(
        {module.tensor, module.n_out, module.n_in, planned_rank(module, set, options)});
  }
  return out;
}

class AdapterMerge {
 public:
  AdapterMerge(const AdapterSet& set, const MergeOptions& options, AdapterWriter& out)
      : set_(set), options_(options), out_(out), pool_(options.n_threads) {}

  Status merge(const SetModule& module, int64_t rank, MergeStep& step) {
    const MergedChange change = TRY(set_.change(module, options_.max_bytes, pool_));
    ThinProduct fitted = change.product
                             ? truncated(*change.product, rank)
                             : truncated(change.dense(), rank, set_.recipe().seed, pool_);
    const auto a = TRY(rounded(fitted.a, rank, false, options_.dtype, module.tensor));
    const auto b = TRY(rounded(fitted.b, rank, true, options_.dtype, module.tensor));
    TRY(out_.write(a, b));
    step.rank = rank;
    const double length = change.product ? length_of(*change.product) : norm_of(change.dense());
    step.relative_error = change.product ? relative_error(*change.product, fitted)
                                         : relative_error(change.dense(), fitted, pool_);
    squares_ += length * length;
    errors_ += std::pow(length * step.relative_error, 2);
    summary_.n_modules += 1;
    summary_.n_params += rank * (module.n_in + module.n_out);
    summary_.n_bytes += std::ssize(a) + std::ssize(b);
    if (summary_.worst.empty() || step.relative_error > summary_.worst_error) {
      summary_.worst = module.tensor;
      summary_.worst_error = step.relative_error;
    }
    return {};
  }
  MergeSummary summary() {
    summary_.relative_error = errors_ == 0 ? 0 : std::sqrt(errors_ / squares_);
    return summary_;
  }

 private:
  static double norm_of(const DenseChange& change) {
    double sum = 0;
    const int64_t n = change.n_rows * change.n_cols;
    for (int64_t i = 0; i < n; ++i) sum += double{change.numbers[i]} * double{change.numbers[i]};
    return std::sqrt(sum);
  }

  const AdapterSet& set_;
  const MergeOptions& options_;
  AdapterWriter& out_;
  WorkerPool pool_;
  MergeSummary summary_;
  double squares_ = 0, errors_ = 0;
};

}  // namespace

Result<MergeSummary> merge_adapters(const AdapterSet& set, const std::string& out_path,
                                    const MergeOptions& options) {
  const WrittenAdapter plan = TRY(planned(set, out_path, options));
  const FileTarget target{.replace = options.replace, .never = set.inputs()};
  AdapterWriter out = TRY(AdapterWriter::create(out_path, plan, target));
  AdapterMerge merge(set, options, out);
  MergeStep step{.n_modules = std::ssize(plan.modules)};
  for (const WrittenModule& module : plan.modules) {
    const SetModule& from = set.modules()[static_cast<size_t>(step.index)];
    step.tensor = module.tensor;
    TRY(merge.merge(from, module.rank, step));
    if (options.on_module && !options.on_module(step)) {
      return fail(Code::cancelled, "{}: stopped after '{}'", out_path, quoted_name(module.tensor));
    }
    ++step.index;
  }
  for (const AdapterFile& file : set.files()) {
    for (const MappedFile& mapped : file.files) TRY(mapped.check_read());
  }
  TRY(out.commit());
  return merge.summary();
}

}  // namespace ruv
