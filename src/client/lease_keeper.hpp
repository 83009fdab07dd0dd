// Renews one lease on the loop, and says in time when it can no longer be relied on.
//
// It is good from the sending of a renewal that was answered until its ttl later, less a margin: the server
// began to count after the renewal was sent, so it counts longer than we do. What was not renewed by then is
// lost for good, even if an answer comes later.
#pragma once
#include <atomic>
#include <boost/asio/steady_timer.hpp>

#include "client/background.hpp"
#include "client/boot_timer.hpp"

namespace conclave {

class LeaseKeeper : public std::enable_shared_from_this<LeaseKeeper> {
 public:
  // `asked` is when the grant was sent.
  LeaseKeeper(Client::Impl& client, std::int64_t id, std::chrono::seconds ttl, BootClock::time_point asked);

  // ---- on the loop
  void start();
  void stop();  // renews no more; the token is not fired

  // ---- from any thread
  std::int64_t id() const { return id_; }
  std::chrono::seconds ttl() const { return ttl_; }
  BootClock::duration margin() const { return std::chrono::nanoseconds(ttl_) / 4; }
  BootClock::time_point good_until() const { return good_until_.load(); }
  std::stop_token lost() const { return lost_.get_token(); }
  bool alive() const { return !lost_.stop_requested() && BootClock::now() < good_until(); }

 private:
  BootClock::duration interval() const { return std::chrono::nanoseconds(ttl_) / 3; }
  void renew();
  void renew_in(BootClock::duration wait);
  void open_stream();
  void drop_stream();
  void answered(std::int64_t ttl);
  void watch_clock();
  void lose();

  Client::Impl& client_;
  const std::int64_t id_;
  const std::chrono::seconds ttl_;
  std::atomic<BootClock::time_point> good_until_;
  std::stop_source lost_ = {};
  bool over_ = false;
  rpc::ClientStream stream_ = {};
  std::uint64_t streams_ = 0;  // opened so far; what an earlier one says is ignored
  std::uint64_t connection_ = 0;
  std::optional<BootClock::time_point> asked_ = {};  // the renewal under way
  boost::asio::steady_timer renewal_;
  BootTimer end_;
};

}  // namespace conclave
