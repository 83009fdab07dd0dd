// What a browser's page may not send, and what programs do send.
#include "rpc/gate.hpp"

#include <gtest/gtest.h>

namespace conclave::rpc {
namespace {

bool is_ours(std::string_view name) { return name == "localhost" || name == "etcd.example"; }

// The status of the refusal; 0: let in.
unsigned refused(const Metadata& headers, Access access = Access::calls, std::string_view body = "{}") {
  const Peer peer = {};
  const HttpRequest request = {
      .method = "POST", .path = "/v3/kv/put", .query = {}, .body = body, .headers = headers, .peer = peer};
  const auto refusal = refusal_of(request, access, is_ours);
  return refusal ? refusal->status : 0;
}

constexpr std::pair<std::string_view, std::string_view> here = {"host", "127.0.0.1:2379"};
constexpr std::pair<std::string_view, std::string_view> json = {"content-type", "application/json"};

TEST(Gate, LetsProgramsIn) {
  EXPECT_EQ(refused({here, json}), 0u) << "Patroni, etcd3gw, fetch of a program";
  EXPECT_EQ(refused({here, {"content-type", "application/json; charset=utf-8"}}), 0u);
  EXPECT_EQ(refused({here, {"content-type", "Application/JSON"}}), 0u);
  EXPECT_EQ(refused({here, {"content-type", "application/x-www-form-urlencoded"}}), 0u) << "curl -d";
  EXPECT_EQ(refused({here}, Access::calls, ""), 0u) << "nothing is said, so nothing has a type";
  EXPECT_EQ(refused({here, json}, Access::operators), 0u);
}

TEST(Gate, WantsJsonThatSaysSo) {
  for (const std::string_view type :
       {"text/plain", "multipart/form-data", "application/jsonp", "text/plain;application/json", ""})
    EXPECT_EQ(refused({here, {"content-type", type}}), 415u) << type;
  EXPECT_EQ(refused({here}), 415u);
}

TEST(Gate, TakesNoFormOfAPage) {
  const std::pair<std::string_view, std::string_view> form = {"content-type",
                                                              "application/x-www-form-urlencoded"};
  EXPECT_EQ(refused({here, form, {"origin", "http://127.0.0.1:2379"}}), 415u);
  EXPECT_EQ(refused({here, form, {"sec-fetch-mode", "no-cors"}}), 415u);
  EXPECT_EQ(refused({here, form, {"referer", "http://elsewhere.example/"}}), 415u);
}

TEST(Gate, KnowsItsNames) {
  for (const std::string_view host : {"127.0.0.1:2379", "10.1.2.3", "[::1]:2379", "[fe80::1]",
                                      "localhost:2379", "LOCALHOST", "etcd.example.", "etcd.example:80"})
    EXPECT_EQ(refused({{"host", host}, json}), 0u) << host;
  // Names that only look like addresses are looked up by browsers.
  for (const std::string_view host :
       {"evil.example:2379", "127.0.0.1.evil.example", "2130706433", "0x7f.1", "localhost.evil.example"})
    EXPECT_EQ(refused({{"host", host}, json}), 403u) << host;
  EXPECT_EQ(refused({{":authority", "evil.example"}, json}), 403u);
  EXPECT_EQ(refused({{":authority", "http://127.0.0.1:2379"}, json}), 0u);
  EXPECT_EQ(refused({{":authority", "127.0.0.1"}, {"host", "evil.example"}, json}), 403u);
  EXPECT_EQ(refused({json}), 0u) << "HTTP/1.0 has no hosts, and no browser speaks it";
}

TEST(Gate, RefusesPagesOfOthers) {
  EXPECT_EQ(refused({here, json, {"origin", "http://evil.example"}}), 403u);
  EXPECT_EQ(refused({here, json, {"origin", "null"}}), 403u);
  EXPECT_EQ(refused({here, json, {"origin", "http://127.0.0.1:8080"}}), 403u)
      << "another port is another origin";
  EXPECT_EQ(refused({here, json, {"sec-fetch-site", "cross-site"}}), 403u);
  EXPECT_EQ(refused({here, json, {"sec-fetch-site", "same-site"}}), 403u);
  EXPECT_EQ(refused({here, json, {"origin", "http://127.0.0.1:2379"}}), 0u);
  EXPECT_EQ(refused({here, json, {"origin", "http://evil.example"}}, Access::calls, ""), 403u);
  // A name that was made to point here afterwards: the page's origin is the host that it asks.
  EXPECT_EQ(refused({{"host", "evil.example:2379"}, json, {"origin", "http://evil.example:2379"}}), 403u);
}

TEST(Gate, KeepsBrowsersFromMaintenance) {
  EXPECT_EQ(refused({here, json, {"origin", "http://127.0.0.1:2379"}}, Access::operators), 403u);
  EXPECT_EQ(refused({here, json, {"sec-fetch-site", "same-origin"}}, Access::operators), 403u);
}

TEST(Gate, AsksNothingOfMonitors) {
  EXPECT_EQ(refused({{"host", "anything"}, {"origin", "http://evil.example"}}, Access::anybody), 0u);
}

}  // namespace
}  // namespace conclave::rpc
