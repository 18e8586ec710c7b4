#include "hub/upload_answers.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

const std::string kDigest(64, 'a');

std::string places(const std::string& actions) {
  return R"({"transfer":"multipart","objects":[{"oid":")" + kDigest + R"(","size":250,"actions":)" +
         actions + "}]}";
}

TEST(UploadModes, AreForEachFile) {
  const auto modes =
      read_upload_modes(R"({"files":[{"path":"a","uploadMode":"lfs","shouldIgnore":false},)"
                        R"({"path":"b","uploadMode":"regular","shouldIgnore":true}]})");
  ASSERT_TRUE(modes) << modes.error().message();
  EXPECT_TRUE((*modes)[0].is_lfs && !(*modes)[0].is_ignored);
  EXPECT_TRUE(!(*modes)[1].is_lfs && (*modes)[1].is_ignored);
  for (const char* text : {"7", "{}", R"({"files":7})", R"({"files":[7]})", R"({"files":[{}]})",
                           R"({"files":[{"path":"a","uploadMode":"xet"}]})"}) {
    EXPECT_FALSE(read_upload_modes(text)) << text;
  }
}

TEST(UploadPlaces, AreWholeOrInParts) {
  const auto whole = read_upload_places(places(
      R"({"upload":{"href":"https://s/x","header":{"X-A":"b"}},"verify":{"href":"https://h/v"}})"));
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(whole->front().headers, std::vector<std::string>{"X-A: b"});
  EXPECT_EQ(whole->front().verify_url, "https://h/v");
  const auto parts = read_upload_places(places(
      R"({"upload":{"href":"https://h/end","header":{"chunk_size":"100","00001":"https://s/1",)"
      R"("00003":"https://s/3","00002":"https://s/2"}}})"));
  ASSERT_TRUE(parts) << parts.error().message();
  EXPECT_EQ(parts->front().part_bytes, 100U);
  EXPECT_EQ(parts->front().part_urls,
            (std::vector<std::string>{"https://s/1", "https://s/2", "https://s/3"}));
  const auto there = read_upload_places(R"({"objects":[{"oid":")" + kDigest + R"(","size":250}]})");
  ASSERT_TRUE(there);
  EXPECT_TRUE(there->front().is_there);
}

TEST(UploadPlaces, RefuseWhatWouldMakeAnotherRequest) {
  for (const char* actions :
       {R"({"upload":{}})", R"({"upload":{"href":"file:///x"}})",
        R"({"upload":{"href":"https://s/x\r\nA: b"}})",
        R"({"upload":{"href":"https://s/x","header":{"A":"b\r\nC: d"}}})",
        R"({"upload":{"href":"https://s/x","header":{"A: b":"c"}}})",
        R"({"upload":{"href":"https://s/x","header":{"A":7}}})",
        R"({"upload":{"href":"https://s/x","header":{"chunk_size":"0"}}})",
        R"({"upload":{"href":"https://s/x","header":{"chunk_size":"-1"}}})",
        R"({"upload":{"href":"https://s/x","header":{"chunk_size":"100","1":"https://s/1"}}})",
        R"({"upload":{"href":"https://s/x","header":{"chunk_size":"250","2":"https://s/1"}}})",
        R"({"upload":{"href":"https://s/x","header":{"chunk_size":"250","1":"ftp://s/1"}}})",
        R"({"upload":{"href":"https://s/x"},"verify":{"href":7}})"}) {
    const auto read = read_upload_places(places(actions));
    ASSERT_FALSE(read) << actions;
    EXPECT_EQ(read.error().code(), Code::corrupt) << actions;
  }
  EXPECT_FALSE(read_upload_places(R"({"objects":[{"oid":"../x","size":1}]})"));
}

TEST(UploadPlaces, SayWhatTheHubRefuses) {
  const auto refused = read_upload_places(R"({"objects":[{"oid":")" + kDigest +
                                          R"(","error":{"code":422,"message":"too\nlarge"}}]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "the hub refuses it: too large");
  const auto other = read_upload_places(R"({"transfer":"xet","objects":[]})");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::unsupported);
}

TEST(CommitAnswer, NamesACommit) {
  const std::string commit(40, 'b');
  EXPECT_EQ(*read_commit_answer(R"({"commitOid":")" + commit + R"("})"), commit);
  EXPECT_FALSE(read_commit_answer(R"({"commitOid":"main"})"));
  EXPECT_FALSE(read_commit_answer("[]"));
}

}  // namespace
}  // namespace ruv
