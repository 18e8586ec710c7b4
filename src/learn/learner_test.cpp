// Instances from feedback to adapters: order, restarts, undoing, the gate, isolation.
#include "learn/learner.h"

#include "learn/test_learn.h"
#include "ruv/adapter_registry.h"

namespace ruv::learner_test {
namespace {

std::unique_ptr<Learner> open_learner(const LearnOptions& options, PublishAdapter publish = {}) {
  Result<std::unique_ptr<Learner>> learner =
      Learner::open(tiny_model(), options, std::move(publish));
  EXPECT_TRUE(learner) << (learner ? "" : learner.error().message());
  return learner ? std::move(*learner) : nullptr;
}

// Feedback from..to of a name.
void teach(Learner& learner, const std::string& name, int32_t from, int32_t to) {
  for (int32_t i = from; i <= to; ++i) {
    const std::optional<double> rating = i % 3 == 0 ? std::optional(i % 2 - 0.5) : std::nullopt;
    EXPECT_TRUE(learner.adapt(name, tiny_feedback(i, rating)));
  }
}

TEST(Learner, FeedbackMakesGenerationsThatAreServed) {
  const LearnFolder folder("served");
  std::vector<std::string> published;
  const auto learner = open_learner(tiny_options(folder.path()),
                                    [&](const std::string& name, const std::string& path) {
                                      published.push_back(name + " " + path);
                                      return Status();
                                    });
  EXPECT_EQ(*learner->adapt("ann", tiny_feedback(1)), 1U);
  EXPECT_EQ(*learner->adapt("ann", tiny_feedback(2, 1)), 2U);
  learner->wait();
  const InstanceSummary summary = *learner->summary("ann");
  EXPECT_EQ(summary.generation, 2U);
  EXPECT_EQ(summary.n_accepted, 2U);
  EXPECT_EQ(summary.n_pending, 0U);
  ASSERT_FALSE(published.empty());
  EXPECT_EQ(published.back(), "ann " + folder.path() + "/ann/adapter-2");
  EXPECT_LT(learner->adapter_bytes(), 1'000'000);
  EXPECT_EQ(learner->summary("bob").error().code(), Code::not_found);
}

// The adapter that is served is what was learned: the engine's model computes it.
TEST(Learner, WhatIsPublishedLoads) {
  const LearnFolder folder("loads");
  AdapterRegistry registry(*load_model(tiny_model()));
  const auto learner = open_learner(
      tiny_options(folder.path()), [&](const std::string& name, const std::string& path) -> Status {
        TRY(registry.load(name, path, {.may_replace = true}));
        return {};
      });
  teach(*learner, "ann", 1, 2);
  learner->wait();
  ASSERT_TRUE(registry.has("ann"));
  const auto before = *registry.find("ann");
  teach(*learner, "ann", 4, 4);
  ASSERT_TRUE(learner->undo("ann", 0));
  learner->wait();
  EXPECT_NE(*registry.find("ann"), before);  // requests that hold the old one keep it
  EXPECT_EQ(learner->summary("ann")->failure, "");
}

TEST(Learner, ARestartContinuesToTheSameBytes) {
  const LearnFolder whole_folder("whole"), parts_folder("parts");
  {
    const auto whole = open_learner(tiny_options(whole_folder.path()));
    teach(*whole, "ann", 1, 9);
    whole->wait();
    LearnOptions options = tiny_options(parts_folder.path());
    options.gradient.n_threads = 2;
    for (int32_t i = 1; i <= 9; i += 3) {
      const auto part = open_learner(options);
      teach(*part, "ann", i, i + 2);  // ends while some of it waits
    }
    const auto last = open_learner(options);
    last->wait();
    EXPECT_EQ(*last->state_of("ann"), *whole->state_of("ann"));
    EXPECT_EQ(last->summary("ann")->n_accepted, 9U);
  }
  EXPECT_EQ(contents_of(whole_folder.path() + "/ann/state-9"),
            contents_of(parts_folder.path() + "/ann/state-9"));
}

TEST(Learner, UndoingRestoresTheBytes) {
  const LearnFolder folder("undo");
  LearnOptions options = tiny_options(folder.path());
  options.instance.max_states = 4;
  auto learner = open_learner(options);
  std::vector<std::vector<std::byte>> states;
  for (int32_t i = 1; i <= 6; ++i) {
    teach(*learner, "ann", i, i);
    learner->wait();
    states.push_back(*learner->state_of("ann"));
  }
  EXPECT_EQ(*learner->undo("ann", 2), 4U);
  EXPECT_EQ(*learner->state_of("ann"), states[3]);
  learner->wait();
  // A step after it has a number of its own, and the bytes that it would have had.
  teach(*learner, "ann", 5, 5);
  learner->wait();
  EXPECT_EQ(learner->summary("ann")->generation, 7U);
  EXPECT_EQ(*learner->undo("ann", 1), 4U);
  learner.reset();
  learner = open_learner(options);
  EXPECT_EQ(*learner->state_of("ann"), states[3]);
  EXPECT_EQ(learner->undo("ann", 3).error().code(), Code::invalid);  // no longer kept
  EXPECT_EQ(*learner->undo("ann", 4), 0U);
  EXPECT_EQ(learner->undo("ann", 1).error().code(), Code::invalid);
  learner->wait();
  EXPECT_EQ(learner->summary("ann")->failure, "");
}

TEST(Learner, InstancesAreApart) {
  const LearnFolder alone("alone"), beside("beside");
  const auto one = open_learner(tiny_options(alone.path()));
  teach(*one, "ann", 1, 5);
  one->wait();
  const auto two = open_learner(tiny_options(beside.path()));
  for (int32_t i = 1; i <= 5; ++i) {
    teach(*two, "bob", 20 + i, 20 + i);
    teach(*two, "ann", i, i);
  }
  two->wait();
  EXPECT_EQ(*one->state_of("ann"), *two->state_of("ann"));
  EXPECT_NE(*two->state_of("bob"), *two->state_of("ann"));
}

TEST(Learner, TheGateRefusesAndTheStateStays) {
  const LearnFolder folder("gate");
  LearnOptions options = tiny_options(folder.path());
  auto learner = open_learner(options);
  teach(*learner, "ann", 1, 2);
  learner->wait();
  const std::vector<std::byte> before = *learner->state_of("ann");
  learner.reset();
  options.limits.divergence = 0;
  learner = open_learner(options);
  teach(*learner, "ann", 3, 4);
  learner->wait();
  const InstanceSummary summary = *learner->summary("ann");
  EXPECT_EQ(summary.n_refused, 2U);
  EXPECT_EQ(summary.generation, 2U);
  EXPECT_NE(summary.refusal.find("divergence"), std::string::npos);
  EXPECT_EQ(*learner->state_of("ann"), before);
}

TEST(Learner, WrongCallsAreRefused) {
  const LearnFolder folder("wrong");
  const auto learner = open_learner(tiny_options(folder.path()));
  for (const char* const name : {"", ".", ".a", "a/b", "a b", "..", "\xC3\xA9"}) {
    EXPECT_EQ(learner->adapt(name, tiny_feedback(1)).error().code(), Code::invalid) << name;
  }
  EXPECT_EQ(learner->adapt(std::string(65, 'a'), tiny_feedback(1)).error().code(), Code::invalid);
  AdaptFeedback wrong = tiny_feedback(1);
  wrong.rating = 2;
  EXPECT_EQ(learner->adapt("a", wrong).error().code(), Code::invalid);
  wrong = tiny_feedback(1);
  wrong.judged.assign(wrong.ids.size(), 0);
  EXPECT_EQ(learner->adapt("a", wrong).error().code(), Code::invalid);
  wrong = tiny_feedback(1);
  wrong.ids[2] = 1 << 20;
  EXPECT_EQ(learner->adapt("a", wrong).error().code(), Code::invalid);
  EXPECT_TRUE(learner->summaries().empty());
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/a"));
  // One process at a time.
  EXPECT_EQ(Learner::open(tiny_model(), tiny_options(folder.path())).error().code(),
            Code::unavailable);
  LearnOptions options = tiny_options(folder.path() + "2");
  options.gradient.rank = 3;
  EXPECT_EQ(Learner::open(tiny_model(), options).error().code(), Code::invalid);
}

TEST(Learner, AFolderOfAnotherAdapterIsRefused) {
  const LearnFolder folder("other");
  LearnOptions options = tiny_options(folder.path());
  teach(*open_learner(options), "ann", 1, 1);
  options.gradient.rank = 1;
  EXPECT_EQ(Learner::open(tiny_model(), options).error().code(), Code::invalid);
}

// Cut at every place of the last line, it ends with the one before; a byte that is changed
// elsewhere is noticed.
TEST(LearnJournal, DamageIsNoticedAndATornEndIsCut) {
  const LearnFolder folder("journal");
  std::filesystem::create_directories(folder.path());
  const std::string path = folder.path() + "/journal";
  std::vector<Json> seen;
  const auto visit = [&](const Json& entry) {
    seen.push_back(entry);
    return Status();
  };
  const Json first = {{"journal", 1}};
  {
    LearnJournal journal = *LearnJournal::open(path, false, first, visit);
    ASSERT_TRUE(journal.add({{"a", 1}}).ok());
    ASSERT_TRUE(journal.add({{"b", "text"}}).ok());
  }
  const std::string whole = contents_of(path);
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  const auto write = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  };
  for (size_t n = last; n < whole.size(); ++n) {
    write(whole.substr(0, n));
    seen.clear();
    ASSERT_TRUE(LearnJournal::open(path, false, first, visit)) << n;
    EXPECT_EQ(seen.size(), 2U);
    EXPECT_EQ(contents_of(path), whole.substr(0, last));
  }
  for (size_t n = 0; n < last; ++n) {
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ 1);
    write(changed);
    EXPECT_EQ(LearnJournal::open(path, false, first, visit).error().code(), Code::corrupt) << n;
  }
}

}  // namespace
}  // namespace ruv::learner_test
