#include "model/parallel_heads.h"

#include "model/head_tokens.h"

namespace ruv {
namespace {

std::string block_name(size_t head, size_t block) {
  return fmt::format("ahead.{}.block.{}", head, block);
}
std::string output_name(size_t head) { return fmt::format("ahead.{}.output.weight", head); }

class ParallelHeadBinder {
 public:
  ParallelHeadBinder(Model& model, WeightSource& source)
      : m_(model), head_(*model.head), source_(source), n_(model.h.n_embd) {}

  Status run() {
    TRY(source_.noted("d2t", read_tokens()));
    const bool has_bias = TRY(find_biases());
    const bool shares = TRY(truth("ahead.shared_output"));
    const bool has_outputs = TRY(find_outputs());
    for (size_t i = 0; i < head_.parallel.size(); ++i) {
      ParallelHead& one = head_.parallel[i];
      for (size_t j = 0; j < one.blocks.size(); ++j) {
        TRY(source_.noted(block_name(i, j) + ".", bind_block(i, j, has_bias)));
      }
      if (shares && i > 0) {
        one.output = head_.parallel.front().output;
      } else if (has_outputs) {
        TRY(source_.noted(output_name(i), bind_output(i)));
      }
    }
    m_.file->drop_pages();
    return {};
  }

 private:
  Status read_tokens() {
    head_.tokens = TRY(read_head_tokens(source_, m_));
    return {};
  }
  Result<bool> truth(std::string_view key) const { return truth_or(*m_.file, key, false); }

  // Where the file does not say it, biases that one block has all blocks have.
  Result<bool> find_biases() const {
    bool has_any = false;
    for (size_t i = 0; i < head_.parallel.size(); ++i) {
      for (size_t j = 0; j < head_.parallel[i].blocks.size(); ++j) {
        has_any = has_any || source_.has(block_name(i, j) + ".bias");
      }
    }
    constexpr std::string_view kKey = "ahead.block_bias";
    const bool wants = TRY(truth_or(*m_.file, kKey, has_any));
    if (wants || !has_any) return wants;
    return fail(Code::unsupported, "{}: blocks have biases, and '{}' is false", m_.file->path(),
                m_.file->shown_key(kKey));
  }
  // Output matrices are the file's, or all of them the model's.
  Result<bool> find_outputs() const {
    bool has_any = TRY(truth("ahead.own_outputs")) || !head_.tokens.empty();
    for (size_t i = 0; i < head_.parallel.size(); ++i) {
      has_any = has_any || source_.has(output_name(i));
    }
    return has_any;
  }

  Status bind_block(size_t i, size_t j, bool has_bias) {
    Linear& block = head_.parallel[i].blocks[j];
    const std::string name = block_name(i, j);
    block.weight = TRY(source_.pack(TRY(source_.matrix(name + ".weight", n_, n_))));
    if (has_bias) block.bias = TRY(source_.upload(TRY(source_.vector(name + ".bias", n_))));
    return {};
  }

  // Files with fewer outputs than the model may have the matrix of all.
  Status bind_output(size_t i) {
    const std::string name = output_name(i);
    const int64_t n_some = std::ssize(head_.tokens);
    const TensorInfo* const tensor = m_.file->find_tensor(name);
    const bool is_whole =
        tensor != nullptr && !tensor->shape.empty() && tensor->shape[0] == m_.h.n_vocab;
    MatrixRows rows =
        TRY(source_.matrix(name, n_some > 0 && !is_whole ? n_some : m_.h.n_vocab, n_));
    if (n_some > 0 && is_whole) {
      rows = rows.pick(std::vector<int64_t>(head_.tokens.begin(), head_.tokens.end()));
    }
    head_.parallel[i].output = TRY(source_.pack(rows));
    return {};
  }

  Model& m_;
  DraftHead& head_;
  WeightSource& source_;
  int64_t n_;
};

}  // namespace

bool is_parallel_heads(const Model& model) {
  return model.family->is_draft_head && !model.family->block.has_layers;
}

Status plan_parallel_heads(Model& model) {
  const ModelFile& file = *model.file;
  HParams& h = model.h;
  h.n_embd = h.n_embd_in = TRY(read_dimension(file, "embedding_length"));
  h.positions = Positions::none;
  const TensorInfo* const output = file.find_tensor(output_name(0));
  if (file.find("vocab_size") != nullptr) {
    h.n_vocab = TRY(read_dimension(file, "vocab_size"));
  } else if (output != nullptr && !output->shape.empty()) {
    h.n_vocab = output->shape[0];
    if (h.n_vocab < 1) {
      return fail(Code::corrupt, "{}: tensor '{}' is empty", file.path(),
                  file.shown_tensor(output->name));
    }
  }
  const int64_t n_blocks = TRY(read_dimension(file, "ahead.block_count"));
  ParallelHead one;
  one.blocks.resize(static_cast<size_t>(n_blocks));
  model.head = std::make_unique<DraftHead>();
  model.head->parallel.assign(static_cast<size_t>(TRY(read_dimension(file, "ahead.head_count"))),
                              one);
  return {};
}

Status bind_parallel_heads(Model& model, WeightSource& source) {
  return ParallelHeadBinder(model, source).run();
}

Status check_parallel_heads(const Model& model, const Model& heads) {
  const ModelFile& file = *heads.file;
  const HParams &h = model.h, &own = heads.h;
  const auto differs = [&](std::string_view key, int64_t n, int64_t n_model) {
    return fail(Code::unsupported,
                "{}: the drafting heads are for another model: '{}' is {}, here {}", file.path(),
                file.shown_key(key), n, n_model);
  };
  if (own.n_embd != h.n_embd) return differs("embedding_length", own.n_embd, h.n_embd);
  if (own.n_vocab > 0 && own.n_vocab != h.n_vocab) {
    return differs("vocab_size", own.n_vocab, h.n_vocab);
  }
  if (h.streams.exists() || h.reads_source() || h.encodes || model.output.empty()) {
    return fail(Code::unsupported,
                "{}: drafting heads of files of their own are not for models of the family '{}'",
                file.path(), model.family->name);
  }
  return {};
}

std::string parallel_heads_text(const Model& heads) {
  const DraftHead& head = *heads.head;
  const size_t n = head.parallel.size(), n_blocks = head.parallel.front().blocks.size();
  const std::string tokens =
      heads.h.n_vocab > 0 ? fmt::format(" with {} tokens", heads.h.n_vocab) : std::string();
  const std::string outputs =
      head.tokens.empty() ? std::string() : fmt::format(", drafts {} of them", head.tokens.size());
  const bool has_own = !head.parallel.front().output.empty();
  return fmt::format("{} head{} of {} block{} for models of width {}{}{}{}", n, n == 1 ? "" : "s",
                     n_blocks, n_blocks == 1 ? "" : "s", heads.h.n_embd, tokens, outputs,
                     has_own ? "" : ", with the model's output matrix");
}

}  // namespace ruv
