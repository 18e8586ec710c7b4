// Sums are of doubles in the order of the numbers and roots are exact, so that a vector has the
// same bytes on every machine.
#include "model/embed_plan.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"
#include "model/model.h"
#include "text/normalize/normalizer.h"

namespace ruv {
namespace {

// GGUF's pooling_type: 0 none, 1 mean, 2 cls, 3 last; 4 means a classifier.
Status read_pooling_type(const ModelFile& file, EmbedInfo& info) {
  constexpr std::string_view kKey = "pooling_type";
  if (file.find(kKey) == nullptr) return {};
  const int64_t type = TRY(file.integer(kKey));
  if (type == -1) return {};  // not specified
  if (type < 0 || type > 3) {
    return fail(Code::unsupported, "{}: '{}' is {}: {}", file.path(), file.shown_key(kKey), type,
                type == 4 ? "the model scores pairs of texts and gives no vectors"
                          : "0 (none), 1 (mean), 2 (cls) and 3 (last) are supported");
  }
  info.pooling = static_cast<Pooling>(type);
  info.pooling_is_stated = true;
  return {};
}

Status check_widths(const SentenceFiles& files, int64_t n_embd, const std::string& path) {
  if (files.n_embd != 0 && files.n_embd != n_embd) {
    return fail(Code::corrupt, "{}: the pooling step is for {} numbers, the model has {}", path,
                files.n_embd, n_embd);
  }
  if (!files.dense.empty() && files.dense[0].n_in != n_embd) {
    return fail(Code::corrupt, "{}: the first dense layer takes {} numbers, the model gives {}",
                path, files.dense[0].n_in, n_embd);
  }
  return {};
}

void take_files(SentenceFiles&& files, EmbedPlan& plan) {
  plan.logit_score = files.logit_score;
  if (!files.logit_score) plan.info.pooling = files.pooling;
  plan.info.pooling_is_stated = !files.logit_score;
  plan.info.normalises = files.normalises || files.logit_score;
  plan.info.max_tokens = files.max_tokens;
  plan.info.similarity = std::move(files.similarity);
  plan.info.prompts = std::move(files.prompts);
  plan.info.default_prompt = std::move(files.default_prompt);
  plan.dense = std::move(files.dense);
  plan.pools_prompt = files.pools_prompt;
  plan.lower_case = files.lower_case;
  if (!plan.dense.empty()) plan.info.n_dims = plan.dense.back().n_out;
}

Result<const EmbedPlan*> embed_plan_of(const Model& model) {
  if (model.embed != nullptr) return model.embed.get();
  return tl::unexpected<Status>(model.embed_status);
}

std::vector<float> applied(const DenseLayer& layer, std::span<const float> x) {
  std::vector<float> y(static_cast<size_t>(layer.n_out));
  for (size_t o = 0; o < y.size(); ++o) {
    const float* const w = layer.weight.data() + o * x.size();
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += double{w[i]} * double{x[i]};
    if (!layer.bias.empty()) sum += double{layer.bias[o]};
    y[o] = static_cast<float>(layer.has_tanh ? exact_tanh(sum) : sum);
  }
  return y;
}

double sum_of_squares(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * double{v};
  return sum;
}

// A vector without length stays as it is.
void scale_to_one(std::span<float> x) {
  const double length = std::sqrt(sum_of_squares(x));
  if (!(length > 0)) return;
  for (float& v : x) v = static_cast<float>(double{v} / length);
}

// As Python's lower(), which alone knows another form of a sigma that ends a word.
Result<std::string> lowercased(std::string text) {
  if (text.find("\xCE\xA3") != text.npos) {
    return fail(Code::unsupported,
                "text: a capital sigma, and the model's 'do_lower_case' is true; write it small");
  }
  static const NormalizerStep kStep{.kind = NormalizerKind::lowercase};
  const Normalizer normalizer = TRY(Normalizer::create({&kStep, 1}));
  NormalizedText lower;
  normalizer.apply(text, false, lower);
  return std::move(lower.text);
}

Result<std::string> prompted(const EmbedPlan& plan, std::string_view text,
                             const std::optional<std::string>& name) {
  const std::string& wanted = name ? *name : plan.info.default_prompt;
  if (wanted.empty()) return std::string(text);
  const auto found =
      std::ranges::find(plan.info.prompts, wanted, &std::pair<std::string, std::string>::first);
  if (found == plan.info.prompts.end()) {
    std::string known;
    for (const auto& [known_name, unused] : plan.info.prompts) {
      known += fmt::format("{}'{}'", known.empty() ? "" : ", ", known_name);
    }
    return fail(Code::invalid, "prompt name: the model has no prompt '{}'; {}", wanted,
                known.empty() ? "it has none" : "it has " + known);
  }
  if (!plan.pools_prompt && !found->second.empty()) {
    return fail(Code::unsupported,
                "prompt name: the model's 'include_prompt' is false, and prompts that are not "
                "pooled are not supported");
  }
  return found->second + std::string(text);
}

}  // namespace

Result<std::shared_ptr<const EmbedPlan>> read_embed_plan(const ModelFile& file, int64_t n_embd) {
  auto plan = std::make_shared<EmbedPlan>();
  plan->info.n_dims = n_embd;
  // Every state of an encoder has seen the whole text; their mean is sentence-transformers' choice.
  const bool encodes = file.family() != nullptr && file.family()->block.bidirectional;
  if (encodes) plan->info.pooling = Pooling::mean;
  TRY(read_pooling_type(file, plan->info));
  const MetaValue* const normalises = file.find("normalize_embeddings");
  const bool* const said = normalises == nullptr ? nullptr : std::get_if<bool>(normalises);
  if (said != nullptr) plan->info.normalises = *said;
  if (file.container() != "safetensors") return plan;
  std::optional<SentenceFiles> files = TRY(read_sentence_files(file.path()));
  if (!files) return plan;
  TRY(check_widths(*files, n_embd, file.path()));
  take_files(std::move(*files), *plan);
  return plan;
}

Result<EmbedInfo> embed_info(const Model& model) { return TRY(embed_plan_of(model))->info; }

Status check_embed_params(const Model& model, const EmbedParams& params) {
  const EmbedPlan& plan = *TRY(embed_plan_of(model));
  if (params.dimensions >= 0 && params.dimensions <= plan.info.n_dims) return {};
  return fail(Code::invalid, "dimensions: {} is not from 1 to the {} of the model's vectors",
              params.dimensions, plan.info.n_dims);
}

Result<std::vector<Token>> tokenize_embedding(const Model& model, std::string_view text,
                                              const EmbedPrompt& prompt) {
  const EmbedPlan& plan = *TRY(embed_plan_of(model));
  if (model.tokenizer == nullptr) {
    return fail(Code::unsupported, "{}: no usable tokenizer: {}", model.file->path(),
                model.tokenizer_status.message());
  }
  std::string whole = TRY(prompted(plan, text, prompt.name));
  if (plan.lower_case) whole = TRY(lowercased(std::move(whole)));
  const TokenizerSpec& spec = model.tokenizer->spec();
  std::vector<Token> ids;
  std::span<const Token> last;
  if (prompt.add_special) {
    const std::span<const Token> first = spec.first_tokens();
    ids.assign(first.begin(), first.end());
    last = spec.last_tokens();
  }
  const auto n_special = static_cast<int64_t>(ids.size() + last.size());
  model.tokenizer->encode(whole, SpecialParsing::off, false, ids);
  // A table of embeddings has no row worth counting for what its vocabulary lacks.
  if (model.h.n_layers == 0 && spec.unk) std::erase(ids, *spec.unk);
  if (prompt.max_tokens > 0) {
    if (prompt.max_tokens <= n_special) {
      return fail(Code::invalid, "max_tokens: {} leave no room beside {} special tokens",
                  prompt.max_tokens, n_special);
    }
    const auto n_kept = static_cast<size_t>(prompt.max_tokens) - last.size();
    ids.resize(std::min(ids.size(), n_kept));
  }
  ids.insert(ids.end(), last.begin(), last.end());
  return ids;
}

Embedding finish_embedding(const Model& model, std::span<const float> states,
                           const EmbedParams& params) {
  const EmbedPlan& plan = *model.embed;
  const auto n_embd = static_cast<size_t>(model.h.n_embd);
  const auto n_dims =
      static_cast<size_t>(params.dimensions == 0 ? plan.info.n_dims : params.dimensions);
  Embedding out;
  out.n_rows = static_cast<int64_t>(states.size() / n_embd);
  out.numbers.reserve(static_cast<size_t>(out.n_rows) * n_dims);
  for (size_t at = 0; at < states.size(); at += n_embd) {
    std::vector<float> x(states.begin() + static_cast<std::ptrdiff_t>(at),
                         states.begin() + static_cast<std::ptrdiff_t>(at + n_embd));
    for (const DenseLayer& layer : plan.dense) x = applied(layer, x);
    x.resize(n_dims);
    if (params.normalise.value_or(plan.info.normalises)) scale_to_one(x);
    out.numbers.insert(out.numbers.end(), x.begin(), x.end());
  }
  return out;
}

double cosine_of(std::span<const float> a, std::span<const float> b) {
  double product = 0;
  for (size_t i = 0; i < a.size(); ++i) product += double{a[i]} * double{b[i]};
  const double squares = sum_of_squares(a) * sum_of_squares(b);
  return squares > 0 ? product / std::sqrt(squares) : 0;
}

}  // namespace ruv
