// One client: a connection to one member, and its operations one after the other.
#pragma once
#include <google/protobuf/message_lite.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <mutex>
#include <thread>

#include "core/random.hpp"
#include "load/plan.hpp"
#include "rpc/typed_client.hpp"

namespace conclave::load {

using Clock = std::chrono::steady_clock;

// A put that watchers are to be told of.
struct Told {
  std::atomic<std::uint64_t> sequence = 0;
  std::atomic<std::uint32_t> missing =
      0;  // watchers that were not told, and the client that was not answered
  std::function<void(std::uint64_t sequence)> all_told = {};
};

// What the clients of all threads share.
struct Shared {
  explicit Shared(const Plan& the_plan) : plan(the_plan), ends(slice_limit()) {}

  // The first reason that the run cannot go on.
  void give_up(const std::string& why) {
    const std::lock_guard lock(mutex);
    if (reason.empty()) reason = why;
    stop = true;
  }
  std::string gave_up() const {
    const std::lock_guard lock(mutex);
    return reason;
  }
  std::size_t slice_limit() const {
    if (plan.slice == 0) return 0;
    return plan.count > 0 ? std::min(plan.count / plan.slice, most_slices) : most_slices;
  }

  const Plan& plan;
  Clock::time_point begin = {};  // these two are set before anybody goes
  Clock::time_point end = Clock::time_point::max();
  std::atomic<bool> stop = false;  // no operation begins any more
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint32_t> ready = 0;
  std::atomic<std::uint32_t> finished = 0;
  std::vector<Clock::time_point> ends;  // of slices; each is written by one client
  // When the lock that all want was last given back.
  std::atomic<Clock::rep> given_back = 0;
  std::deque<Told> told = {};  // by the client that puts

 private:
  mutable std::mutex mutex;
  std::string reason = {};
};

// A thread, its clients, and what it counts.
struct Home {
  explicit Home(Shared& the_shared) : shared(the_shared), ticker(loop) {}

  const Plan& plan() const { return shared.plan; }
  Latencies& slice(std::uint64_t number);  // of the operation with this number

  Shared& shared;
  boost::asio::io_context loop{1};
  boost::asio::steady_timer ticker;
  Latencies latencies = {};
  std::vector<std::unique_ptr<Latencies>> slices = {};
  std::map<std::string, std::uint64_t> errors = {};
  std::map<std::string, Latencies> parts = {};
  std::map<std::string, std::uint64_t> counts = {};
  Clock::time_point last = {};  // when an operation ended
  std::vector<std::unique_ptr<Client>> clients = {};
  std::thread thread = {};
};

class Client {
 public:
  Client(Home& home, std::uint32_t number);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // Each ends when the client says so: `ready`, `finished`.
  void begin() { prepare(); }
  void go();
  void end();
  // Every tenth of a second.
  virtual void tick(Clock::time_point) {}
  virtual bool waits_only() const { return false; }  // it has no operations of its own
  // Nothing is called back any more.
  void close();

 protected:
  // Connects, unless a kind of client has more to prepare.
  virtual void prepare();
  virtual void once() = 0;  // ends with `done` or `fail`
  virtual void finish() { finished(); }
  virtual void broke() {}  // the operation failed somewhere

  void ready();
  void done();
  void fail(const rpc::Status& status);
  void fail(const std::string& why);
  void count_error(const std::string& why);
  void finished();
  bool gone() const { return phase_ == Phase::gone; }

  // A call; what comes back is read by `then` if it is no error, which is as if the operation had failed.
  template <class Then>
  void ask(std::string_view path, const google::protobuf::MessageLite& request, Then then) {
    channel_->unary(path, request, {.timeout = plan().patience},
                    [this, then = std::move(then)](const rpc::Answer& answer) mutable {
                      if (!answer.status.ok()) return fail(answer.status);
                      then(answer.message);
                    });
  }
  template <class Response, class Then>
  void ask_for(std::string_view path, const google::protobuf::MessageLite& request, Then then) {
    ask(path, request, [this, then = std::move(then)](std::string_view bytes) mutable {
      Response response;
      if (!response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return fail("the answer cannot be read");
      then(response);
    });
  }
  // So many things, some of them at a time; `start` is told which one, and `one_done` ends it.
  void several(std::uint32_t count, std::function<void(std::uint32_t)> start, std::function<void()> then);
  void one_done();

  const Plan& plan() const { return home_.plan(); }
  Shared& shared() { return home_.shared; }
  std::uint64_t draw(std::uint64_t bound);
  std::string key(std::uint64_t number) const { return key_of(plan(), number); }

  Home& home_;
  const std::uint32_t number_;
  std::unique_ptr<rpc::Channel> channel_;
  Clock::time_point begun_ = {};  // the operation under way
  std::uint64_t operation_ = 0;   // its number, from 0

 public:
  // All keys are equally long, and in order.
  static std::string key_of(const Plan& plan, std::uint64_t number);

 private:
  enum class Phase { preparing, working, finishing, gone } phase_ = Phase::preparing;
  void later(void (Client::*then)());
  void begin_operation();

  boost::asio::steady_timer pause_;
  Clock::time_point born_ = Clock::now();
  bool retries_ = false;
  bool finished_ = false;
  std::uint64_t draws_ = 0;
  std::uint32_t to_start_ = 0;
  std::uint32_t started_ = 0;
  std::uint32_t under_way_ = 0;
  std::function<void(std::uint32_t)> start_ = {};
  std::function<void()> all_done_ = {};
};

// A lease that is kept alive as long as its client is there.
class Session {
 public:
  Session(rpc::Channel& channel, const Plan& plan) : channel_(channel), plan_(plan) {}
  void granted(std::int64_t lease) {
    lease_ = lease;
    renewed_ = Clock::now();
  }
  std::int64_t lease() const { return lease_; }
  void tick(Clock::time_point now);

 private:
  rpc::Channel& channel_;
  const Plan& plan_;
  std::int64_t lease_ = 0;
  Clock::time_point renewed_ = {};
};

// A stream that is opened again when it was lost: what an earlier one still has to say does not count.
template <class Response>
class Stream {
 public:
  void open(rpc::Channel& channel, std::string_view path, std::function<void(const Response&)> message,
            std::function<void(const rpc::Status&)> closed) {
    const std::uint64_t which = ++number_;
    stream_ = rpc::open_stream<Response>(
        channel, path, {},
        {.message =
             [this, which, message = std::move(message)](const Response& response) {
               if (which == number_) message(response);
             },
         .closed =
             [this, which, closed = std::move(closed)](const rpc::Answer& answer) {
               if (which != number_) return;
               closed(answer.status.ok() ? rpc::Status{rpc::Code::unavailable, "the stream ended"}
                                         : answer.status);
             }});
  }
  bool over() const { return !stream_ || stream_.over(); }
  void send(const google::protobuf::MessageLite& message) { stream_.send(message); }
  // It ends, and `closed` is told.
  void cancel() {
    if (stream_) stream_.cancel();
  }
  // It ends, and nobody is told.
  void forget() {
    ++number_;
    cancel();
  }

 private:
  rpc::ClientStream stream_;
  std::uint64_t number_ = 0;
};

// ---- the kinds, for the table of workloads

std::unique_ptr<Client> make_put(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_get(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_serializable_get(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_txn(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_range(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_fill(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_keep_alive(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_put_told(Home& home, std::uint32_t number);
std::unique_ptr<Client> make_watcher(Home& home, std::uint32_t number);

// Locks and elections: each client has its own, or all want the same.
enum class Wanted { own, same };
enum class Way { service, recipe };  // etcd's services; or transactions and watches, as its Go client does it
template <Wanted, Way>
std::unique_ptr<Client> make_lock(Home& home, std::uint32_t number);
template <Wanted, Way>
std::unique_ptr<Client> make_campaign(Home& home, std::uint32_t number);

// Keys that one operation of `fill` puts.
std::uint64_t fill_batch(const Plan& plan);

}  // namespace conclave::load
