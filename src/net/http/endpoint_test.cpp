#include "net/http/endpoint.h"

#include <gtest/gtest.h>

namespace ruv {

TEST(ParseEndpoint, TakesAddressesAndPorts) {
  const auto v4 = parse_endpoint("127.0.0.1:50051");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 50051);
  const auto v6 = parse_endpoint("[::1]:0");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 0);
  const auto name = parse_endpoint("localhost:65535");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "127.0.0.1");
}

TEST(ParseEndpoint, RefusesAllElse) {
  for (const char* text :
       {"", ":", "50051", "127.0.0.1", "127.0.0.1:", ":50051", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:1x", "::1:80", "[::1:80", "[127.0.0.1]:80", "example.org:80", "[]:80"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

}  // namespace ruv
