#include "learn/learn_instance.h"

#include <algorithm>

#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"

namespace ruv {
namespace {

// A whole number of an entry. Fails: corrupt.
Result<uint64_t> entry_number(const Json& entry, std::string_view name, const std::string& path) {
  const Json* const value = find_field(entry, name);
  if (value != nullptr && value->is_number_unsigned()) return value->get<uint64_t>();
  return fail(Code::corrupt, "{}: an entry without the number \"{}\"", path, name);
}

}  // namespace

// Members that say nothing are left out.
Json summary_json(const InstanceSummary& s) {
  Json json = {{"name", s.name},
               {"generation", s.generation},
               {"feedback", s.n_feedback},
               {"accepted", s.n_accepted},
               {"refused", s.n_refused},
               {"pending", s.n_pending},
               {"oldest_generation", s.oldest_generation},
               {"task", s.task},
               {"mean_reward", s.mean_reward}};
  if (!s.refusal.empty()) json["last_refusal"] = s.refusal;
  if (!s.failure.empty()) json["failure"] = s.failure;
  return json;
}

Result<std::unique_ptr<LearnInstance>> LearnInstance::open(
    const std::string& folder, const InstanceOptions& options, const StateFit& fit,
    std::shared_ptr<const LearnState> initial) {
  TRY(make_folder(folder));
  std::unique_ptr<LearnInstance> made(new LearnInstance(folder, options, fit, std::move(initial)));
  const Json first = {
      {"journal",
       {{"version", 1}, {"model", fmt::format("{:016x}", fit.model)}, {"numbers", fit.n_numbers}}}};
  made->journal_.emplace(TRY(LearnJournal::open(
      folder + "/journal", options.syncs, first, [&](const Json& entry) -> Status {
        if (!entry.contains("journal")) return made->visit(entry);
        if (entry == first) return {};
        return fail(Code::invalid, "{}/journal: is of another model, rank or choice of matrices",
                    folder);
      })));
  made->state_ = TRY(made->load_state(made->generation_));
  made->forget_texts();
  return made;
}

// The same for lines of the file and for those that are added, so that a restart cannot differ.
// What is out of order was not written by this program.
Status LearnInstance::visit(const Json& entry) {
  const std::string path = folder_ + "/journal";
  if (const Json* const feedback = entry.find("feedback")) {
    const uint64_t number = TRY(entry_number(entry, "number", path));
    if (number != n_feedback_ + 1) return fail(Code::corrupt, "{}: feedback out of order", path);
    texts_.emplace(number, TRY(parse_judgement(*feedback, path)));
    n_feedback_ = number;
    return {};
  }
  if (const Json* const update = entry.find("update")) return visit_update(*update);
  if (const Json* const undo = entry.find("undo")) {
    const uint64_t to = TRY(entry_number(*undo, "generation", path));
    if (to != 0 && !parents_.contains(to)) {
      return fail(Code::corrupt, "{}: generation {} is not one", path, to);
    }
    generation_ = to;
    return {};
  }
  return fail(Code::corrupt, "{}: an entry of no known kind", path);
}

Status LearnInstance::visit_update(const Json& update) {
  const std::string path = folder_ + "/journal";
  const uint64_t number = TRY(entry_number(update, "feedback", path));
  if (number != last_done_ + 1 || number > n_feedback_) {
    return fail(Code::corrupt, "{}: an outcome of feedback {}, out of order", path, number);
  }
  last_done_ = number;
  if (const Json* const why = update.find("refused")) {
    ++n_refused_;
    refusal_ = why->is_string() ? why->get<std::string>() : "";
    return {};
  }
  const uint64_t made = TRY(entry_number(update, "generation", path));
  const uint64_t parent = TRY(entry_number(update, "parent", path));
  if (made != n_generations_ + 1 || parent != generation_) {
    return fail(Code::corrupt, "{}: generation {} out of order", path, made);
  }
  parents_[made] = parent;
  n_generations_ = generation_ = made;
  ++n_accepted_;
  return {};
}

Result<std::shared_ptr<const LearnState>> LearnInstance::load_state(uint64_t generation) const {
  if (generation == 0) return initial_;
  const std::string path = state_path(generation);
  const MappedFile file = TRY(MappedFile::open(path));
  return std::make_shared<const LearnState>(TRY(parse_state(file.bytes(), fit_, path)));
}

std::string LearnInstance::state_path(uint64_t generation) const {
  return fmt::format("{}/state-{}", folder_, generation);
}

std::string LearnInstance::adapter_folder(uint64_t generation) const {
  return fmt::format("{}/adapter-{}", folder_, generation);
}

// Its owner alone may read it: numbers tell of the texts that they were learned from.
Status LearnInstance::write_state(uint64_t generation, const LearnState& state) const {
  FileWriter out = TRY(
      FileWriter::create(state_path(generation), {.readers = FileReaders::owner, .replace = true}));
  TRY(out.write(state_bytes(state, fit_)));
  return out.commit();
}

// The journal's line is the promise; memory follows it.
Result<uint64_t> LearnInstance::take(const Judgement& judgement) {
  if (!failure_.ok()) {
    return fail(Code::unavailable, "learning has ended: {}", failure_.message());
  }
  if (n_feedback_ - last_done_ >= options_.max_pending) {
    return fail(Code::unavailable, "{} feedbacks wait to be learned; try again later",
                options_.max_pending);
  }
  TRY(journal_->add({{"number", n_feedback_ + 1}, {"feedback", judgement_json(judgement)}}));
  texts_.emplace(++n_feedback_, judgement);
  return n_feedback_;
}

std::optional<LearnTurn> LearnInstance::next_turn() const {
  if (last_done_ == n_feedback_ || !failure_.ok()) return std::nullopt;
  return LearnTurn{last_done_ + 1, texts_.at(last_done_ + 1), generation_, n_generations_ + 1};
}

const Judgement* LearnInstance::kept(uint64_t number) const {
  const auto found = texts_.find(number);
  return found == texts_.end() ? nullptr : &found->second;
}

// An outcome that cannot be written ends the instance's learning: the next start finds the feedback
// without an outcome and learns it again.
Result<bool> LearnInstance::finish(const LearnTurn& turn, const Json& entry) {
  if (turn.parent != generation_) return false;
  const Status added = journal_->add(entry);
  if (!added.ok()) give_up(added);
  TRY(added);
  TRY(visit(entry));
  return true;
}

Result<bool> LearnInstance::accept(const LearnTurn& turn, std::shared_ptr<const LearnState> state,
                                   const UpdateReading& reading, float share) {
  Json update = {
      {"feedback", turn.number}, {"generation", turn.generation}, {"parent", turn.parent}};
  update.update(reading_json(reading));
  if (share < 1) update["share"] = static_cast<double>(share);
  Json entry = Json::object();
  entry["update"] = std::move(update);
  if (!TRY(finish(turn, entry))) return false;
  state_ = std::move(state);
  forget_texts();
  forget_states();
  return true;
}

Result<bool> LearnInstance::refuse(const LearnTurn& turn, const std::string& why,
                                   const UpdateReading& reading) {
  Json update = {{"feedback", turn.number}, {"refused", why}};
  update.update(reading_json(reading));
  Json entry = Json::object();
  entry["update"] = std::move(update);
  const bool done = TRY(finish(turn, entry));
  if (done) forget_texts();
  return done;
}

// Everything that can fail does so before the journal has the line.
Result<uint64_t> LearnInstance::undo(uint64_t n) {
  uint64_t to = generation_;
  for (uint64_t i = 0; i < n; ++i) {
    if (to == 0) {
      return fail(Code::invalid, "undo: only {} steps can be undone, not {}", i, n);
    }
    to = parents_.at(to);
  }
  if (to == generation_) return to;
  if (to != 0 && !file_exists(state_path(to))) {
    return fail(Code::invalid, "undo: the state of generation {} is no longer kept", to);
  }
  auto state = TRY(load_state(to));
  Json entry = Json::object();
  entry["undo"] = Json{{"generation", to}};
  TRY(journal_->add(entry));
  generation_ = to;
  state_ = std::move(state);
  return to;
}

// Corrections stay: a state that is gone back to may learn any of them again.
void LearnInstance::forget_texts() {
  std::erase_if(texts_, [&](const auto& text) {
    return text.first <= last_done_ && text.second.rating.has_value();
  });
}

// The newest of the line that leads to the current one stay. Generations between the current one
// and its parent were undone.
void LearnInstance::forget_states() const {
  const auto forget = [&](uint64_t generation) {
    remove_file(state_path(generation));
    [[maybe_unused]] const Status ignored = remove_tree(adapter_folder(generation));
  };
  for (uint64_t g = parents_.at(generation_) + 1; g < generation_; ++g) {
    if (file_exists(state_path(g))) forget(g);
  }
  uint64_t kept = generation_;
  for (size_t i = 1; i < options_.max_states && kept != 0; ++i) kept = parents_.at(kept);
  if (kept == 0) return;
  for (uint64_t g = parents_.at(kept); g != 0 && file_exists(state_path(g)); g = parents_.at(g)) {
    forget(g);
  }
}

InstanceSummary LearnInstance::summary(const std::string& name) const {
  InstanceSummary s{.name = name, .generation = generation_, .n_feedback = n_feedback_};
  s.n_accepted = n_accepted_;
  s.n_refused = n_refused_;
  s.n_pending = n_feedback_ - last_done_;
  uint64_t oldest = generation_;
  while (oldest != 0 && parents_.at(oldest) != 0 && file_exists(state_path(parents_.at(oldest)))) {
    oldest = parents_.at(oldest);
  }
  s.oldest_generation = oldest;
  s.task = state_->task;
  s.mean_reward = state_->mean_reward;
  s.refusal = refusal_;
  s.failure = failure_.message();
  return s;
}

}  // namespace ruv
