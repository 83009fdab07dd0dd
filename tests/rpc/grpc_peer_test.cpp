// An independent client, gRPC C++, against our server: what it can do with its own server it can do with
// ours.
#include <echo.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "rpc/typed_server.hpp"

namespace conclave::rpc {
namespace {

using namespace std::chrono_literals;
using test::Text;

class GrpcPeer : public testing::Test {
 protected:
  GrpcPeer() {
    serve_unary<Text, Text>(server, "/test.Echo/Unary", [](const Text& request, Reply<Text> reply) {
      Text& response = reply.fresh();
      response.set_text(request.text());
      reply.send(response);
    });
    serve_unary<Text, Text>(server, "/test.Echo/Fail", [](const Text& request, Reply<Text> reply) {
      reply.fail({Code::failed_precondition, request.text()});
    });
    serve_unary<Text, Text>(server, "/test.Echo/Wait", [this](const Text&, Reply<Text> reply) {
      ++waiting;
      reply.call().on_cancel([this](const Status& status) {
        why = status.code;
        --waiting;
      });
    });
    serve_answers<Text, Text>(server, "/test.Echo/Count",
                              [](const Text& request, ServerStream<Text, Text> stream) {
                                for (std::size_t i = 1; i <= request.text().size(); ++i) {
                                  Text number;
                                  number.set_text(std::to_string(i));
                                  stream.send(number);
                                }
                                stream.finish({});
                              });
    serve_stream<Text, Text>(server, "/test.Echo/Gather", [](ServerStream<Text, Text> stream) {
      const auto all = std::make_shared<Text>();
      stream.on_message([all](const Text& one) { all->mutable_text()->append(one.text()); });
      stream.call().on_half_close([stream, all]() mutable { stream.call().reply(*all); });
    });
    serve_stream<Text, Text>(server, "/test.Echo/Chat", [this](ServerStream<Text, Text> stream) {
      stream.on_message([stream](const Text& one) mutable { stream.send(one); });
      stream.call().on_half_close([stream]() mutable { stream.finish({}); });
      stream.call().on_cancel([this](const Status&) { chat_cancelled = true; });
    });
    port = server.listen("127.0.0.1:0").value();
    serving = std::thread([this] { loop.run(); });
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    stub = test::Echo::NewStub(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                                         grpc::InsecureChannelCredentials(), arguments));
  }
  ~GrpcPeer() override {
    stub.reset();
    boost::asio::post(loop, [this] { server.shutdown(0ms, [this] { guard.reset(); }); });
    serving.join();
  }

  static Text text(std::string content) {
    Text result;
    result.set_text(std::move(content));
    return result;
  }
  static void wait_for(const auto& seen) {
    for (int i = 0; i < 2000 && !seen(); ++i) std::this_thread::sleep_for(5ms);
    EXPECT_TRUE(seen());
  }

  boost::asio::io_context loop{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{loop.get_executor()};
  Server server{loop};
  std::atomic<int> waiting = 0;
  std::atomic<Code> why = Code::ok;
  std::atomic<bool> chat_cancelled = false;
  std::uint16_t port = 0;
  std::thread serving;
  std::unique_ptr<test::Echo::Stub> stub;
};

TEST_F(GrpcPeer, MakesUnaryCalls) {
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    Text answer;
    const grpc::Status status = stub->Unary(&context, text("number " + std::to_string(i)), &answer);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(answer.text(), "number " + std::to_string(i));
  }
}

TEST_F(GrpcPeer, SendsAndTakesLargeMessages) {
  for (const std::size_t size : {0u, 65'530u, 1'500'000u, 2'097'000u}) {
    grpc::ClientContext context;
    Text answer;
    const grpc::Status status = stub->Unary(&context, text(std::string(size, 'x')), &answer);
    ASSERT_TRUE(status.ok()) << size << ": " << status.error_message();
    EXPECT_EQ(answer.text().size(), size);
  }
  grpc::ClientContext context;
  Text answer;
  EXPECT_EQ(stub->Unary(&context, text(std::string(2'200'000, 'x')), &answer).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(GrpcPeer, IsToldWhatWentWrong) {
  grpc::ClientContext context;
  Text answer;
  const grpc::Status status = stub->Fail(&context, text("etcdserver: 100 % \xc3\xa4\n"), &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "etcdserver: 100 % \xc3\xa4\n");
}

TEST_F(GrpcPeer, MeetsItsDeadline) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 50ms);
  Text answer;
  EXPECT_EQ(stub->Wait(&context, text(""), &answer).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  wait_for([this] { return waiting == 0 && why != Code::ok; });
}

TEST_F(GrpcPeer, Cancels) {
  grpc::ClientContext context;
  std::thread canceller([&] {
    wait_for([this] { return waiting == 1; });
    context.TryCancel();
  });
  Text answer;
  EXPECT_EQ(stub->Wait(&context, text(""), &answer).error_code(), grpc::StatusCode::CANCELLED);
  canceller.join();
  wait_for([this] { return waiting == 0; });
  EXPECT_EQ(why, Code::cancelled);
}

TEST_F(GrpcPeer, ReadsAStream) {
  grpc::ClientContext context;
  const auto reader = stub->Count(&context, text(std::string(5000, 'x')));
  Text one;
  int count = 0;
  while (reader->Read(&one)) EXPECT_EQ(one.text(), std::to_string(++count));
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(count, 5000);
}

TEST_F(GrpcPeer, WritesAStream) {
  grpc::ClientContext context;
  Text answer;
  const auto writer = stub->Gather(&context, &answer);
  for (int i = 0; i < 1000; ++i) writer->Write(text("0123456789"));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(answer.text().size(), 10'000u);
}

TEST_F(GrpcPeer, Chats) {
  grpc::ClientContext context;
  const auto stream = stub->Chat(&context);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(stream->Write(text(std::to_string(i))));
    Text one;
    ASSERT_TRUE(stream->Read(&one));
    EXPECT_EQ(one.text(), std::to_string(i));
  }
  stream->WritesDone();
  Text none;
  EXPECT_FALSE(stream->Read(&none));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GrpcPeer, CancelsAStream) {
  grpc::ClientContext context;
  const auto stream = stub->Chat(&context);
  ASSERT_TRUE(stream->Write(text("x")));
  Text one;
  ASSERT_TRUE(stream->Read(&one));
  context.TryCancel();
  EXPECT_FALSE(stream->Finish().ok());
  wait_for([this] { return chat_cancelled.load(); });
}

TEST_F(GrpcPeer, CallsFromManyThreads) {
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        grpc::ClientContext context;
        context.AddMetadata("hasleader", "true");
        Text answer;
        answered += stub->Unary(&context, text(std::string(256, 'x')), &answer).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 800);
}

}  // namespace
}  // namespace conclave::rpc
