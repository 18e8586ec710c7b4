#include "hub/repo_listing.h"

#include <gtest/gtest.h>

#include "hub/hub_http.h"

namespace ruv {
namespace {

const std::string kCommit(40, 'a');
const std::string kSha256(64, 'b');

std::string listing(const std::string& entry) {
  return R"({"sha":")" + kCommit + R"(","siblings":[)" + entry + "]}";
}

TEST(RepoListing, ReadsLfsAndOtherFiles) {
  const auto read = read_repo_listing(
      listing(R"({"rfilename":"a.gguf","size":7,"blobId":")" + kCommit + R"(","lfs":{"sha256":")" +
              kSha256 + R"("}},{"rfilename":"b/c","size":0,"blobId":")" + kCommit +
              R"("},{"rfilename":"d"})"),
      "x");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->commit, kCommit);
  ASSERT_EQ(read->files.size(), 3U);
  EXPECT_EQ(read->files[0].n_bytes, 7U);
  EXPECT_EQ(*read->files[0].digest, (FileDigest{DigestKind::sha256, kSha256}));
  EXPECT_EQ(*read->files[1].digest, (FileDigest{DigestKind::git_blob, kCommit}));
  EXPECT_FALSE(read->files[2].digest);
}

TEST(RepoListing, RefusesAllOfItForOneBadFile) {
  for (const char* entry :
       {"7", "{}", R"({"rfilename":7})", R"({"rfilename":"../a"})", R"({"rfilename":"/a"})",
        R"({"rfilename":"a","size":-1})", R"({"rfilename":"a","size":"1"})",
        R"({"rfilename":"a","size":1e99})", R"({"rfilename":"a","lfs":[]})",
        R"({"rfilename":"a","lfs":{"sha256":"xyz"}})", R"({"rfilename":"a","blobId":"12"})"}) {
    const auto read = read_repo_listing(listing(entry), "x");
    ASSERT_FALSE(read) << entry;
    EXPECT_EQ(read.error().code(), Code::corrupt);
  }
  EXPECT_FALSE(read_repo_listing(R"({"sha":"main","siblings":[]})", "x"));
  EXPECT_FALSE(read_repo_listing(R"({"siblings":[]})", "x"));
}

TEST(FileDigestOf, MatchesGitsAndSha256) {
  auto stream = DigestStream::start(DigestKind::git_blob, 6);
  ASSERT_TRUE(stream);
  stream->add(as_bytes("hello\n"));
  EXPECT_EQ(stream->finish(), "ce013625030ba8dba906f756967f9e9ca394464a");
  auto other = DigestStream::start(DigestKind::sha256, 3);
  ASSERT_TRUE(other);
  other->add(as_bytes("abc"));
  EXPECT_EQ(other->finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Redirects, LeadToHttpAndNeverFromHttpsToHttp) {
  EXPECT_EQ(*redirected("https://a.b/c?d", "/e"), "https://a.b:443/e");
  EXPECT_EQ(*redirected("https://a.b/c", "//x/y"), "https://x/y");
  EXPECT_EQ(*redirected("http://a.b:80/c", "https://x/y"), "https://x/y");
  EXPECT_EQ(*redirected("http://[::1]:9/c", "/y"), "http://[::1]:9/y");
  for (const char* to : {"", "http://x/", "ftp://x/", "file:///x", "e", "https://", "https://u@x/",
                         "https://x\r\nA: b", "https://x y/"}) {
    EXPECT_FALSE(redirected("https://a.b/c", to)) << to;
  }
  EXPECT_EQ(*origin_of("HTTPS://Hub.Example/x"), "https://hub.example:443");
  EXPECT_NE(*origin_of("https://hub.example.evil/"), *origin_of("https://hub.example/"));
}

TEST(Answers, BecomeErrorsThatSayWhatToDo) {
  const auto code = [](int status) { return status_of_answer({status, {}}, "x").code(); };
  EXPECT_EQ(code(200), Code::ok);
  EXPECT_EQ(code(401), Code::invalid);
  EXPECT_EQ(code(404), Code::not_found);
  EXPECT_EQ(code(429), Code::unavailable);
  EXPECT_EQ(code(503), Code::unavailable);
  EXPECT_EQ(code(302), Code::invalid);
  EXPECT_EQ(status_of_answer({403, {{"x-xet-hash", "1"}}}, "x").code(), Code::unsupported);
  const Status said = status_of_answer({400, {{"x-error-message", "a\x1b[31mb\n"}}}, "x");
  EXPECT_EQ(said.message(), "x: the server answers 400: a [31mb ");
  EXPECT_EQ(asked_wait_ms({429, {{"retry-after", "7"}}}), 7000);
  EXPECT_EQ(asked_wait_ms({429, {{"retry-after", "99999999"}}}), 60'000);
  EXPECT_EQ(asked_wait_ms({429, {{"retry-after", "soon"}}}), 0);
}

}  // namespace
}  // namespace ruv
