// Load on servers of the test's own, which answer what the test wants them to.
#include <gtest/gtest.h>
#include <proto/rpc.pb.h>

#include <boost/asio/executor_work_guard.hpp>
#include <thread>

#include "load/plan.hpp"
#include "rpc/typed_server.hpp"

namespace conclave::load {
namespace {

using namespace std::chrono_literals;
namespace pb = etcdserverpb;

// A member that has a word about itself, one key, and takes puts unless they are unlucky.
class Member {
 public:
  explicit Member(std::uint64_t unlucky = 0) {
    rpc::serve_unary<pb::StatusRequest, pb::StatusResponse>(
        server_, "/etcdserverpb.Maintenance/Status",
        [](const pb::StatusRequest&, rpc::Reply<pb::StatusResponse> reply) {
          pb::StatusResponse status;
          status.set_version("3.5.0");
          status.set_leader(1);
          status.mutable_header()->set_member_id(1);
          reply.send(status);
        });
    rpc::serve_unary<pb::RangeRequest, pb::RangeResponse>(
        server_, "/etcdserverpb.KV/Range",
        [this](const pb::RangeRequest& request, rpc::Reply<pb::RangeResponse> reply) {
          ++ranges;
          pb::RangeResponse answer;
          answer.set_count(request.count_only() ? 3 : 1);
          answer.add_kvs()->set_key(request.key());
          reply.send(answer);
        });
    rpc::serve_unary<pb::PutRequest, pb::PutResponse>(
        server_, "/etcdserverpb.KV/Put",
        [this, unlucky](const pb::PutRequest&, rpc::Reply<pb::PutResponse> reply) {
          if (++puts % std::max<std::uint64_t>(unlucky, 1) == 0 && unlucky > 0)
            return reply.fail({rpc::Code::unavailable, "now and then"});
          reply.send(pb::PutResponse());
        });
    endpoint = "127.0.0.1:" + std::to_string(server_.listen("127.0.0.1:0").value());
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Member() {
    loop_.stop();
    thread_.join();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  std::string endpoint;
  std::atomic<std::uint64_t> puts = 0;
  std::atomic<std::uint64_t> ranges = 0;

 private:
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{loop_.get_executor()};
  rpc::Server server_{loop_};
  std::thread thread_;
};

Plan plan_for(std::string_view workload, std::vector<std::string> endpoints) {
  return {.workload = workload_named(workload), .channel = {.endpoints = std::move(endpoints)}, .clients = 6};
}

std::expected<Report, std::string> run(const Plan& plan) {
  return load::run(plan, [](const Progress&) {});
}

TEST(Latencies, KnowQuantilesToWithinASixtyFourth) {
  Latencies latencies;
  Latencies others;
  for (int i = 1; i <= 10'000; ++i) (i % 2 == 0 ? latencies : others).add(i * 1us);
  latencies.add(others);
  EXPECT_EQ(latencies.count(), 10'000u);
  EXPECT_NEAR(latencies.at(0.5), 5'000, 5'000 / 64.0);
  EXPECT_NEAR(latencies.at(0.999), 9'990, 9'990 / 64.0);
  EXPECT_EQ(latencies.most(), 10'000);
  EXPECT_EQ(latencies.at(1), 10'000);
  EXPECT_NEAR(latencies.mean(), 5'000.5, 0.01);
  EXPECT_EQ(Latencies().at(0.5), 0);
}

TEST(Latencies, HaveABucketForEveryTime) {
  for (std::size_t bucket = 0; bucket < 64 * 58; ++bucket)
    EXPECT_EQ(Latencies::bucket_of(Latencies::greatest_of(bucket)), bucket);
  EXPECT_LT(Latencies::bucket_of(std::uint64_t(std::numeric_limits<std::int64_t>::max())), 64u * 58);
}

TEST(Load, DoesAgainWhatFailed) {
  Member first(10);
  Member second(10);
  Plan plan = plan_for("put", {first.endpoint, second.endpoint});
  plan.threads = 2;
  plan.count = 1'000;
  plan.slice = 250;
  const auto report = run(plan);
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->latencies.count(), 1'000u);
  EXPECT_EQ(first.puts + second.puts, 1'000 + report->failed());
  EXPECT_EQ(report->errors,
            (std::map<std::string, std::uint64_t>{{"UNAVAILABLE: now and then", report->failed()}}));
  EXPECT_EQ(report->failed(), first.puts / 10 + second.puts / 10);
  ASSERT_EQ(report->slices.size(), 4u);
  for (const Slice& slice : report->slices) {
    EXPECT_EQ(slice.latencies.count(), 250u);
    EXPECT_GT(slice.seconds, 0);
  }
  ASSERT_EQ(report->members.size(), 2u);
  EXPECT_EQ(report->members[1].version, "3.5.0");
  EXPECT_GT(report->processor_seconds, 0);
}

TEST(Load, SpreadsItsClientsOverTheMembers) {
  Member members[3];
  Plan plan = plan_for("put", {members[0].endpoint, members[1].endpoint, members[2].endpoint});
  plan.seconds = 0.1;
  ASSERT_TRUE(run(plan));
  for (const Member& member : members) EXPECT_EQ(member.ranges, 2u);  // which a client begins with
}

TEST(Load, SaysWhoIsNotThere) {
  const Member member;
  const auto report = run(plan_for("put", {member.endpoint, "127.0.0.1:1"}));
  ASSERT_FALSE(report);
  EXPECT_TRUE(report.error().starts_with("127.0.0.1:1: ")) << report.error();
}

TEST(Load, SaysWhatAServerCannotDo) {
  const Member member;
  Plan plan = plan_for("keep-alive", {member.endpoint});
  plan.patience = 200ms;
  const auto report = run(plan);
  ASSERT_FALSE(report);
  EXPECT_TRUE(report.error().starts_with("UNIMPLEMENTED")) << report.error();
}

TEST(Load, LooksAtWhatItIsTold) {
  const Member member;  // which counts three keys, and shows one
  Plan plan = plan_for("range", {member.endpoint});
  plan.keys = 3;
  plan.seconds = 0.1;
  const auto report = run(plan);
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->latencies.count(), 0u);
  EXPECT_EQ(report->errors.begin()->first, "a walk over all keys found 1");
}

}  // namespace
}  // namespace conclave::load
