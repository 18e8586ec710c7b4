// Forms of random schemas beside a plain validator: the same documents are accepted, no answer runs
// into a dead end, and masks are those of tokens tried one by one.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/test_share.h"
#include "grammar/form/form.h"
#include "grammar/form/test_schemas.h"
#include "grammar/schema/test_validator.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

constexpr std::array<int, 5> kDrafts = {4, 6, 7, 2019, 2020};

// Pieces of JSON of one to six bytes, characters cut anywhere, beside all single bytes.
std::shared_ptr<const Tokenizer> random_pieces(Rng& rng) {
  const std::string text =
      "{\"a\": 1, \"ab\":[\"a\",\"b\", true], \"b\": null},{\"\": \"é😀\",\"a\":[[1,2],{}]}]}"
      "\"a\":1.5}},\n  \"b\":\"ab\",[1,1],\"ab\":2}],false,\"a\",2,\"b\":{\"a\":{\"b\":12,";
  std::set<std::string> pieces;
  for (int i = 0; i < 120; ++i)
    pieces.insert(text.substr(rng.below(text.size()), 2 + rng.below(5)));
  if (rng.below(2) == 0) {  // with byte tokens; pieces are whole characters
    std::erase_if(pieces, [](const std::string& piece) {
      return std::ranges::any_of(piece, [](char c) { return static_cast<uint8_t>(c) >= 0x80; });
    });
    return test_tokenizer(piece_test_spec({pieces.begin(), pieces.end()}));
  }
  TokenizerSpec spec = byte_test_spec({});
  for (const std::string& piece : pieces) {
    add_test_token(spec, to_byte_alphabet(piece), TokenKind::normal);
  }
  return test_tokenizer(spec);
}

struct FormWorld {
  explicit FormWorld(std::shared_ptr<const Tokenizer> of)
      : tokenizer(std::move(of)),
        prefixes(std::make_shared<TokenPrefixes>(*tokenizer)),
        space(std::make_shared<FormSpace>(prefixes, tokenizer->vocab_size())) {}

  Form::Made form(const Json& schema, int draft) const {
    SchemaOptions options;
    const auto at = std::ranges::find(kDrafts, draft) - kDrafts.begin();
    options.draft = static_cast<SchemaDraft>(at);
    return Form::of_schema(space, schema, options);
  }

  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<TokenPrefixes> prefixes;
  std::shared_ptr<FormSpace> space;
};

// Nothing: that is too much work.
std::optional<bool> accepts_text(const Form& form, std::string_view text) {
  const Lock guard(form.space().mutex());
  FormReader reader = form.reader();
  const bool accepts = reader.accept(text) && reader.may_end();
  if (reader.gave_up()) return std::nullopt;
  return accepts;
}

// What became of the schemas that were drawn.
struct DrawnForms {
  int n_made = 0;
  int n_impossible = 0;  // no value satisfies them
  int n_too_hard = 0;

  // Counts the form; null where there is none.
  const Form* count(const Form::Made& form, const Json& schema) {
    if (form) {
      ++n_made;
      return form->get();
    }
    const std::string& message = form.error().message();
    EXPECT_EQ(form.error().code(), Code::unsupported) << message << '\n' << schema.dump();
    if (message.find("no value satisfies") != std::string::npos) {
      ++n_impossible;
    } else if (message.find("too much work") != std::string::npos) {
      ++n_too_hard;
    } else {
      ADD_FAILURE() << message << '\n' << schema.dump();
    }
    return nullptr;
  }
  std::string report() const {
    return fmt::format("{} forms, {} schemas that no value satisfies, {} too hard", n_made,
                       n_impossible, n_too_hard);
  }
};

// More schemas than by default, for a long search: RUV_TEST_SCHEMAS times as many.
int times() {
  const char* given = std::getenv("RUV_TEST_SCHEMAS");
  return given == nullptr ? 1 : std::max(1, std::atoi(given));
}

TEST(SchemaProperty, AcceptsTheSameDocumentsAsAValidator) {
  const std::vector<Json> documents = small_documents();
  DrawnForms drawn;
  size_t n_valid = 0;
  size_t n_texts = 0;
  int n_wrong = 0;
  std::optional<FormWorld> world;
  for (int seed = 0; seed < 600 * times() && n_wrong < 10; ++seed) {
    Rng rng(static_cast<uint64_t>(seed));
    if (seed % 100 == 0) world.emplace(test_tokenizer(byte_test_spec({})));
    const int draft = kDrafts[static_cast<size_t>(seed) % kDrafts.size()];
    const Json schema = RandomSchemas(rng, draft).root();
    const TestValidator validator(schema, draft);
    const Form::Made made = world->form(schema, draft);
    const Form* form = drawn.count(made, schema);
    if (form == nullptr && made.error().message().find("no value") == std::string::npos) continue;
    for (const Json& document : documents) {
      if (rng.below(10) != 0) continue;
      const bool valid = validator.valid(document);
      n_valid += valid ? 1 : 0;
      for (int i = 0; i < (document.is_object() && document.size() > 1 ? 3 : 2); ++i, ++n_texts) {
        const std::string text = random_spelling(document, rng, i == 1);
        const std::optional<bool> accepted = form == nullptr ? false : accepts_text(*form, text);
        if (!accepted) ++drawn.n_too_hard;
        if (accepted.value_or(valid) == valid) continue;
        ADD_FAILURE() << "draft " << draft << " seed " << seed << '\n'
                      << schema.dump() << '\n'
                      << text
                      << (valid ? "\nis valid but not accepted" : "\nis not valid but accepted");
        ++n_wrong;
        break;
      }
      if (n_wrong >= 10) break;
    }
  }
  fmt::print("{}; {} of {} texts valid\n", drawn.report(), n_valid, n_texts);
  EXPECT_LT(drawn.n_too_hard * 100, drawn.n_made);
}

// Bytes that a walk should take: mostly those that JSON and the schemas' keys are made of, and near
// its end those that close what is open.
uint8_t next_byte(const TokenMask& mask, Rng& rng, bool is_ending) {
  constexpr std::string_view kClosing = "}]\"";
  constexpr std::string_view kUsual = "ab\"\"\"\":,,{}[]]12 truefalsn.";
  const auto may = [&](char byte) { return mask.has(static_cast<uint8_t>(byte)); };
  if (is_ending && rng.below(8) != 0) {
    for (const char byte : kClosing) {
      if (may(byte)) return static_cast<uint8_t>(byte);
    }
  }
  for (int i = 0; i < 60; ++i) {
    const char byte = kUsual[rng.below(kUsual.size())];
    if (may(byte)) return static_cast<uint8_t>(byte);
  }
  std::vector<uint8_t> all;
  for (int byte = 0; byte < 256; ++byte) {
    if (mask.has(byte)) all.push_back(static_cast<uint8_t>(byte));
  }
  return all[rng.below(all.size())];
}

bool is_empty(const TokenMask& mask) {
  for (int byte = 0; byte < 256; ++byte) {
    if (mask.has(byte)) return false;
  }
  return true;
}

// Numbers of many digits are not what the validator reads of them.
bool has_long_number(std::string_view text) {
  size_t run = 0;
  for (const char c : text) {
    run = (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' ? run + 1 : 0;
    if (run > 4) return true;
  }
  return false;
}

TEST(SchemaProperty, WalksNeverRunIntoDeadEnds) {
  DrawnForms drawn;
  int n_ended = 0;
  int n_unfinished = 0;
  int n_checked = 0;
  int n_wrong = 0;
  std::optional<FormWorld> world;
  for (int seed = 0; seed < 1000 * times() && n_wrong < 10; ++seed) {
    Rng rng(static_cast<uint64_t>(seed) + 1'000'000);
    if (seed % 100 == 0) world.emplace(test_tokenizer(byte_test_spec({})));
    const int draft = kDrafts[static_cast<size_t>(seed) % kDrafts.size()];
    const Json schema = RandomSchemas(rng, draft).root();
    const TestValidator validator(schema, draft);
    const Form::Made made = world->form(schema, draft);
    const Form* form = drawn.count(made, schema);
    if (form == nullptr) continue;
    for (int walk = 0; walk < 4 && n_wrong < 10; ++walk) {
      const Lock guard(world->space->mutex());
      FormReader reader = form->reader();
      std::string text;
      const size_t n_free = rng.below(30);
      bool ended = false;
      while (text.size() < 400 && !ended) {
        TokenMask mask(world->tokenizer->vocab_size());
        reader.allow(mask);
        const bool is_ending = text.size() >= n_free;
        ended = reader.may_end() && (is_ending || is_empty(mask));
        if (ended) break;
        if (reader.gave_up()) break;
        if (is_empty(mask)) {
          ADD_FAILURE() << "no byte may come: draft " << draft << " seed " << seed << '\n'
                        << schema.dump() << '\n'
                        << text;
          ++n_wrong;
          break;
        }
        const auto byte = static_cast<char>(next_byte(mask, rng, is_ending));
        if (!reader.accept({&byte, 1})) {
          if (reader.gave_up()) break;
          ADD_FAILURE() << "dead end: draft " << draft << " seed " << seed << '\n'
                        << schema.dump() << '\n'
                        << text << byte;
          ++n_wrong;
          break;
        }
        text.push_back(byte);
      }
      if (!ended) {
        ++(reader.gave_up() ? drawn.n_too_hard : n_unfinished);
        continue;
      }
      ++n_ended;
      const auto value = parse_json(text, "answer");
      if (has_long_number(text)) continue;
      ASSERT_TRUE(value) << text << '\n' << schema.dump();
      ++n_checked;
      if (validator.valid(*value)) continue;
      ADD_FAILURE() << "draft " << draft << " seed " << seed << '\n'
                    << schema.dump() << '\n'
                    << text << "\nwas written but is not valid";
      ++n_wrong;
    }
  }
  fmt::print("{}; {} walks ended, {} checked, {} unfinished\n", drawn.report(), n_ended, n_checked,
             n_unfinished);
  EXPECT_LT(n_unfinished * 20, n_ended);
  EXPECT_LT(drawn.n_too_hard * 100, drawn.n_made);
}

TEST(SchemaProperty, MasksAreThoseOfTokensTriedOneByOne) {
  DrawnForms drawn;
  size_t n_masks = 0;
  std::optional<FormWorld> world;
  for (int seed = 0; seed < 1000 * times() / int{kTestShare}; ++seed) {
    Rng rng(static_cast<uint64_t>(seed) + 2'000'000);
    if (seed % 40 == 0) world.emplace(random_pieces(rng));
    const int draft = kDrafts[static_cast<size_t>(seed) % kDrafts.size()];
    const Json schema = RandomSchemas(rng, draft).root();
    const Form::Made made = world->form(schema, draft);
    const Form* form = drawn.count(made, schema);
    if (form == nullptr) continue;
    const Lock guard(world->space->mutex());
    FormReader reader = form->reader();
    std::string text;
    for (int step = 0; step < 8 && !reader.only_ends(); ++step, ++n_masks) {
      TokenMask mask(world->tokenizer->vocab_size());
      reader.allow(mask);
      std::vector<std::string_view> allowed;
      std::vector<std::string_view> long_ones;
      for (Token id = 0; id < world->tokenizer->vocab_size(); ++id) {
        const std::string_view bytes = world->prefixes->bytes(id);
        const bool fits = !bytes.empty() && reader.allows(bytes);
        if (reader.gave_up()) break;
        ASSERT_EQ(mask.has(id), fits) << "draft " << draft << " seed " << seed << '\n'
                                      << schema.dump() << '\n'
                                      << text << " then '" << bytes << "'";
        if (fits) (bytes.size() > 1 ? long_ones : allowed).push_back(bytes);
      }
      if (reader.gave_up() || (allowed.empty() && long_ones.empty())) break;
      const bool is_long = allowed.empty() || (!long_ones.empty() && rng.below(4) != 0);
      const auto& list = is_long ? long_ones : allowed;
      const std::string_view bytes = list[rng.below(list.size())];
      text += bytes;
      ASSERT_TRUE(reader.accept(bytes));
    }
  }
  fmt::print("{}; {} masks\n", drawn.report(), n_masks);
  EXPECT_GT(n_masks, 3000U / kTestShare);
}

}  // namespace
}  // namespace ruv
