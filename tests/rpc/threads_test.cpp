// A server on its thread, clients on theirs: what the thread sanitizer looks at.
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "loopback.hpp"

namespace conclave::rpc {
namespace {

TEST(Threads, EachLoopHasItsOwn) {
  boost::asio::io_context loop(1);
  Server server(loop);
  server.unary(std::string(echo), [](Call call, std::string_view request) { call.reply(request); });
  // Answers that another thread works out come back through the loop.
  std::vector<std::thread> workers;
  server.unary("/test.Work/Out", [&](Call call, std::string_view) {
    auto kept = std::make_unique<Call>(std::move(call));
    workers.emplace_back([&loop, kept = std::move(kept)]() mutable {
      boost::asio::post(loop, [kept = std::move(kept)] { kept->reply("worked out"); });
    });
  });
  const std::uint16_t port = server.listen("127.0.0.1:0").value();
  auto guard = boost::asio::make_work_guard(loop);
  std::thread serving([&] { loop.run(); });

  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      boost::asio::io_context own(1);
      auto channel =
          std::move(Channel::open(own, {.endpoints = {"127.0.0.1:" + std::to_string(port)}}).value());
      int left = 300;
      std::function<void()> next = [&] {
        if (left-- == 0) return channel->close();
        const std::string_view path = left % 50 == 0 ? "/test.Work/Out" : echo;
        channel->unary(path, std::to_string(i), {.timeout = 60s}, [&](const Answer& answer) {
          EXPECT_EQ(answer.status, Status{});
          ++answered;
          next();
        });
      };
      next();
      own.run();
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 4 * 300);
  boost::asio::post(loop, [&] { server.shutdown(1s, [&] { guard.reset(); }); });
  serving.join();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace conclave::rpc
