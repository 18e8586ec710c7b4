// load_model: opens a file, finds its family, binds every tensor to its role, packed for this
// machine or mapped from the packed file of an earlier start.
#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/machine.h"
#include "base/thread.h"
#include "device/weight_pager.h"
#include "family/word_list.h"
#include "format/rank_readme.h"
#include "format/tensor_names.h"
#include "model/bind_weights.h"
#include "model/draft_head.h"
#include "model/examine.h"
#include "model/head_tokens.h"
#include "model/packed_cache.h"
#include "model/packed_key.h"
#include "model/pair_prompt.h"
#include "model/parallel_heads.h"
#include "model/sampling_keys.h"
#include "model/weight_choice.h"

namespace ruv {
namespace {

// Tensors that the decoder reads by another way, or that repeat what other numbers say.
bool is_known_elsewhere(std::string_view name) {
  return name == "rope_freqs.weight" || name.starts_with("rope_factors_") ||
         name.find(".attn_rot_embd.") != name.npos;
}

// Whether it is of a layer that is not computed (HParams).
bool is_behind(const std::string& name, int64_t n_layers) {
  int64_t layer = -1;
  if (name.starts_with("blk.")) std::from_chars(&name[4], name.data() + name.size(), layer);
  return layer >= n_layers;
}

// Whether it is of the keys or values of a layer that reads those of another one. Files have them,
// though nothing reads them.
bool is_of_sharing_layer(const Model& m, const std::string& name) {
  int64_t layer = -1;
  if (!name.starts_with("blk.")) return false;
  std::from_chars(&name[4], name.data() + name.size(), layer);
  const bool is_layer = layer >= 0 && std::cmp_less(layer, m.plans.size());
  if (!is_layer || m.plans[static_cast<size_t>(layer)].kv_layer < 0) return false;
  return name.find(".attn_k.") != name.npos || name.find(".attn_v.") != name.npos ||
         name.find(".attn_k_norm.") != name.npos;
}

// Whether it is a matrix of low rank that a block has for uses of other blocks (SharedPlan). Files
// of models whose blocks are not shared have them, though nothing reads them.
bool is_of_other_use(const Model& m, const std::string& name) {
  const size_t at = name.find("_adapter_");
  if (m.h.n_shared_blocks == 0 || !name.starts_with("blk.") || at == name.npos) return false;
  const size_t dot = name.find('.', at);
  int64_t layer = -1, use = -1;
  std::from_chars(&name[4], name.data() + name.size(), layer);
  if (dot != name.npos) std::from_chars(&name[dot] + 1, name.data() + name.size(), use);
  return std::ranges::any_of(m.plans, [&](const LayerPlan& p) {
    return p.shared.exists() && p.shared.use == use && p.shared.layer != layer;
  });
}

// A GGUF file holds what its model needs: a tensor without a role means another model than ours.
Faults find_unused(const Model& m, const WeightSource& source) {
  Faults faults;
  if (m.file->container() != "gguf") return faults;
  for (const TensorInfo& tensor : m.file->tensors()) {
    if (source.was_used(tensor.name) || is_known_elsewhere(tensor.name)) continue;
    if (is_of_sharing_layer(m, tensor.name) || is_of_other_use(m, tensor.name)) continue;
    if (m.h.n_ahead > 0 && is_behind(tensor.name, m.h.n_layers)) continue;
    if (m.family->is_draft_head && tensor.name == kHeadTokens) continue;
    faults.add(
        fail(Code::unsupported,
             "{}: tensor '{}' has no role in architecture '{}'; --ignore-key {} computes as if it "
             "were not there",
             m.file->path(), quoted_name(tensor.name), m.file->architecture(),
             quoted_name(tensor.name)));
  }
  return faults;
}

class WeightLoader {
 public:
  WeightLoader(Model& model, WorkerPool& pool, const LoadOptions& options)
      : m_(model),
        pool_(pool),
        options_(options),
        cache_(options),
        n_packed_(packed_bytes_of(*model.file, model.device->packing())),
        n_memory_(options.memory_bytes > 0 ? options.memory_bytes : model.device->memory_bytes()) {}

  Status run() {
    if (!cache_.takes(n_packed_)) return pack_only();
    if (exceeds_memory()) {
      cache_.note(
          NoteKind::remark,
          fmt::format("the weights ({:.2f} GB) exceed what memory holds of them ({:.2f} GB): "
                      "they are read from the packed file as they are used",
                      in_gb(n_packed_), in_gb(n_memory_)));
    }
    const PackedKey key = packed_key(*m_.file, m_.device->packing());
    const std::optional<PackedFile> file = cache_.find(key, pool_);
    TRY(file ? take(key, *file) : pack(key));
    if (exceeds_memory() && m_.packed_file != nullptr) page_weights();
    return {};
  }

 private:
  bool exceeds_memory() const { return n_packed_ > n_memory_ / 8 * 7; }

  void page_weights() {
    m_.packed_file->expect_parts();
    // Something is left for what the process will need beside.
    const auto room = [n_given = options_.memory_bytes] {
      return n_given > 0 ? n_given : file_memory_bytes() / 16 * 15;
    };
    m_.pager = std::make_shared<WeightPager>(m_.packed_file, room);
    m_.pager->adopt(std::move(parts_));
  }

  // Finds distances and uses them. Requires: weights in memory. Formats of few bytes keep theirs:
  // they lie in caches, and nothing waits for them.
  FoundReadAhead find_read_ahead() {
    FoundReadAhead found{
        m_.device->processor_id(),
        m_.device->find_read_ahead(packed_, options_.packed_cache_min_bytes, pool_)};
    m_.device->use_read_ahead(found.distances);
    return found;
  }

  Status bind(PackPlan plan, int64_t* n_lacking = nullptr) {
    plan.on_bytes = [this, n_ready = int64_t{0}](int64_t n_bytes) mutable {
      n_ready += n_bytes;
      if (options_.progress)
        options_.progress(LoadStage::packing, std::min(1.0, share_of(n_ready)));
    };
    WeightSource source(*m_.file, *m_.device, pool_, std::move(plan));
    TRY(bind_weights(m_, source));
    TRY(Status(find_unused(m_, source).first()));
    if (n_lacking != nullptr) *n_lacking = source.n_lacking();
    packed_ = source.packed();
    return {};
  }
  double share_of(int64_t n_bytes) const {
    return static_cast<double>(n_bytes) / static_cast<double>(std::max<int64_t>(1, n_packed_));
  }

  // In memory. What does not fit would end the process, or others.
  Status pack_only() {
    if (n_packed_ <= n_memory_) {
      TRY(bind({}));
      find_read_ahead();
      return {};
    }
    return fail(Code::out_of_memory,
                "{}: the weights take {:.2f} GB and there are {:.2f} GB of memory; such models run "
                "from a file of packed weights, for which a folder needs room "
                "(LoadOptions::packed_cache_dir, --packed-cache)",
                m_.file->path(), in_gb(n_packed_), in_gb(n_memory_));
  }

  Status pack(const PackedKey& key) {
    const std::unique_ptr<PackedFileWriter> writer = cache_.begin(key, n_packed_);
    return writer == nullptr ? pack_only() : pack_to(key, *writer);
  }

  Status take(const PackedKey& key, const PackedFile& file) {
    int64_t n_lacking = 0;
    TRY(bind({&file, nullptr}, &n_lacking));
    m_.from_packed_file = n_lacking == 0;
    m_.packed_file = file.file();
    parts_ = file.parts();
    if (file.read_ahead().processor_id == m_.device->processor_id()) {
      m_.device->use_read_ahead(file.read_ahead().distances);
    } else if (!exceeds_memory()) {
      find_read_ahead();
    }
    if (n_lacking > 0) cache_.discard(key, fmt::format("{} matrices are not in it", n_lacking));
    return {};
  }

  Status pack_to(const PackedKey& key, PackedFileWriter& writer) {
    const SteadyClock clock;
    const int64_t start = clock.now_ns();
    Status status = bind({nullptr, &writer});
    if (status.ok()) status = writer.flush();
    // A tensor that is wrong is found again below; what only the cache suffers from is not.
    if (!status.ok()) {
      TRY(pack_only());
      cache_.note(NoteKind::problem, "packed weights not kept: " + status.message());
      return {};
    }
    m_.packed_file = writer.mapping();
    parts_ = writer.parts();
    const double seconds = static_cast<double>(clock.now_ns() - start) * 1e-9;
    if (!exceeds_memory()) writer.keep(find_read_ahead());
    if (!is_unchanged(*m_.file)) {
      cache_.note(NoteKind::problem, fmt::format("packed weights not kept: {} changed while it was "
                                                 "read",
                                                 m_.file->path()));
      return {};
    }
    if (cache_.publish(key, writer)) {
      cache_.note(NoteKind::stored,
                  fmt::format("packed weights kept for the next start: {:.2f} GB in {}, which may "
                              "grow to {:.0f} GB; packed in {:.1f} s",
                              in_gb(n_packed_), options_.packed_cache_dir,
                              in_gb(options_.packed_cache_max_bytes), seconds));
    }
    return {};
  }

  Model& m_;
  WorkerPool& pool_;
  const LoadOptions& options_;
  PackedCache cache_;
  int64_t n_packed_;
  int64_t n_memory_;          // that weights may fill
  std::vector<Bytes> parts_;  // of the packed file, all of its matrices
  std::vector<Weight> packed_;
};

// A model without a usable tokenizer still runs on token ids; the error is kept for callers that
// need text.
void bind_text(Model& m) {
  Result<TokenizerSpec> spec = m.file->tokenizer_spec();
  if (!spec) {
    m.tokenizer_status = spec.error();
  } else if (Result<std::shared_ptr<const Tokenizer>> t = Tokenizer::create(std::move(*spec)); t) {
    m.tokenizer = std::move(*t);
  } else {
    m.tokenizer_status = with_context(m.file->path(), t.error());
  }
  const std::string source = m.file->chat_template();
  if (source.empty()) {
    m.chat_template_status = Status(Code::unsupported, "the model has no chat template");
    return;
  }
  Result<DeclaredFormat> declared = read_response_template(m.file->response_template());
  if (!declared) {
    // Calls and reasoning are then found from the chat template alone.
    m.remarks.push_back(declared.error().message() + "; the template is not used");
    declared = DeclaredFormat();
  }
  if (auto t = ChatTemplate::parse(source, std::move(*declared)); t) {
    m.chat_template = std::move(*t);
  } else {
    m.chat_template_status = with_context("the model's chat template", t.error());
  }
}

// After the texts are bound: a system message that the template drops or refuses would be lost in
// every conversation, or keep all of them from being answered.
void settle_defaults(Model& m, const LoadOptions& options) {
  m.defaults = options.defaults;
  if (m.defaults.system.empty()) return;
  const bool has_template = m.chat_template != nullptr;
  if (has_template && m.chat_template->capabilities().system_role) return;
  m.defaults.system.clear();
  m.remarks.push_back(fmt::format("the default system message is not used: {}",
                                  has_template ? "the chat template does not show it"
                                               : "there is no chat template that can be used"));
  if (options.note)
    options.note(NoteKind::problem, fmt::format("{}: {}", m.file->path(), m.remarks.back()));
}

// A model whose vectors cannot be computed still generates text.
void bind_embed(Model& m) {
  if (m.family->is_draft_head) {
    m.embed_status = Status(Code::unsupported, "the file is a head that drafts");
    return;
  }
  if (m.h.reads_source()) {
    m.embed_status =
        Status(Code::unsupported, "the model answers a source text and gives no vectors");
    return;
  }
  Result<std::shared_ptr<const EmbedPlan>> plan = read_embed_plan(*m.file, m.h.n_embd);
  if (plan) {
    m.embed = std::move(*plan);
  } else {
    m.embed_status = plan.error();
  }
}

// The tokens whose logits score a pair; nothing for other models.
Result<std::optional<LogitScore>> scored_tokens(const Model& m) {
  if (m.embed != nullptr && m.embed->logit_score) return m.embed->logit_score;
  if (m.tokenizer == nullptr || !ranks_by_readme(*m.file)) return std::nullopt;
  const RankPrompt& ranks = m.family->ranks;
  const auto yes = m.tokenizer->find(ranks.yes), no = m.tokenizer->find(ranks.no);
  if (!yes || !no) {
    return fail(Code::unsupported, "{}: the tokenizer has no tokens '{}' and '{}'", m.file->path(),
                ranks.yes, ranks.no);
  }
  return LogitScore{.true_token = *yes, .false_token = *no};
}

Status bind_token_scores(Model& m) {
  if (m.classifier != nullptr) return {};
  const std::optional<LogitScore> tokens = TRY(scored_tokens(m));
  if (tokens) m.classifier = TRY(token_classifier(m, *tokens));
  return {};
}

// A model that cannot score pairs as its files ask still does what it otherwise does.
void bind_pairs(Model& m) {
  if (const Status status = bind_token_scores(m); !status.ok()) {
    m.pair_form = tl::unexpected<Status>(status);
    return;
  }
  if (m.classifier == nullptr || m.tokenizer == nullptr) return;
  Result<std::shared_ptr<const PairPrompt>> prompt = read_pair_prompt(m);
  if (!prompt || *prompt != nullptr) {
    m.pair_form = prompt ? Result<PairForm>(PairForm()) : tl::unexpected<Status>(prompt.error());
    if (prompt) m.pair_prompt = std::move(*prompt);
    return;
  }
  m.pair_form = m.file->container() == "safetensors"
                    ? read_pair_form(m.file->path(), m.tokenizer->spec())
                    : usual_pair_form(m.tokenizer->spec());
}

// Where no weight is multiplied in a way of this machine's own, being portable costs nothing.
DeviceChoice choice_of(const LoadOptions& options, const ModelFile& file) {
  const bool has_pairs = std::ranges::any_of(file.tensors(), [](const TensorInfo& t) {
    return (t.dtype == DType::bf16 || t.dtype == DType::f16) && t.shape.size() > 1;
  });
  return {.isa = options.isa, .portable = options.portable || !has_pairs};
}

void collect_remarks(Model& m, const LoadOptions& options) {
  for (const std::string& key : options.ignored_keys) {
    const auto found = m.file->ignored_keys();
    const bool had = std::find(found.begin(), found.end(), key) != found.end();
    m.remarks.push_back(
        had ? fmt::format("'{}' is ignored, as asked for", quoted_name(key))
            : fmt::format("'{}' was to be ignored, but the file has none", quoted_name(key)));
    if (options.note) {
      options.note(NoteKind::problem, fmt::format("{}: {}", m.file->path(), m.remarks.back()));
    }
  }
  if (!m.file->weight_type().empty()) {
    m.remarks.push_back(
        fmt::format("matrices of floats are quantised to {} as they load", m.file->weight_type()));
  }
  m.remarks.insert(m.remarks.end(), m.file->remarks().begin(), m.file->remarks().end());
  m.sampling = read_sampling(*m.file, m.remarks);
}

// Chooses a device for a model that has none.
Status open_file(Model& model, const std::string& path, const LoadOptions& options,
                 bool tables_only) {
  std::shared_ptr<ModelFile> file = TRY(ModelFile::open(path, {options.ignored_keys, tables_only}));
  model.file = file;
  if (model.device == nullptr) model.device = TRY(choose_device(choice_of(options, *file)));
  TRY(choose_weights(*file, *model.device, options));
  collect_remarks(model, options);
  return {};
}

// A head that lacks something keeps no model from running.
Status settle_draft_head(Model& model, const LoadOptions& options) {
  if (model.family->is_draft_head) return plan_draft_head(model);
  TRY(plan_draft_head(model));
  if (!options.draft_head) drop_draft_head(model, "it was not wanted");
  if (!options.draft_head_file.empty()) drop_draft_head(model, "another one drafts");
  if (model.head == nullptr) return {};
  WorkerPool pool(1);
  WeightSource source(*model.file, *model.device, pool, {.shapes_only = true});
  if (const Status status = bind_draft_head(model, source); !status.ok()) {
    drop_draft_head(model, status.message());
  }
  return {};
}

// Everything but weights and texts.
Status read_numbers(Model& model, const LoadOptions& options) {
  model.family = TRY(model.file->known_family());
  if (is_parallel_heads(model)) return plan_parallel_heads(model);
  model.h = TRY(read_hparams(*model.file, *model.family));
  model.rope = TRY(read_rope(*model.file, *model.family, model.h));
  model.plans = TRY(plan_layers(*model.file, *model.family, model.h, model.rope));
  return settle_draft_head(model, options);
}

Status check_vocabulary(const Model& model) {
  if (model.tokenizer == nullptr || model.tokenizer->vocab_size() <= model.h.n_vocab) return {};
  return fail(Code::corrupt, "{}: the tokenizer has {} tokens, the embedding only {}",
              model.file->path(), model.tokenizer->vocab_size(), model.h.n_vocab);
}

// What binding finds, of which only shapes are looked at.
void examine_weights(Model& model, Faults& faults) {
  WorkerPool pool(1);
  WeightSource source(*model.file, *model.device, pool, {.shapes_only = true, .faults = &faults});
  faults.add(bind_weights(model, source));
  faults.add(find_unused(model, source));
}

// Files of heads hold no model.
Status check_is_model(const ModelFile& file) {
  if (file.family() == nullptr || !file.family()->is_draft_head) return {};
  return fail(Code::unsupported,
              "{}: a head that drafts for a model, and none itself; load the model with it "
              "(LoadOptions::draft_head_file, --draft-model)",
              file.path());
}

// The head of another file, on the model's device.
Status load_draft_head(Model& model, WorkerPool& pool, const LoadOptions& options) {
  const auto source = std::make_shared<Model>();
  source->device = model.device;
  TRY(open_file(*source, options.draft_head_file, options, false));
  const FamilyRecord* const family = TRY(source->file->known_family());
  if (!family->is_draft_head) {
    return fail(Code::invalid, "{}: not a drafting head but a model", source->file->path());
  }
  TRY(Status(source->file->usable()));
  TRY(read_numbers(*source, options));
  TRY(WeightLoader(*source, pool, options).run());
  if (const MappedFile* const damaged = damaged_file(*source)) TRY(damaged->check_read());
  return take_draft_head(model, source);
}

}  // namespace

bool is_draft_head(const std::string& path) {
  const auto file = ModelFile::open(path, {.ignored_keys = {}, .tables_only = true});
  return file && (*file)->family() != nullptr && (*file)->family()->is_draft_head;
}

const MappedFile* damaged_file(const Model& model) {
  if (model.packed_file != nullptr && model.packed_file->is_damaged())
    return model.packed_file.get();
  if (model.file == nullptr) return nullptr;
  for (const MappedFile& file : model.file->files()) {
    if (file.is_damaged()) return &file;
  }
  const bool has_another = model.head != nullptr && model.head->source != nullptr;
  return has_another ? damaged_file(*model.head->source) : nullptr;
}

ExaminedModel examine_model(const std::string& path, const LoadOptions& options) {
  ExaminedModel out;
  const auto model = std::make_shared<Model>();
  out.faults.add(open_file(*model, path, options, true));
  if (model->device == nullptr) return out;
  out.model = model;
  bind_text(*model);
  settle_defaults(*model, options);
  out.faults.add(model->file->faults());
  const Status numbers = read_numbers(*model, options);
  out.has_numbers = numbers.ok();
  // A number may be missing because the key that has it is refused.
  if (out.faults.empty() || numbers.code() != Code::not_found) out.faults.add(numbers);
  if (out.has_numbers) bind_embed(*model);
  if (!out.has_numbers || model->file->files().empty()) return out;
  examine_weights(*model, out.faults);
  if (model->h.n_vocab > 0) out.faults.add(check_vocabulary(*model));
  return out;
}

Status check_model(const std::string& path, const LoadOptions& options) {
  const ExaminedModel examined = examine_model(path, options);
  TRY(Status(examined.faults.first()));
  return check_is_model(*examined.model->file);
}

Result<std::shared_ptr<const Model>> load_model(const std::string& path,
                                                const LoadOptions& options) {
  return load_model_on(nullptr, path, options);
}

Result<std::shared_ptr<const Model>> load_model_on(std::shared_ptr<Device> device,
                                                   const std::string& path,
                                                   const LoadOptions& options) {
  const auto model = std::make_shared<Model>();
  model->device = std::move(device);
  TRY(open_file(*model, path, options, false));
  TRY(check_is_model(*model->file));
  TRY(Status(model->file->usable()));
  TRY(read_numbers(*model, options));
  bind_embed(*model);
  // Beside the weights: a large vocabulary takes a tenth of a second.
  Pending<bool> text = run_beside([&m = *model] {
    bind_text(m);
    return true;
  });
  WorkerPool pool(options.n_threads);
  TRY(WeightLoader(*model, pool, options).run());
  text.get();
  settle_defaults(*model, options);
  if (!options.draft_head_file.empty()) TRY(load_draft_head(*model, pool, options));
  bind_pairs(*model);
  // Weights and tokenizer were read from it.
  if (const MappedFile* const damaged = damaged_file(*model)) TRY(damaged->check_read());
  TRY(check_vocabulary(*model));
  return std::shared_ptr<const Model>(model);
}

}  // namespace ruv
