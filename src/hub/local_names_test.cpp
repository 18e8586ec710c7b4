#include "hub/local_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "hub/model_digest.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

LocalVersion version_of(const std::string& source) {
  LocalVersion version;
  version.source = source;
  version.sha256 = std::string(64, 'a');
  version.n_bytes = 5;
  version.unix_s = 1'000;
  if (source.starts_with('/')) version.files = {{"x.gguf", std::string(64, 'a'), 5, -1, 2}};
  return version;
}

LocalName named(std::string_view text) { return *read_local_name(text); }

TEST(LocalName, HasATagOrANumber) {
  EXPECT_EQ(named("qwen").tag, "latest");
  EXPECT_TRUE(named("qwen").is_bare);
  EXPECT_EQ(named("a.b-c_1:v2").tag, "v2");
  EXPECT_EQ(named("qwen@12").number, 12);
  for (const char* text : {"qwen", "qwen:latest", "qwen@3"}) EXPECT_EQ(text_of(named(text)), text);
  for (const char* text : {"", "a/b", ":x", "a:", "a@", "a@0", "a@-1", "a@x", "a@1x", "-a", ".a",
                           "a:b:c", "a:b@1", "a b", "hf:x", "ollama:x", "a@99999999999999999999"}) {
    EXPECT_FALSE(read_local_name(text)) << text;
  }
  EXPECT_FALSE(read_local_name(std::string(65, 'a')));
}

TEST(LocalNames, ATagMovesAndEveryVersionStays) {
  LocalNames names;
  EXPECT_EQ(*names.assign(named("m"), version_of("/a")), 1);
  EXPECT_EQ(*names.assign(named("m:prod"), version_of("/b")), 2);
  EXPECT_EQ(*names.assign(named("m"), version_of("/c")), 3);
  EXPECT_EQ(names.version(named("m"))->source, "/c");
  EXPECT_EQ(names.version(named("m:prod"))->number, 2);
  EXPECT_EQ(names.version(named("m@1"))->source, "/a");
  EXPECT_EQ(names.version(named("m:other")).error().message(),
            "'m' has no tag 'other'; it has latest, prod");
  EXPECT_EQ(names.version(named("m@9")).error().message(), "'m' has no version 9; the newest is 3");
  EXPECT_FALSE(names.assign(named("m@4"), version_of("/d")));

  EXPECT_EQ(names.remove(named("m@2")).code(), Code::invalid) << "prod means it";
  EXPECT_TRUE(names.remove(named("m:prod")).ok());
  EXPECT_TRUE(names.remove(named("m@2")).ok());
  EXPECT_EQ(names.remove(named("m@2")).code(), Code::not_found);
  EXPECT_EQ(*names.assign(named("m:prod"), version_of("/d")), 4) << "numbers are not used again";
  EXPECT_TRUE(names.remove(named("m")).ok());
  EXPECT_EQ(names.find("m"), nullptr);
}

TEST(LocalNames, AreReadAsTheyWereWritten) {
  LocalNames names;
  const std::string commit(40, 'c');
  for (const char* name : {"b", "a:x", "b:y"})
    ASSERT_TRUE(names.assign(named(name), version_of("/p q/ü.gguf")));
  ASSERT_TRUE(names.assign(named("a"), version_of("hf:o/m:x.gguf@" + commit)));
  const auto again = LocalNames::parse(names.dump(), "f");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->dump(), names.dump());
  EXPECT_EQ(again->version(named("a"))->source, "hf:o/m:x.gguf@" + commit);
  EXPECT_EQ(again->version(named("b:y"))->files[0].modified_ns, -1);
}

// The text of two names with one thing changed.
std::string refusal(std::string_view from, std::string_view to) {
  LocalNames names;
  EXPECT_TRUE(names.assign(named("a"), version_of("/a")));
  EXPECT_TRUE(names.assign(named("b"), version_of("/b")));
  std::string text = names.dump();
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  const auto parsed = LocalNames::parse(text, "f");
  return parsed ? "taken" : parsed.error().message();
}

TEST(LocalNames, RefuseWhatDoesNotFitWithItsPlace) {
  EXPECT_EQ(refusal("\"name\":\"b\"", "\"name\":\"a\""), "f: models[1]: name: 'a' is not in order");
  EXPECT_EQ(refusal("\"format\":1", "\"format\":2"), "f: format: 2 is of another program");
  EXPECT_EQ(refusal("\"source\":\"/b\"", "\"source\":\"b\""),
            "f: models[1]: versions[0]: source: neither an absolute path nor a hub's model at a "
            "commit");
  EXPECT_EQ(refusal("\"latest\":1", "\"latest\":2"),
            "f: models[0]: tags: 'latest' means version 2, which is not here");
  EXPECT_EQ(refusal("\"next\":2", "\"next\":1"),
            "f: models[0]: versions[0]: number: 1 is not in order");
  EXPECT_EQ(refusal("\"x.gguf\"", "\"../x.gguf\"").substr(0, 36),
            "f: models[0]: versions[0]: files[0]:");
  EXPECT_EQ(refusal("aaaa", "aaaA"),
            "f: models[0]: versions[0]: sha256: not 64 hexadecimal digits");
  EXPECT_EQ(refusal("\"time\":", "\"tame\":"), "f: models[0]: versions[0]: unknown field 'tame'");
  EXPECT_NE(refusal("\"time\":1000", "\"time\":-1"), "taken");
  EXPECT_NE(refusal("\"name\":\"a\"", "\"name\":\"a/b\""), "taken");
  EXPECT_NE(refusal("{", "["), "taken");
  EXPECT_FALSE(LocalNames::parse(std::string(100'000, '['), "f"));
  EXPECT_FALSE(LocalNames::parse("{\"format\":1,\"models\":[1]}", "f"));
}

class LocalNamesFile : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string written(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  const std::string folder_ = testing::TempDir() + "ruv_names_" + std::to_string(getpid());
};

TEST_F(LocalNamesFile, IsWrittenWholeOrNotAtAll) {
  const std::string path = folder_ + "/models.json";
  const auto go_on = [] { return false; };
  EXPECT_TRUE(load_local_names(path)->models().empty());
  const auto add = [](LocalNames& names) -> Status {
    return names.assign(named("m"), version_of("/a")) ? Status() : Status(Code::internal, "");
  };
  EXPECT_TRUE(change_local_names(path, go_on, add).ok());
  EXPECT_TRUE(change_local_names(path, go_on, add).ok());
  const auto refuse = [&](LocalNames& names) -> Status {
    EXPECT_TRUE(add(names).ok());
    return Status(Code::cancelled, "no");
  };
  EXPECT_EQ(change_local_names(path, go_on, refuse).code(), Code::cancelled);
  EXPECT_EQ(load_local_names(path)->find("m")->versions.size(), 2U);
  written("models.json", "{}");
  EXPECT_EQ(change_local_names(path, go_on, add).code(), Code::corrupt);
  EXPECT_EQ(*read_text_file(path), "{}") << "a damaged file stays for its owner to see";
}

TEST_F(LocalNamesFile, ADigestIsThatOfAllFilesOfAModel) {
  const std::string one = written("one.gguf", "abc");
  const auto model = digest_model(one);
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ(model->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  written("m-00001-of-00002.gguf", "abc");
  EXPECT_FALSE(digest_model(folder_ + "/m-00001-of-00002.gguf"));
  written("m-00002-of-00002.gguf", "abc");
  const auto parts = digest_model(folder_ + "/m-00001-of-00002.gguf");
  ASSERT_TRUE(parts) << parts.error().message();
  EXPECT_EQ(parts->files.size(), 2U);
  EXPECT_EQ(parts->n_bytes, 6);
  // sha256sum m-*.gguf | sha256sum
  EXPECT_EQ(parts->sha256, "38156f505771b1dfd0771bf5be3748774ec2a2becd7991e011dfee7eea06f4dd");

  EXPECT_TRUE(check_version_files(one, model->files).ok());
  written("one.gguf", "abc");
  EXPECT_TRUE(check_version_files(one, model->files).ok()) << "the same bytes with another stamp";
  written("one.gguf", "abd");
  EXPECT_EQ(check_version_files(one, model->files).code(), Code::corrupt);
  fs::remove(one);
  EXPECT_FALSE(check_version_files(one, model->files).ok());
}

}  // namespace
}  // namespace ruv
