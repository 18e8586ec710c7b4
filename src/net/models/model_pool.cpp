#include "net/models/model_pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "net/models/model_moves.h"
#include "net/openai/adapter_choice.h"

namespace ruv {
namespace {

ApiError not_loaded(const std::string& name, std::string_view why) {
  return {503, "server_error", fmt::format("model '{}' {}", name, why), "model",
          "model_not_loaded"};
}

}  // namespace

// What asks for a model only to look at it does not keep it loaded for longer.
enum class ModelPool::LeaseFor { request, look };

struct ModelPool::Entry {
  ModelSource source;
  ModelSlot slot;
  ModelPhase phase = ModelPhase::unloaded;
  std::unique_ptr<LoadedModel> model;
  std::vector<Use> waiting;
  uint64_t n_waiting_bytes = 0;  // of these requests
  std::vector<Done> leaving;     // told when it is unloaded
  KeepSeconds keep;              // as the last request said
  int64_t created = 0;
  std::string failure;
};

struct ModelPool::State : std::enable_shared_from_this<State> {
  State(const ServerParts& its_parts, ModelPoolOptions its_options)
      : parts(its_parts), options(std::move(its_options)) {}

  Entry* find(const std::string& name);
  std::vector<ModelState> list() const;
  ServiceLease lease(size_t index, LeaseFor what);
  void release(size_t index, LeaseFor what);
  void run();
  void load(std::unique_lock<std::mutex>& lock, size_t index);
  void put(Entry& entry, std::unique_ptr<LoadedModel> model) const;
  void set_keep(Entry& entry) const;
  void unload(std::unique_lock<std::mutex>& lock, size_t index);
  void wait(std::unique_lock<std::mutex>& lock, const ModelMove& move);
  void note(const std::string& text) const {
    if (options.note) options.note(text);
  }

  const ServerParts& parts;
  const ModelPoolOptions options;
  mutable std::mutex mutex;  // guards all below
  std::condition_variable wake;
  std::vector<Entry> entries;
  size_t n_waiting = 0;
  uint64_t n_waiting_bytes = 0;
  int64_t n_asked = 0;
  bool stopping = false;
  std::thread thread;
};

// Null: there is none. Empty: the first.
ModelPool::Entry* ModelPool::State::find(const std::string& name) {
  if (name.empty()) return &entries.front();
  auto found = std::ranges::find_if(
      entries, [&](const Entry& entry) { return is_named(entry.source.names, name); });
  if (found == entries.end()) {
    found = std::ranges::find_if(entries, [&](const Entry& entry) {
      return entry.phase == ModelPhase::loaded && names_adapter(entry.model->service(), name);
    });
  }
  return found == entries.end() ? nullptr : &*found;
}

// Requires: the mutex, and that the model is loaded.
ServiceLease ModelPool::State::lease(size_t index, LeaseFor what) {
  Entry& entry = entries[index];
  ++entry.slot.n_users;
  return {&entry.model->service(), [state = shared_from_this(), index, what](const OpenAiService*) {
            state->release(index, what);
          }};
}

void ModelPool::State::release(size_t index, LeaseFor what) {
  const std::lock_guard lock(mutex);
  ModelSlot& slot = entries[index].slot;
  if (what == LeaseFor::request) slot.last_use = parts.unix_time();
  if (--slot.n_users == 0) wake.notify_all();
}

std::vector<ModelState> ModelPool::State::list() const {
  const std::lock_guard lock(mutex);
  std::vector<ModelState> states;
  for (const Entry& entry : entries) {
    const ModelSlot& slot = entry.slot;
    ModelState state{.names = entry.source.names,
                     .phase = entry.phase,
                     .info = entry.source.info,
                     .created = entry.model ? entry.created : parts.started,
                     .n_bytes = slot.n_bytes,
                     .n_users = slot.n_users + slot.n_waiting,
                     .failure = entry.failure};
    if (slot.is_idle() && slot.keep) state.expires = slot.last_use + *slot.keep;
    states.push_back(std::move(state));
  }
  return states;
}

// The loop of the pool's thread.
void ModelPool::State::run() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    std::vector<ModelSlot> slots;
    for (const Entry& entry : entries) slots.push_back(entry.slot);
    const ModelMove move = next_model_move(slots, options.max_bytes, parts.unix_time());
    switch (move.kind) {
      case ModelMove::Kind::none:
        wait(lock, move);
        break;
      case ModelMove::Kind::load:
        load(lock, move.model);
        break;
      case ModelMove::Kind::unload:
        unload(lock, move.model);
        break;
      case ModelMove::Kind::leave:
        entries[move.model].slot.leaves = true;
        break;
    }
  }
}

// The model is there.
void ModelPool::State::put(Entry& entry, std::unique_ptr<LoadedModel> model) const {
  entry.model = std::move(model);
  entry.phase = ModelPhase::loaded;
  entry.created = parts.unix_time();
  entry.slot.loaded = true;
  entry.slot.leaves = !entry.leaving.empty();
  entry.slot.n_bytes = entry.model->n_bytes();
  entry.slot.last_use = entry.created;
  set_keep(entry);
}

// As the last request said, else as the server does.
void ModelPool::State::set_keep(Entry& entry) const {
  entry.slot.keep = entry.keep ? entry.keep : options.keep;
  if (entry.slot.keep && *entry.slot.keep < 0) entry.slot.keep.reset();
}

void ModelPool::State::wait(std::unique_lock<std::mutex>& lock, const ModelMove& move) {
  if (!move.at) return wake.wait(lock);
  wake.wait_for(lock, std::chrono::seconds(std::max<int64_t>(1, *move.at - parts.unix_time())));
}

// Serves the requests that wait for the model, or refuses them.
void ModelPool::State::load(std::unique_lock<std::mutex>& lock, size_t index) {
  Entry& entry = entries[index];
  const std::string& name = entry.source.names.front();
  entry.phase = ModelPhase::loading;
  lock.unlock();
  Result<std::unique_ptr<LoadedModel>> made = entry.source.load();
  note(made ? fmt::format("model {} is loaded", name)
            : fmt::format("model {} is not loaded: {}", name, made.error().message()));
  lock.lock();
  if (!made) entry.phase = ModelPhase::failed;
  entry.failure = made ? "" : made.error().message();
  std::vector<Use> uses = std::exchange(entry.waiting, {});
  std::vector<Done> done = made ? std::vector<Done>() : std::exchange(entry.leaving, {});
  n_waiting -= uses.size();
  n_waiting_bytes -= std::exchange(entry.n_waiting_bytes, 0);
  entry.slot.n_waiting = 0;
  std::vector<ServiceLease> leases;
  if (made) {
    put(entry, std::move(*made));
    for (size_t i = 0; i < uses.size(); ++i) leases.push_back(lease(index, LeaseFor::request));
  }
  lock.unlock();
  for (size_t i = 0; i < uses.size(); ++i) {
    // Requests are read beside, as that takes time.
    parts.beside->post([use = std::move(uses[i]), lease = made ? leases[i] : ServiceLease(),
                        error = not_loaded(name, "could not be loaded: " + entry.failure)] {
      if (lease) return use(lease);
      use(tl::unexpected(error));
    });
  }
  leases.clear();
  for (const Done& one : done) one({});
  lock.lock();
}

void ModelPool::State::unload(std::unique_lock<std::mutex>& lock, size_t index) {
  Entry& entry = entries[index];
  entry.phase = ModelPhase::unloading;
  entry.slot.loaded = false;
  std::unique_ptr<LoadedModel> model = std::move(entry.model);
  lock.unlock();
  model.reset();
  note(fmt::format("model {} is unloaded", entry.source.names.front()));
  lock.lock();
  entry.phase = ModelPhase::unloaded;
  entry.slot.leaves = false;
  entry.keep.reset();
  std::vector<Done> done = std::exchange(entry.leaving, {});
  lock.unlock();
  for (const Done& one : done) one({});
  lock.lock();
}

ModelPool::ModelPool(const ServerParts& parts, ModelPoolOptions options)
    : parts_(parts), state_(std::make_shared<State>(parts, std::move(options))) {}

ModelPool::~ModelPool() { close(); }

void ModelPool::add(ModelSource source) {
  Entry entry;
  entry.slot.n_bytes = source.n_bytes;
  entry.source = std::move(source);
  state_->entries.push_back(std::move(entry));
}

Status ModelPool::load_first(const std::function<void(const OpenAiService&)>& use) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  CHECK(!state.entries.empty());
  Entry& first = state.entries.front();
  first.phase = ModelPhase::loading;
  lock.unlock();
  std::unique_ptr<LoadedModel> model = TRY(first.source.load());
  lock.lock();
  state.put(first, std::move(model));
  first.source.names = first.model->service().names;
  first.source.info = first.model->service().text->info();
  lock.unlock();
  if (use) use(first.model->service());
  state.thread = std::thread([state = state_] { state->run(); });
  return {};
}

void ModelPool::close() {
  State& state = *state_;
  std::vector<std::unique_ptr<LoadedModel>> models;
  {
    const std::lock_guard lock(state.mutex);
    if (std::exchange(state.stopping, true)) return;
  }
  state.wake.notify_all();
  if (state.thread.joinable()) state.thread.join();
  for (Entry& entry : state.entries) {
    for (const Use& use : std::exchange(entry.waiting, {})) {
      use(tl::unexpected(not_loaded(entry.source.names.front(), "waits, and the server stops")));
    }
    for (const Done& one : std::exchange(entry.leaving, {})) one({});
    entry.phase = ModelPhase::unloaded;
    models.push_back(std::move(entry.model));
  }
  // What is computed beside reads the models.
  parts_.beside->finish(std::chrono::steady_clock::time_point::max());
}

std::vector<ModelState> ModelPool::list() const { return state_->list(); }

void ModelPool::with_model(const std::string& name, uint64_t n_bytes, Use use) {
  State& state = *state_;
  ServiceLease lease;
  std::optional<ApiError> refusal;
  {
    const std::lock_guard lock(state.mutex);
    Entry* const entry = state.find(name);
    if (entry == nullptr) {
      refusal = ApiError();
    } else if (entry->phase == ModelPhase::loaded && !entry->slot.leaves) {
      lease = state.lease(static_cast<size_t>(entry - state.entries.data()), LeaseFor::request);
    } else if (state.n_waiting >= state.options.max_waiting || state.stopping ||
               n_bytes > state.options.max_waiting_bytes - state.n_waiting_bytes) {
      refusal =
          api_error(Status(Code::unavailable,
                           fmt::format("{} requests wait for models to be loaded; try again later",
                                       state.n_waiting)));
    } else {
      if (entry->waiting.empty()) entry->slot.first_waits = state.n_asked;
      ++state.n_asked;
      ++state.n_waiting;
      state.n_waiting_bytes += n_bytes;
      entry->n_waiting_bytes += n_bytes;
      ++entry->slot.n_waiting;
      entry->waiting.push_back(std::move(use));
      state.wake.notify_all();
      return;
    }
  }
  if (lease) return use(std::move(lease));
  if (refusal->message.empty()) refusal = no_such_model(name, list());
  use(tl::unexpected(std::move(*refusal)));
}

ApiResult<ServiceLease> ModelPool::loaded(const std::string& name) const {
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    Entry* const entry = state.find(name);
    if (entry != nullptr && entry->phase == ModelPhase::loaded) {
      return state.lease(static_cast<size_t>(entry - state.entries.data()), LeaseFor::look);
    }
    if (entry != nullptr) {
      return tl::unexpected(not_loaded(entry->source.names.front(), "is not loaded"));
    }
  }
  return tl::unexpected(no_such_model(name, list()));
}

void ModelPool::unload(const std::string& name, Done done) {
  State& state = *state_;
  ApiResult<void> result;
  {
    const std::lock_guard lock(state.mutex);
    Entry* const entry = state.find(name);
    const bool is_there = entry != nullptr && entry->phase != ModelPhase::unloaded &&
                          entry->phase != ModelPhase::failed;
    if (is_there) {
      if (entry->phase == ModelPhase::loaded) entry->slot.leaves = true;
      entry->leaving.push_back(std::move(done));
      state.wake.notify_all();
      return;
    }
    if (entry == nullptr) result = tl::unexpected(ApiError());
  }
  if (!result) result = tl::unexpected(no_such_model(name, list()));
  done(std::move(result));
}

void ModelPool::keep(const std::string& name, KeepSeconds seconds) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  Entry* const entry = state.find(name);
  if (entry == nullptr) return;
  entry->keep = seconds;
  state.set_keep(*entry);
  state.wake.notify_all();
}

}  // namespace ruv
