// Clients of a store under faults: many at once put, get, delete, and compare and swap keys, through all
// members, and write down what they asked and were told.
//
//   chaos_load ENDPOINTS HISTORY SEED WORKERS PAUSE_MS [serializable]
//
// Every line on the standard input is answered with the number of operations acknowledged so far. A line
// `use ENDPOINTS` says where the members are from now on; any other only asks. When the input ends, what is
// under way is waited for, every key is read once more, and the history is written (docs/history.md). Then
// one line of JSON says what was done. With `serializable` gets are asked for what a member has at hand, and
// written down as if they had not been: that history is expected to be broken.
#include <proto/rpc.pb.h>
#include <signal.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "chaos/members.hpp"
#include "core/random.hpp"
#include "linear/history_file.hpp"

namespace {

using namespace std::chrono_literals;
using namespace conclave;
using chaos::Members;
using chaos::number;
using chaos::split;
using Clock = std::chrono::steady_clock;
namespace pb = etcdserverpb;

struct Plan {
  std::vector<std::string> endpoints;
  std::string file;
  std::uint64_t seed = 1;
  std::size_t workers = 16;
  std::chrono::milliseconds pause{10};
  bool serializable = false;
};

// Keys are used for some seconds and then left alone: what is unknown of one does not add up for ever.
constexpr auto key_age = 8s;
constexpr std::uint64_t keys_at_once = 8;
constexpr auto patience = 1500ms;  // for an answer; afterwards nobody knows

linear::Time now() { return Clock::now().time_since_epoch().count(); }

// What all clients write down.
struct Record {
  linear::History history = {};
  std::set<std::string> keys = {};
  std::uint64_t acknowledged = 0;
  std::uint64_t unknown = 0;
  std::uint64_t not_done = 0;  // nobody was there to be asked
  linear::Time last_write = 0;
  linear::Time longest_gap = 0;  // between two acknowledged writes, of anybody

  void add(linear::Operation operation) {
    keys.insert(operation.key);
    if (operation.returned) {
      ++acknowledged;
      if (operation.kind != linear::Kind::get) note_write(*operation.returned);
    } else {
      ++unknown;
    }
    history.push_back(std::move(operation));
  }
  void note_write(linear::Time at) {
    if (last_write != 0) longest_gap = std::max(longest_gap, at - last_write);
    last_write = at;
  }
};

void put_value(linear::Operation& operation,
               const google::protobuf::RepeatedPtrField<mvccpb::KeyValue>& found) {
  if (found.empty()) {
    operation.found = linear::Value();
    return;
  }
  operation.found = linear::Value(found[0].value());
  operation.revision = static_cast<std::uint64_t>(found[0].mod_revision());
}

// One client. It stays with a member until it gets no answer there.
class Worker {
 public:
  Worker(boost::asio::io_context& loop, const Plan& plan, Record& record, std::uint64_t number)
      : plan_(plan),
        record_(record),
        number_(number),
        timer_(loop),
        members_(loop, plan.endpoints, number % plan.endpoints.size()) {}

  void start() { rest(); }
  void learn(const std::vector<std::string>& endpoints) { members_.learn(endpoints); }
  void stop() { stopped_ = true; }
  bool idle() const { return idle_; }
  void read(const std::string& key, std::function<void(bool)> then) {
    begin(linear::Kind::get, key);
    finished_ = std::move(then);
    ask();
  }

 private:
  std::uint64_t draw(std::uint64_t bound) {
    return ScrambledBits(scramble(plan_.seed * 1'000'003 + number_ * 7'919 + (++draws_ << 20))).below(bound);
  }

  void rest() {
    timer_.expires_after(plan_.pause / 2 + std::chrono::microseconds(draw(
                                               1 + 1000 * static_cast<std::uint64_t>(plan_.pause.count()))));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      if (stopped_) {
        idle_ = true;
        return;
      }
      next();
    });
  }

  void next() {
    const auto age = static_cast<std::uint64_t>((Clock::now() - began_) / key_age);
    const std::string key = "chaos/" + std::to_string(age) + "/" + std::to_string(draw(keys_at_once));
    const std::uint64_t kind = draw(20);
    begin(kind < 9    ? linear::Kind::get
          : kind < 14 ? linear::Kind::put
          : kind < 19 ? linear::Kind::swap
                      : linear::Kind::erase,
          key);
    if (operation_.kind == linear::Kind::put || operation_.kind == linear::Kind::swap)
      operation_.value = std::to_string(number_) + "-" + std::to_string(++values_);
    if (operation_.kind == linear::Kind::swap) operation_.wanted = seen_[key];
    finished_ = {};
    ask();
  }

  void begin(linear::Kind kind, const std::string& key) {
    operation_ = {.process = number_, .key = key, .kind = kind, .invoked = now()};
  }

  void ask() {
    switch (operation_.kind) {
      case linear::Kind::get: return get();
      case linear::Kind::put: return put();
      case linear::Kind::erase: return erase();
      case linear::Kind::swap: return swap();
    }
  }
  template <class Response, class Fill>
  void call(const char* path, const google::protobuf::MessageLite& request, Fill fill_in) {
    rpc::call<Response>(members_.here(), path, request, {.timeout = patience},
                        [this, fill_in](std::expected<Response, rpc::Failure> answer) {
                          if (!answer) return failed(answer.error());
                          operation_.returned = now();
                          fill_in(*answer);
                          done();
                        });
  }
  void get() {
    pb::RangeRequest request;
    request.set_key(operation_.key);
    request.set_serializable(plan_.serializable);
    call<pb::RangeResponse>("/etcdserverpb.KV/Range", request,
                            [this](const pb::RangeResponse& answer) { put_value(operation_, answer.kvs()); });
  }
  void put() {
    pb::PutRequest request;
    request.set_key(operation_.key);
    request.set_value(operation_.value);
    call<pb::PutResponse>("/etcdserverpb.KV/Put", request,
                          [this](const pb::PutResponse& answer) { wrote_at(answer.header()); });
  }
  void erase() {
    pb::DeleteRangeRequest request;
    request.set_key(operation_.key);
    request.set_prev_kv(true);
    call<pb::DeleteRangeResponse>("/etcdserverpb.KV/DeleteRange", request,
                                  [this](const pb::DeleteRangeResponse& answer) {
                                    put_value(operation_, answer.prev_kvs());
                                    operation_.revision.reset();
                                    if (answer.deleted() > 0) wrote_at(answer.header());
                                  });
  }
  void swap() {
    pb::TxnRequest request;
    pb::Compare& compare = *request.add_compare();
    compare.set_key(operation_.key);
    if (operation_.wanted) {
      compare.set_target(pb::Compare::VALUE);
      compare.set_value(*operation_.wanted);
    } else {
      compare.set_target(pb::Compare::CREATE);
      compare.set_create_revision(0);
    }
    pb::PutRequest& put = *request.add_success()->mutable_request_put();
    put.set_key(operation_.key);
    put.set_value(operation_.value);
    request.add_failure()->mutable_request_range()->set_key(operation_.key);
    call<pb::TxnResponse>("/etcdserverpb.KV/Txn", request, [this](const pb::TxnResponse& answer) {
      operation_.swapped = answer.succeeded();
      if (answer.succeeded()) return wrote_at(answer.header());
      put_value(operation_, answer.responses(0).response_range().kvs());
      operation_.revision.reset();  // it is not the swap's
    });
  }
  void wrote_at(const pb::ResponseHeader& header) {
    operation_.revision = static_cast<std::uint64_t>(header.revision());
  }

  void done() {
    const bool is_put = operation_.kind == linear::Kind::put || operation_.swapped;
    seen_[operation_.key] =
        is_put ? linear::Value(operation_.value) : operation_.found.value_or(linear::Value());
    if (operation_.kind == linear::Kind::erase) seen_[operation_.key].reset();
    finish(true);
  }
  void failed(const rpc::Failure& why) {
    members_.next();
    const bool read_only = operation_.kind == linear::Kind::get;
    if (!why.may_have_run || read_only) {
      ++record_.not_done;
      return end(false);
    }
    finish(false);
  }
  void finish(bool fine) {
    record_.add(operation_);
    end(fine);
  }
  void end(bool fine) {
    if (finished_) return finished_(fine);
    rest();
  }

  const Plan& plan_;
  Record& record_;
  std::uint64_t number_;
  boost::asio::steady_timer timer_;
  Members members_;
  Clock::time_point began_ = Clock::now();
  std::uint64_t draws_ = 0;
  std::uint64_t values_ = 0;
  std::map<std::string, linear::Value> seen_;
  linear::Operation operation_;
  std::function<void(bool)> finished_;
  bool stopped_ = false;
  bool idle_ = false;
};

// Sees every change, in order, and each once: through whichever member, from where it was.
class Watcher {
 public:
  Watcher(boost::asio::io_context& loop, const Plan& plan, std::size_t first)
      : timer_(loop), members_(loop, plan.endpoints, first) {}
  void learn(const std::vector<std::string>& endpoints) { members_.learn(endpoints); }
  void start() {
    open();
    look();
  }
  void stop() {
    timer_.cancel();
    stream_.cancel();
    stopped_ = true;
  }
  std::uint64_t seen_until() const { return next_ - 1; }
  const std::string& wrong() const { return wrong_; }
  std::uint64_t opened() const { return opened_; }
  // What of the acknowledged writes it was not told, or told otherwise.
  std::uint64_t missed(const linear::History& history) {
    std::uint64_t missing = 0;
    for (const linear::Operation& operation : history) {
      const bool wrote = operation.kind != linear::Kind::get && operation.returned && operation.revision;
      if (!wrote) continue;
      const auto told = told_.find(*operation.revision);
      const linear::Value left =
          operation.kind == linear::Kind::erase ? linear::Value() : linear::Value(operation.value);
      if (told != told_.end() && told->second == std::pair(operation.key, left)) continue;
      if (missing++ == 0) wrong_ = "not told of " + linear::to_line(operation);
    }
    return missing;
  }

 private:
  void open() {
    ++opened_;
    heard_ = Clock::now();
    const std::uint64_t which = opened_;
    stream_ = rpc::open_stream<pb::WatchResponse>(members_.here(), "/etcdserverpb.Watch/Watch", {},
                                                  {.message =
                                                       [this, which](const pb::WatchResponse& response) {
                                                         if (which == opened_) hear(response);
                                                       },
                                                   .closed =
                                                       [this, which](const rpc::Answer&) {
                                                         if (which == opened_) heard_ = {};
                                                       }});
    pb::WatchRequest request;
    pb::WatchCreateRequest& wish = *request.mutable_create_request();
    wish.set_key("chaos/");
    wish.set_range_end("chaos0");
    wish.set_start_revision(static_cast<std::int64_t>(next_));
    stream_.send(request);
  }
  void hear(const pb::WatchResponse& response) {
    heard_ = response.canceled() ? Clock::time_point() : Clock::now();
    for (const mvccpb::Event& event : response.events()) {
      const auto revision = static_cast<std::uint64_t>(event.kv().mod_revision());
      if (revision < next_ && wrong_.empty())
        wrong_ = "told of revision " + std::to_string(revision) + " after " + std::to_string(next_ - 1);
      next_ = std::max(next_, revision + 1);
      const bool there = event.type() == mvccpb::Event::PUT;
      told_[revision] = {event.kv().key(), there ? linear::Value(event.kv().value()) : linear::Value()};
    }
  }
  // A member that says nothing may be cut off.
  void look() {
    timer_.expires_after(100ms);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || stopped_) return;
      if (Clock::now() - heard_ > patience) {
        members_.next();
        ++opened_;  // what the old stream still has to say does not count
        stream_.cancel();
        open();
      }
      look();
    });
  }

  boost::asio::steady_timer timer_;
  Members members_;
  rpc::ClientStream stream_;
  std::uint64_t opened_ = 0;
  std::uint64_t next_ = 1;
  Clock::time_point heard_ = {};
  std::map<std::uint64_t, std::pair<std::string, linear::Value>> told_;
  std::string wrong_;
  bool stopped_ = false;
};

class Load {
 public:
  explicit Load(Plan plan) : plan_(std::move(plan)), input_(loop_, ::dup(0)), timer_(loop_) {
    for (std::size_t i = 0; i < plan_.workers; ++i)
      workers_.push_back(std::make_unique<Worker>(loop_, plan_, record_, i + 1));
    for (std::size_t i = 0; i < 2; ++i)
      watchers_.push_back(std::make_unique<Watcher>(loop_, plan_, i % plan_.endpoints.size()));
  }

  int run() {
    for (auto& worker : workers_) worker->start();
    for (auto& watcher : watchers_) watcher->start();
    listen();
    loop_.run();
    return 0;
  }

 private:
  void listen() {
    boost::asio::async_read_until(input_, line_, '\n',
                                  [this](const boost::system::error_code& error, std::size_t length) {
                                    if (error) return stop();
                                    obey(length);
                                    std::cout << record_.acknowledged << std::endl;
                                    listen();
                                  });
  }
  void obey(std::size_t length) {
    std::string line(boost::asio::buffers_begin(line_.data()),
                     boost::asio::buffers_begin(line_.data()) + static_cast<std::ptrdiff_t>(length) - 1);
    line_.consume(length);
    if (!line.starts_with("use ")) return;
    const auto endpoints = split(line.substr(4));
    for (auto& worker : workers_) worker->learn(endpoints);
    for (auto& watcher : watchers_) watcher->learn(endpoints);
  }
  void stop() {
    for (auto& worker : workers_) worker->stop();
    wait_for_all();
  }
  void wait_for_all() {
    for (auto& worker : workers_)
      if (!worker->idle()) return later([this] { wait_for_all(); });
    unread_.assign(record_.keys.begin(), record_.keys.end());
    give_up_ = Clock::now() + 60s;
    read_again();
  }
  // Everything that was acknowledged must still be there: the last reads tell.
  void read_again() {
    if (unread_.empty() || Clock::now() > give_up_) return wait_for_watchers();
    workers_[0]->read(unread_.back(), [this](bool fine) {
      if (fine) unread_.pop_back();
      if (fine) return read_again();
      later([this] { read_again(); });
    });
  }
  void wait_for_watchers() {
    std::uint64_t last = 0;
    for (const linear::Operation& operation : record_.history)
      last = std::max(last, operation.revision.value_or(0));
    for (auto& watcher : watchers_)
      if (watcher->seen_until() < last && Clock::now() < give_up_)
        return later([this] { wait_for_watchers(); });
    write();
  }
  void write() {
    std::uint64_t missed = 0;
    std::uint64_t watches = 0;
    std::string wrong;
    for (auto& watcher : watchers_) {
      watcher->stop();
      missed += watcher->missed(record_.history);
      watches += watcher->opened();
      if (wrong.empty()) wrong = watcher->wrong();
    }
    std::ofstream file(plan_.file, std::ios::binary);
    for (const linear::Operation& operation : record_.history) file << linear::to_line(operation) << '\n';
    file.close();
    const nlohmann::ordered_json summary = {{"operations", record_.history.size()},
                                            {"acknowledged", record_.acknowledged},
                                            {"unknown", record_.unknown},
                                            {"not_done", record_.not_done},
                                            {"keys", record_.keys.size()},
                                            {"longest_gap_ms", record_.longest_gap / 1'000'000},
                                            {"unread_keys", unread_.size()},
                                            {"watches", watches},
                                            {"missed_by_watchers", missed},
                                            {"wrong_with_watchers", wrong},
                                            {"written", !file.fail()}};
    std::cout << summary.dump() << std::endl;
    loop_.stop();
  }
  void later(std::function<void()> then) {
    timer_.expires_after(20ms);
    timer_.async_wait([then = std::move(then)](const boost::system::error_code& error) {
      if (!error) then();
    });
  }

  Plan plan_;
  boost::asio::io_context loop_{1};
  boost::asio::posix::stream_descriptor input_;
  boost::asio::streambuf line_;
  boost::asio::steady_timer timer_;
  Record record_;
  std::vector<std::string> unread_;
  Clock::time_point give_up_ = {};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  return Load({.endpoints = split(argv[1]),
               .file = argv[2],
               .seed = number(argv[3]),
               .workers = number(argv[4]),
               .pause = std::chrono::milliseconds(number(argv[5])),
               .serializable = argc > 6 && std::string_view(argv[6]) == "serializable"})
      .run();
}
