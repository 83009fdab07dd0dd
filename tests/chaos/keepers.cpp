// Clients that expect to be served while leaders die: readers that stay with one member, keepers of leases,
// an election with one who speaks and others who listen, and holders of a lock without a lease.
//
//   chaos_keepers ENDPOINTS FILE READERS
//
// READERS at each member ask for linearizable reads, and wait for ten seconds. Every line on the standard
// input is answered with the number of reads answered; `use ENDPOINTS` says where the members are from now
// on. When the input ends, the one who speaks says a last word, which all listeners must hear, and all
// holders enter once more. Then slow reads are written, a line of JSON each with the member, when it began
// and ended (the clock of CLOCK_MONOTONIC, in seconds) and whether it was answered; and a line of JSON on the
// output says what was done, and what was wrong.
#include <proto/election.pb.h>
#include <proto/lock.pb.h>
#include <proto/rpc.pb.h>
#include <signal.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "chaos/members.hpp"

namespace {

using namespace std::chrono_literals;
using namespace conclave;
using chaos::Members;
using Clock = std::chrono::steady_clock;
namespace pb = etcdserverpb;

constexpr auto reading_patience = 10s;
constexpr auto slow = 500ms;       // what is worth a line
constexpr auto patience = 1500ms;  // of everybody else
constexpr auto pause = 20ms;
constexpr std::int64_t ttl = 5;
constexpr std::size_t keepers = 4;
constexpr std::size_t listeners = 2;
constexpr std::size_t holders = 3;
constexpr auto queueing_patience = 25s;  // what a member held that died is kept for 15
constexpr auto last_words = 60s;

double seconds(Clock::time_point at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

// What all of them found.
struct Record {
  nlohmann::json slow_reads = nlohmann::json::array();
  std::uint64_t reads = 0;
  std::uint64_t reads_refused = 0;
  std::uint64_t renewals = 0;
  std::uint64_t leases_lost = 0;  // in time: nobody answered for so long
  std::uint64_t proclaimed = 0;
  std::uint64_t heard = 0;
  std::uint64_t locks_lost = 0;                    // those without a lease, with their connection or member
  std::map<std::int64_t, std::int64_t> held = {};  // from this revision to that, by one
  std::string wrong = {};

  void complain(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }
};

class Reader {
 public:
  Reader(boost::asio::io_context& loop, Record& record, const std::string& endpoint)
      : record_(record), timer_(loop), members_(loop, {endpoint}, 0) {}
  void start() { rest(); }
  void stop() {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  void rest() {
    timer_.expires_after(pause);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error && !stopped_) read();
    });
  }
  void read() {
    const Clock::time_point began = Clock::now();
    pb::RangeRequest request;
    request.set_key("chaos/read");
    rpc::call<pb::RangeResponse>(members_.here(), "/etcdserverpb.KV/Range", request,
                                 {.timeout = reading_patience},
                                 [this, began](std::expected<pb::RangeResponse, rpc::Failure> answer) {
                                   note(began, answer.has_value());
                                   if (!stopped_) rest();
                                 });
  }
  void note(Clock::time_point began, bool fine) {
    const Clock::time_point now = Clock::now();
    ++(fine ? record_.reads : record_.reads_refused);
    if (now - began < slow) return;
    record_.slow_reads.push_back({{"endpoint", members_.endpoint()},
                                  {"begin", seconds(began)},
                                  {"end", seconds(now)},
                                  {"fine", fine}});
  }

  Record& record_;
  boost::asio::steady_timer timer_;
  Members members_;
  bool stopped_ = false;
};

// Renews a lease twice a second, through whichever member answers. What was renewed is there until its time
// is over, however many leaders die.
class Keeper {
 public:
  Keeper(boost::asio::io_context& loop, Record& record, const std::vector<std::string>& endpoints,
         std::size_t first)
      : record_(record), timer_(loop), members_(loop, endpoints, first) {}
  void start() { grant(); }
  void learn(const std::vector<std::string>& endpoints) { members_.learn(endpoints); }
  void stop() {
    stopped_ = true;
    timer_.cancel();
    if (stream_) stream_.cancel();
  }
  std::int64_t lease() const { return lease_; }

 private:
  void again(std::chrono::milliseconds after, void (Keeper::*what)()) {
    timer_.expires_after(after);
    timer_.async_wait([this, what](const boost::system::error_code& error) {
      if (!error && !stopped_) (this->*what)();
    });
  }
  void grant() {
    lease_ = 0;
    pb::LeaseGrantRequest request;
    request.set_ttl(ttl);
    sent_ = Clock::now();
    rpc::call<pb::LeaseGrantResponse>(members_.here(), "/etcdserverpb.Lease/LeaseGrant", request,
                                      {.timeout = patience},
                                      [this](std::expected<pb::LeaseGrantResponse, rpc::Failure> answer) {
                                        if (stopped_) return;
                                        if (!answer) return elsewhere(&Keeper::grant);
                                        lease_ = answer->id();
                                        good_until_ = sent_ + std::chrono::seconds(answer->ttl());
                                        again(500ms, &Keeper::renew);
                                      });
  }
  void elsewhere(void (Keeper::*what)()) {
    members_.next();
    again(50ms, what);
  }
  // A stream for each: the member that answers may be another one each time.
  void renew() {
    const std::uint64_t which = ++streams_;
    if (stream_) stream_.cancel();
    stream_ = rpc::open_stream<pb::LeaseKeepAliveResponse>(
        members_.here(), "/etcdserverpb.Lease/LeaseKeepAlive", {.timeout = patience},
        {.message =
             [this, which](const pb::LeaseKeepAliveResponse& answer) {
               if (which == streams_ && !stopped_) renewed(answer);
             },
         .closed =
             [this, which](const rpc::Answer&) {
               if (which == streams_ && !stopped_) elsewhere(&Keeper::renew);
             }});
    pb::LeaseKeepAliveRequest request;
    request.set_id(lease_);
    sent_ = Clock::now();
    stream_.send(request);
  }
  void renewed(const pb::LeaseKeepAliveResponse& answer) {
    ++streams_;  // how it ends does not matter
    stream_.half_close();
    if (answer.ttl() > 0) {
      ++record_.renewals;
      good_until_ = sent_ + std::chrono::seconds(answer.ttl());
      return again(500ms, &Keeper::renew);
    }
    const auto left = good_until_ - Clock::now();
    if (left > 0s)
      record_.complain("told that lease " + std::to_string(lease_) + " is gone, " +
                       std::to_string(std::chrono::duration<double>(left).count()) + " s before its time");
    ++record_.leases_lost;
    grant();
  }

  Record& record_;
  boost::asio::steady_timer timer_;
  Members members_;
  rpc::ClientStream stream_;
  std::uint64_t streams_ = 0;
  std::int64_t lease_ = 0;
  Clock::time_point sent_ = {};
  Clock::time_point good_until_ = {};
  bool stopped_ = false;
};

constexpr std::string_view election = "chaos-head";

// Leads an election, on a keeper's lease, and says a greater number each time.
class Speaker {
 public:
  Speaker(boost::asio::io_context& loop, Record& record, const std::vector<std::string>& endpoints)
      : record_(record), timer_(loop), keeper_(loop, record, endpoints, 1), members_(loop, endpoints, 1) {}
  void start() {
    keeper_.start();
    rest();
  }
  void learn(const std::vector<std::string>& endpoints) {
    keeper_.learn(endpoints);
    members_.learn(endpoints);
  }
  void say_the_last() { last_ = true; }
  bool has_said_it() const { return said_it_; }
  std::uint64_t word() const { return word_; }
  void stop() {
    stopped_ = true;
    timer_.cancel();
    keeper_.stop();
  }

 private:
  void rest() {
    timer_.expires_after(50ms);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || stopped_ || said_it_) return;
      if (keeper_.lease() == 0) return rest();
      if (keeper_.lease() != leader_.lease()) return stand();
      proclaim();
    });
  }
  void stand() {
    v3electionpb::CampaignRequest request;
    request.set_name(std::string(election));
    request.set_lease(keeper_.lease());
    request.set_value(std::to_string(++word_));
    rpc::call<v3electionpb::CampaignResponse>(
        members_.here(), "/v3electionpb.Election/Campaign", request, {.timeout = patience},
        [this](std::expected<v3electionpb::CampaignResponse, rpc::Failure> answer) {
          if (answer)
            leader_ = answer->leader();
          else
            members_.next();
          if (!stopped_) rest();
        });
  }
  void proclaim() {
    v3electionpb::ProclaimRequest request;
    *request.mutable_leader() = leader_;
    request.set_value(std::to_string(++word_));
    rpc::call<v3electionpb::ProclaimResponse>(
        members_.here(), "/v3electionpb.Election/Proclaim", request, {.timeout = patience},
        [this, last = last_](std::expected<v3electionpb::ProclaimResponse, rpc::Failure> answer) {
          if (stopped_) return;
          if (answer)
            ++record_.proclaimed;
          else
            failed(answer.error());
          said_it_ = answer && last;
          rest();
        });
  }
  void failed(const rpc::Failure& why) {
    // It leads no more: its lease was lost.
    if (why.status.message.find("not leader") != std::string::npos) leader_.Clear();
    members_.next();
  }

  Record& record_;
  boost::asio::steady_timer timer_;
  Keeper keeper_;
  Members members_;
  v3electionpb::LeaderKey leader_;
  std::uint64_t word_ = 0;
  bool last_ = false;
  bool said_it_ = false;
  bool stopped_ = false;
};

// Hears who leads, at another member when the stream ends. A member that is cut off tells nothing: whoever
// has heard nothing for a while asks elsewhere.
class Listener {
 public:
  Listener(boost::asio::io_context& loop, Record& record, const std::vector<std::string>& endpoints,
           std::size_t first)
      : record_(record), timer_(loop), members_(loop, endpoints, first) {}
  void start() {
    open();
    look();
  }
  void learn(const std::vector<std::string>& endpoints) { members_.learn(endpoints); }
  void stop() {
    stopped_ = true;
    timer_.cancel();
    if (stream_) stream_.cancel();
  }
  std::uint64_t word() const { return word_; }

 private:
  void open() {
    const std::uint64_t which = ++opened_;
    leader_since_ = said_at_ = 0;
    heard_ = Clock::now();
    v3electionpb::LeaderRequest request;
    request.set_name(std::string(election));
    stream_ = rpc::open_stream<v3electionpb::LeaderResponse>(
        members_.here(), "/v3electionpb.Election/Observe", {},
        {.message =
             [this, which](const v3electionpb::LeaderResponse& answer) {
               if (which == opened_) hear(answer.kv());
             },
         .closed =
             [this, which](const rpc::Answer&) {
               if (which == opened_) heard_ = {};
             }});
    stream_.send(request);
    stream_.half_close();
  }
  // A word that nobody had an answer for may be said late, after a greater one. But nobody who came earlier
  // leads again, and of one leader nobody is told what it said before.
  void hear(const mvccpb::KeyValue& said) {
    ++record_.heard;
    heard_ = Clock::now();
    const bool older = said.create_revision() < leader_since_ ||
                       (said.create_revision() == leader_since_ && said.mod_revision() < said_at_);
    if (older)
      record_.complain("told what was said at revision " + std::to_string(said.mod_revision()) +
                       " by who leads since " + std::to_string(said.create_revision()) + ", after " +
                       std::to_string(said_at_) + " of " + std::to_string(leader_since_));
    leader_since_ = said.create_revision();
    said_at_ = said.mod_revision();
    word_ = std::max(word_, chaos::number(said.value().c_str()));
  }
  void look() {
    timer_.expires_after(100ms);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || stopped_) return;
      if (Clock::now() - heard_ > 2 * patience) {
        members_.next();
        ++opened_;
        if (stream_) stream_.cancel();
        open();
      }
      look();
    });
  }

  Record& record_;
  boost::asio::steady_timer timer_;
  Members members_;
  rpc::ClientStream stream_;
  std::uint64_t opened_ = 0;
  std::int64_t leader_since_ = 0;  // of this stream
  std::int64_t said_at_ = 0;
  std::uint64_t word_ = 0;
  Clock::time_point heard_ = {};
  bool stopped_ = false;
};

// Takes a lock without a lease, sees that it has it, and gives it back. It is its own for as long as its
// connection lasts, or until its member has been dead for a while; so whoever gets no answer ends the
// connection, and with it what may have been granted.
class Holder {
 public:
  Holder(boost::asio::io_context& loop, Record& record, const std::vector<std::string>& endpoints,
         std::size_t first)
      : record_(record), timer_(loop), members_(loop, endpoints, first) {}
  void start() { rest(&Holder::enter); }
  void learn(const std::vector<std::string>& endpoints) { members_.learn(endpoints); }
  std::uint64_t entered() const { return entered_; }

 private:
  void rest(void (Holder::*then)()) {
    timer_.expires_after(30ms);
    timer_.async_wait([this, then](const boost::system::error_code& error) {
      if (!error) (this->*then)();
    });
  }
  void leave() {
    ++record_.locks_lost;
    members_.reconnect();
    members_.next();
    enter();
  }
  void enter() {
    v3lockpb::LockRequest request;
    request.set_name("chaos-bare");
    rpc::call<v3lockpb::LockResponse>(members_.here(), "/v3lockpb.Lock/Lock", request,
                                      {.timeout = queueing_patience},
                                      [this](std::expected<v3lockpb::LockResponse, rpc::Failure> answer) {
                                        if (!answer) return rest(&Holder::leave);
                                        key_ = answer->key();
                                        since_ = 0;
                                        rest(&Holder::look);
                                      });
  }
  // It had the lock at the revision of the one read, and has it at that of the next: nobody else may have had
  // it between.
  void look() {
    pb::RangeRequest request;
    request.set_key(key_);
    rpc::call<pb::RangeResponse>(members_.here(), "/etcdserverpb.KV/Range", request, {.timeout = patience},
                                 [this](std::expected<pb::RangeResponse, rpc::Failure> answer) {
                                   if (!answer || answer->kvs().empty()) return rest(&Holder::leave);
                                   if (since_ > 0) {
                                     note(answer->header().revision());
                                     return unlock();
                                   }
                                   since_ = answer->header().revision();
                                   rest(&Holder::look);
                                 });
  }
  void note(std::int64_t until) {
    ++entered_;
    const auto after = record_.held.upper_bound(since_);
    const bool during = after != record_.held.begin() && std::prev(after)->second >= since_;
    if (during || (after != record_.held.end() && after->first <= until))
      record_.complain("one of two who held a lock without a lease at the same time, at revision " +
                       std::to_string(since_));
    record_.held.emplace(since_, until);
  }
  void unlock() {
    v3lockpb::UnlockRequest request;
    request.set_key(key_);
    rpc::call<v3lockpb::UnlockResponse>(members_.here(), "/v3lockpb.Lock/Unlock", request,
                                        {.timeout = patience},
                                        [this](std::expected<v3lockpb::UnlockResponse, rpc::Failure> answer) {
                                          rest(answer ? &Holder::enter : &Holder::leave);
                                        });
  }

  Record& record_;
  boost::asio::steady_timer timer_;
  Members members_;
  std::string key_;
  std::int64_t since_ = 0;
  std::uint64_t entered_ = 0;
};

class Keepers {
 public:
  Keepers(std::vector<std::string> endpoints, std::string file, std::size_t readers)
      : endpoints_(std::move(endpoints)),
        file_(std::move(file)),
        readers_each_(readers),
        input_(loop_, ::dup(0)),
        timer_(loop_),
        speaker_(loop_, record_, endpoints_) {
    for (std::size_t i = 0; i < keepers; ++i)
      keepers_.push_back(std::make_unique<Keeper>(loop_, record_, endpoints_, i));
    for (std::size_t i = 0; i < listeners; ++i)
      listeners_.push_back(std::make_unique<Listener>(loop_, record_, endpoints_, i));
    for (std::size_t i = 0; i < holders; ++i)
      holders_.push_back(std::make_unique<Holder>(loop_, record_, endpoints_, i));
  }

  // Calls that are under way at the end are left behind, with all that they point to.
  [[noreturn]] void run() {
    read_at(endpoints_);
    for (auto& keeper : keepers_) keeper->start();
    for (auto& listener : listeners_) listener->start();
    for (auto& holder : holders_) holder->start();
    speaker_.start();
    listen();
    loop_.run();
    std::_Exit(0);
  }

 private:
  void read_at(const std::vector<std::string>& endpoints) {
    for (auto& [endpoint, readers] : readers_)
      if (std::ranges::count(endpoints, endpoint) == 0)
        for (auto& reader : readers) reader->stop();
    for (const std::string& endpoint : endpoints) {
      auto& readers = readers_[endpoint];
      if (!readers.empty()) continue;
      for (std::size_t i = 0; i < readers_each_; ++i) {
        readers.push_back(std::make_unique<Reader>(loop_, record_, endpoint));
        readers.back()->start();
      }
    }
  }
  void listen() {
    boost::asio::async_read_until(input_, line_, '\n',
                                  [this](const boost::system::error_code& error, std::size_t length) {
                                    if (error) return finish();
                                    obey(length);
                                    std::cout << record_.reads << std::endl;
                                    listen();
                                  });
  }
  void obey(std::size_t length) {
    std::string line(boost::asio::buffers_begin(line_.data()),
                     boost::asio::buffers_begin(line_.data()) + static_cast<std::ptrdiff_t>(length) - 1);
    line_.consume(length);
    if (!line.starts_with("use ")) return;
    const auto endpoints = chaos::split(line.substr(4));
    read_at(endpoints);
    for (auto& keeper : keepers_) keeper->learn(endpoints);
    for (auto& listener : listeners_) listener->learn(endpoints);
    for (auto& holder : holders_) holder->learn(endpoints);
    speaker_.learn(endpoints);
  }
  void finish() {
    speaker_.say_the_last();
    give_up_ = Clock::now() + last_words;
    for (const auto& holder : holders_) entered_.push_back(holder->entered());
    wait_for_all();
  }
  std::string missing() const {
    if (!speaker_.has_said_it()) return "never allowed to proclaim";
    for (const auto& listener : listeners_)
      if (listener->word() < speaker_.word()) return "not told of the last proclamation";
    for (std::size_t i = 0; i < holders; ++i)
      if (holders_[i]->entered() == entered_[i]) return "never given a lock without a lease any more";
    return {};
  }
  void wait_for_all() {
    const std::string missing = this->missing();
    if (missing.empty()) return write();
    if (Clock::now() > give_up_) {
      record_.complain(missing);
      return write();
    }
    timer_.expires_after(20ms);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) wait_for_all();
    });
  }
  void write() {
    std::ofstream file(file_, std::ios::binary);
    for (const auto& read : record_.slow_reads) file << read.dump() << '\n';
    file.close();
    const nlohmann::ordered_json summary = {{"reads", record_.reads},
                                            {"reads_refused", record_.reads_refused},
                                            {"slow_reads", record_.slow_reads.size()},
                                            {"renewals", record_.renewals},
                                            {"leases_lost", record_.leases_lost},
                                            {"proclaimed", record_.proclaimed},
                                            {"heard", record_.heard},
                                            {"held", record_.held.size()},
                                            {"locks_lost", record_.locks_lost},
                                            {"wrong", record_.wrong},
                                            {"written", !file.fail()}};
    std::cout << summary.dump() << std::endl;
    loop_.stop();
  }

  std::vector<std::string> endpoints_;
  std::string file_;
  std::size_t readers_each_;
  boost::asio::io_context loop_{1};
  boost::asio::posix::stream_descriptor input_;
  boost::asio::streambuf line_;
  boost::asio::steady_timer timer_;
  Record record_;
  Speaker speaker_;
  std::map<std::string, std::vector<std::unique_ptr<Reader>>> readers_;
  std::vector<std::unique_ptr<Keeper>> keepers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<Holder>> holders_;
  std::vector<std::uint64_t> entered_;  // by holders, before the end
  Clock::time_point give_up_ = {};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  Keepers(chaos::split(argv[1]), argv[2], chaos::number(argv[3])).run();
}
