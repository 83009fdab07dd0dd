// conclave status and conclave evict, asking real desks.
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/verbs.hpp"
#include "desks.hpp"

namespace conclave::desk {
namespace {

class Verbs : public Desks {
 protected:
  Verbs() { open(); }

  // Runs the verb while another thread turns the loop; what it printed.
  std::string run(std::vector<std::string> arguments) {
    loop.restart();
    auto work = boost::asio::make_work_guard(loop);
    std::thread desks([&] { loop.run(); });
    CLI::App app;
    cli::Action action;
    cli::add_status(app, action);
    cli::add_evict(app, action);
    std::ranges::reverse(arguments);
    app.parse(arguments);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    exit_status = action();
    const std::string printed =
        testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    loop.stop();
    desks.join();
    return printed;
  }
  std::string address(std::uint32_t id) { return "127.0.0.1:" + std::to_string(at(id).port); }
  std::string both() { return address(1) + "," + address(2); }
  int exit_status = 0;
};

TEST_F(Verbs, ShowWhoHoldsAndWhoWaitsForWhom) {
  locked(lock(to(1), "printer"));
  const auto second = lock(to(1), "printer");
  const auto elsewhere = lock(to(2), "printer");
  settle();
  const std::string printed = run({"status", "--endpoints", both()});
  EXPECT_EQ(exit_status, 0);
  EXPECT_TRUE(printed.contains("group test, engine hall, epoch 1")) << printed;
  EXPECT_TRUE(printed.contains("hall:2")) << printed;
  EXPECT_TRUE(printed.contains("at member 1 for")) << printed;
  EXPECT_TRUE(printed.contains("1 at 1, 1 at 2")) << printed;
  EXPECT_TRUE(printed.contains("printer: member 2 waits for the reply of member 1, for 12 s")) << printed;
}

TEST_F(Verbs, SpeakJson) {
  locked(lock(to(1), "printer"));
  const auto json =
      nlohmann::json::parse(run({"status", "--json", "--endpoints", address(1) + ",127.0.0.1:1"}));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["member"], 1);
  EXPECT_EQ(json[0]["names"][0]["name"], "printer");
  EXPECT_EQ(json[0]["names"][0]["fence"], 1);
  EXPECT_TRUE(json[1].contains("error"));
  EXPECT_EQ(exit_status, 1);
}

TEST_F(Verbs, UnderstandHowOftenToLook) {
  for (std::vector<std::string> arguments : {std::vector<std::string>{"status", "--watch"},
                                             {"status", "--watch", "0.5", "--json"},
                                             {"status", "--watch", "--endpoints", "a:1,b:2"}}) {
    CLI::App app;
    cli::Action action;
    cli::add_status(app, action);
    std::ranges::reverse(arguments);
    EXPECT_NO_THROW(app.parse(arguments));
  }
}

TEST_F(Verbs, NameEndpointsThatDoNotAnswer) {
  const std::string printed = run({"status", "--endpoints", "127.0.0.1:1," + address(2)});
  EXPECT_TRUE(printed.contains("127.0.0.1:1 does not answer: ")) << printed;
  EXPECT_TRUE(printed.contains("engine hall"));
  EXPECT_EQ(exit_status, 1);
}

TEST_F(Verbs, EvictAMemberByAnother) {
  const std::string printed = run({"evict", "2", "--yes", "--endpoints", address(2) + "," + address(1)});
  EXPECT_EQ(exit_status, 0) << printed;
  EXPECT_TRUE(printed.contains("member 2 (hall:2) of group test is up")) << printed;
  EXPECT_TRUE(printed.contains("member 2 is evicted; epoch 2")) << printed;
  EXPECT_TRUE(run({"evict", "2", "--yes", "--endpoints", address(1)}).contains("is evicted already"));
  EXPECT_EQ(exit_status, 1);
  EXPECT_TRUE(run({"status", "--endpoints", address(1)}).contains("evicted"));
}

TEST_F(Verbs, EvictNobodyWhomTheyDoNotKnowOrWithoutBeingToldTo) {
  EXPECT_TRUE(run({"evict", "9", "--yes", "--endpoints", address(1)}).contains("knows no member 9"));
  EXPECT_EQ(exit_status, 2);
  EXPECT_TRUE(run({"evict", "1", "--yes", "--endpoints", address(1)}).contains("is the member itself"));
  EXPECT_EQ(exit_status, 1);
  if (isatty(0)) return;
  EXPECT_TRUE(run({"evict", "2", "--endpoints", address(1)}).contains("say --yes"));
  EXPECT_EQ(exit_status, 2);
  EXPECT_FALSE(at(1).seat.status().members[1].evicted);
}

}  // namespace
}  // namespace conclave::desk
