// What one gRPC call costs a server: ours against gRPC C++, the same load from the same generator, turn
// about.
//
//   rpc_bench [--seconds N] [--rounds N] [--json]
//
// Each server is a process of its own; what is counted is its processor time between the first and the last
// call of a round, by its own clock, so that others who use the machine do not count.
#include <echo.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <nlohmann/json.hpp>

#include "rpc/client.hpp"
#include "rpc/typed_server.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using test::Text;

constexpr std::size_t message_bytes = 256;

struct Shape {
  std::size_t connections;
  std::size_t calls;  // under way on each
  std::string name() const { return fmt::format("{} x {}", connections, calls); }
};
constexpr Shape shapes[] = {{64, 1}, {4, 16}, {1, 1}};

// ---- the two servers, each in a child

void tell_port(int pipe, std::uint16_t port) {
  if (write(pipe, &port, sizeof port) != sizeof port) _exit(1);
}

void serve_ours(int pipe) {
  boost::asio::io_context loop(1);
  rpc::Server server(loop);
  rpc::serve_unary<Text, Text>(server, "/test.Echo/Unary", [](const Text& request, rpc::Reply<Text> reply) {
    Text& response = reply.fresh();
    response.set_text(request.text());
    reply.send(response);
  });
  tell_port(pipe, server.listen("127.0.0.1:0").value());
  loop.run();
}

// The callback API: the fastest of gRPC's in our measurements.
class GrpcEcho final : public test::Echo::CallbackService {
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Text* request,
                                  Text* response) override {
    response->set_text(request->text());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

void serve_grpc(int pipe) {
  GrpcEcho service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  tell_port(pipe, static_cast<std::uint16_t>(port));
  server->Wait();
}

class Child {
 public:
  explicit Child(void (*serve)(int)) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(ends[1]);
      _exit(0);
    }
    if (read(ends[0], &port_, sizeof port_) != sizeof port_)
      throw std::runtime_error("the server did not start");
    close(ends[0]);
    close(ends[1]);
    clock_getcpuclockid(pid_, &clock_);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint16_t port() const { return port_; }
  double cpu_seconds() const {
    timespec time = {};
    clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

 private:
  pid_t pid_ = 0;
  clockid_t clock_ = {};
  std::uint16_t port_ = 0;
};

// ---- the load

struct Measured {
  double calls_per_second = 0;
  double cpu_microseconds = 0;  // of the server, per call
  double median_microseconds = 0;
};

class Load {
 public:
  Load(const Child& server, const Shape& shape) : server_(server), shape_(shape) {
    Text text;
    text.set_text(std::string(message_bytes, 'x'));
    request_ = text.SerializeAsString();
    for (std::size_t i = 0; i < shape.connections; ++i)
      channels_.push_back(std::move(
          rpc::Channel::open(loop_, {.endpoints = {"127.0.0.1:" + std::to_string(server.port())}}).value()));
  }

  Measured run(std::chrono::duration<double> time) {
    for (const auto& channel : channels_)
      for (std::size_t i = 0; i < shape_.calls; ++i) call(*channel);
    loop_.run_for(300ms);  // connections stand, caches are warm
    latencies_.clear();
    const double cpu = server_.cpu_seconds();
    const auto begin = Clock::now();
    loop_.run_for(std::chrono::duration_cast<Clock::duration>(time));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const double spent = server_.cpu_seconds() - cpu;
    const auto calls = static_cast<double>(latencies_.size());
    std::ranges::nth_element(latencies_,
                             latencies_.begin() + static_cast<std::ptrdiff_t>(latencies_.size() / 2));
    return {calls / seconds, spent / calls * 1e6, latencies_[latencies_.size() / 2] * 1e6};
  }

 private:
  void call(rpc::Channel& channel) {
    const auto begin = Clock::now();
    channel.unary("/test.Echo/Unary", request_, {}, [this, &channel, begin](const rpc::Answer& answer) {
      if (answer.status.code == rpc::Code::cancelled || answer.status.code == rpc::Code::unavailable) return;
      if (!answer.status.ok() || answer.message.size() != request_.size())
        throw std::runtime_error("a call failed: " + answer.status.message);
      latencies_.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
      call(channel);
    });
  }

  const Child& server_;
  Shape shape_;
  boost::asio::io_context loop_{1};
  std::string request_;
  std::vector<double> latencies_;
  std::vector<std::unique_ptr<rpc::Channel>> channels_;
};

Measured median(std::vector<Measured> rounds) {
  std::ranges::sort(rounds, {}, &Measured::cpu_microseconds);
  return rounds[rounds.size() / 2];
}

int run(int argc, char** argv) {
  double seconds = 2;
  unsigned rounds = 3;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--json")
      json = true;
    else if (option == "--seconds" && i + 1 < argc)
      seconds = std::stod(argv[++i]);
    else if (option == "--rounds" && i + 1 < argc)
      rounds = static_cast<unsigned>(std::stoul(argv[++i]));
    else
      return fmt::print(stderr, "usage: rpc_bench [--seconds N] [--rounds N] [--json]\n"), 2;
  }
  // Both start before gRPC has made a thread in this process: none does, here.
  const Child ours(&serve_ours);
  const Child theirs(&serve_grpc);
  nlohmann::json all = nlohmann::json::array();
  if (!json)
    fmt::print(
        "| connections x calls | server | calls/s | p50 us | server CPU us/call | ratio "
        "|\n|---|---|---|---|---|---|\n");
  for (const Shape& shape : shapes) {
    std::vector<Measured> our_rounds, their_rounds;
    for (unsigned round = 0; round < rounds; ++round) {
      our_rounds.push_back(Load(ours, shape).run(std::chrono::duration<double>(seconds)));
      their_rounds.push_back(Load(theirs, shape).run(std::chrono::duration<double>(seconds)));
    }
    const Measured mine = median(our_rounds);
    const Measured other = median(their_rounds);
    const double ratio = other.cpu_microseconds / mine.cpu_microseconds;
    all.push_back({{"shape", shape.name()},
                   {"calls_per_second", mine.calls_per_second},
                   {"cpu_us", mine.cpu_microseconds},
                   {"grpc_calls_per_second", other.calls_per_second},
                   {"grpc_cpu_us", other.cpu_microseconds},
                   {"ratio", ratio}});
    if (json) continue;
    fmt::print("| {} | ours | {:.0f} | {:.0f} | {:.1f} | {:.1f} |\n", shape.name(), mine.calls_per_second,
               mine.median_microseconds, mine.cpu_microseconds, ratio);
    fmt::print("| {} | gRPC C++ | {:.0f} | {:.0f} | {:.1f} | 1 |\n", shape.name(), other.calls_per_second,
               other.median_microseconds, other.cpu_microseconds);
  }
  if (json) fmt::print("{}\n", all.dump());
  return 0;
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) { return conclave::bench::run(argc, argv); }
