#include "learn_flags.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "train_texts.h"

namespace ruv {
namespace {

// Leaves the number as it is where the text is empty.
Status read_flag_number(const char* flag, const std::string& text, double& number) {
  if (text.empty()) return {};
  const auto [end, error] = read_number(text, number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) return {};
  return fail(Code::invalid, "{} '{}' is not a number", flag, text);
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

Status check_matrices(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto rows = role_rows();
    const bool is_one = std::ranges::any_of(rows, [&](const RoleRow& row) {
      return row.tensor == name && row.of_experts.empty() && !row.of_heads;
    });
    if (!is_one) {
      return fail(Code::invalid, "--learn-matrices: '{}' is not a matrix that has an adapter",
                  name);
    }
  }
  return {};
}

// Lines with marks or answers are canaries, whole texts are held out.
Result<UpdateTexts> read_update_texts(const LearnCall& call, const std::string& path) {
  const std::shared_ptr<const Model> model = TRY(load_model(path));
  UpdateTexts texts;
  for (const TrainSequence& sequence :
       TRY(read_training_lines(*model, call.texts, {.n_ctx = call.n_ctx}))) {
    JudgedText text{.tokens = sequence.tokens};
    for (size_t i = 0; i < text.tokens.size(); ++i) {
      text.weights.push_back(sequence.learns(i) ? 1.0F : 0.0F);
    }
    (sequence.weights.empty() ? texts.held_out : texts.canaries).push_back(std::move(text));
  }
  if (!texts.held_out.empty() && !texts.canaries.empty()) {
    rehearse_half(texts);
    return texts;
  }
  return fail(Code::invalid,
              "--learn-texts {}: has {} texts that are held out and {} answers; both are needed",
              call.texts, texts.held_out.size(), texts.canaries.size());
}

}  // namespace

void add_learn_flags(CommandLine& line, LearnCall& call) {
  const OptionGroup group(line, "Learning");
  line.integer("--learn-rank", call.rank, 1, 2, "Rank of the adapter that is learned");
  line.text(
      "--learn-matrices", call.matrices,
      "Matrices of a layer that it adds to, as attn_q,attn_v; all of attention and feed-forward "
      "when absent");
  line.integer("--learn-layers", call.n_layers, 0, 1 << 20,
               "How many of the last layers have it; 0: as many as fit 1 MB");
  line.integer("--learn-ctx", call.n_ctx, 2, 1 << 20,
               "Tokens of the longest text that is learned; takes memory for as many");
  line.text("--learn-rate", call.rate, "Size of a step");
  line.text("--learn-lambda", call.lambda,
            "How strongly numbers of earlier tasks are held (EWC); 0: not at all");
  line.text("--learn-replay", call.replay,
            "Share of corrections that are kept and learned again; 0: none");
  line.text(
      "--learn-rehearsal", call.rehearsal,
      "How much it counts that nothing changes on every second of these texts; 0: not at all");
  line.text("--learn-texts", call.texts,
            "What the gate measures: lines as `train --jsonl` reads, texts to hold out and answers "
            "to keep; a few of its own when absent");
  line.text("--learn-held-out", call.held_out_rise,
            "The gate refuses a step after which the loss of held-out texts is higher than the "
            "model's by this share");
  line.text("--learn-divergence", call.divergence,
            "… or their predictions differ by more nats for a token (KL)");
  line.text("--learn-canary", call.canary_rise,
            "… or the loss of an answer is higher by more nats for a token");
  line.text("--learn-norm", call.norm, "… or the adapter is larger, as a share of a matrix");
  line.text("--learn-own", call.own_rise,
            "… or the loss of the feedback itself is higher than before by more nats for a token");
  line.flag("--learn-no-sync", call.no_sync,
            "Take feedback without waiting for the disk: it survives the end of the program, but "
            "not a loss of power");
}

bool has_learn_flags(const CommandLine& line) {
  constexpr const char* kFlags[] = {"--learn-rank",     "--learn-matrices",   "--learn-layers",
                                    "--learn-ctx",      "--learn-rate",       "--learn-lambda",
                                    "--learn-replay",   "--learn-texts",      "--learn-rehearsal",
                                    "--learn-held-out", "--learn-divergence", "--learn-canary",
                                    "--learn-norm",     "--learn-own",        "--learn-no-sync"};
  return std::ranges::any_of(kFlags, [&](const char* flag) { return line.given(flag); });
}

Result<LearnOptions> learn_options(const LearnCall& call, const std::string& path, int n_threads) {
  LearnOptions options{.folder = call.folder};
  options.gradient.rank = call.rank;
  options.gradient.alpha = 2 * static_cast<double>(call.rank);
  if (!call.matrices.empty()) options.gradient.matrices = split_names(call.matrices);
  options.gradient.max_rows = call.n_ctx;
  options.gradient.n_threads = n_threads;
  if (call.n_layers > 0) options.gradient.n_layers = call.n_layers;
  options.instance.syncs = !call.no_sync;
  TRY(check_matrices(options.gradient.matrices));
  TRY(read_flag_number("--learn-rate", call.rate, options.step.rate));
  TRY(read_flag_number("--learn-lambda", call.lambda, options.step.lambda));
  TRY(read_flag_number("--learn-replay", call.replay, options.step.replay_share));
  TRY(read_flag_number("--learn-rehearsal", call.rehearsal, options.step.rehearsal));
  UpdateLimits& limits = options.limits;
  TRY(read_flag_number("--learn-held-out", call.held_out_rise, limits.held_out_rise));
  TRY(read_flag_number("--learn-divergence", call.divergence, limits.divergence));
  TRY(read_flag_number("--learn-canary", call.canary_rise, limits.canary_rise));
  TRY(read_flag_number("--learn-norm", call.norm, limits.norm));
  TRY(read_flag_number("--learn-own", call.own_rise, limits.own_rise));
  if (!call.texts.empty()) options.texts = TRY(read_update_texts(call, path));
  return options;
}

}  // namespace ruv
