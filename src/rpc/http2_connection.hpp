// An HTTP/2 session on a wire, the same for servers and clients: one write per turn of the loop,
// back-pressure, pings for the silent, an end for the stalled.
#pragma once
#include <boost/asio/io_context.hpp>

#include "rpc/session.hpp"
#include "rpc/timer_wheel.hpp"
#include "rpc/wire.hpp"

namespace conclave::rpc {

class Http2Connection final : public std::enable_shared_from_this<Http2Connection>,
                              public Wire::Owner,
                              public Session::Owner {
 public:
  enum class End {
    finished,   // good-byes were said
    lost,       // the wire broke
    timed_out,  // the peer was silent, or took nothing
    garbage,    // what came is not HTTP/2
  };
  class Owner {
   public:
    virtual StreamPtr open_stream() = 0;  // the peer begins a stream
    virtual void goaway_received() = 0;
    virtual void moved(std::size_t received, std::size_t sent) = 0;  // bytes, to be counted
    virtual void stream_reset() {}                                   // the peer cancelled a stream
    virtual void settled() {}                                        // what the connection uses is counted
    // The connection is over; its streams are still to be abandoned.
    virtual void over(End end, const std::string& why) = 0;

   protected:
    ~Owner() = default;
  };

  Http2Connection(boost::asio::io_context& loop, TimerWheel& wheel, std::shared_ptr<Wire> wire,
                  Session::Side side, const SessionLimits& limits, Owner& owner, Account* above = nullptr);

  void start(std::string_view first_bytes);
  Session& session() { return session_; }
  const Session& session() const { return session_; }
  // Over as soon as no stream is left.
  void end_when_idle();
  // Writes what can be written at once.
  void pump();
  // Nothing more is told to the owner. The session is told nothing: abandon it.
  void close(bool politely);
  // When the peer last said something.
  Clock::time_point heard() const { return heard_; }

 private:
  // Wire
  void received(std::string_view bytes) override;
  void writable() override;
  void lost(std::string_view why) override;
  // Session
  StreamPtr open_stream() override { return owner_.open_stream(); }
  void output_waits() override;
  void goaway_received() override { owner_.goaway_received(); }
  void pong_received() override { ping_sent_.reset(); }
  void stream_reset() override { owner_.stream_reset(); }

  void regulate_reading();
  void settle();
  void look_around();
  std::optional<std::string> complaint(Clock::time_point now) const;
  void schedule_look();
  void end(End end, const std::string& why);

  boost::asio::io_context& loop_;
  TimerWheel& wheel_;
  std::shared_ptr<Wire> wire_;
  Owner& owner_;
  Session session_;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point heard_ = begun_;
  std::optional<Clock::time_point> ping_sent_ = {};
  std::optional<Clock::time_point> stalled_since_ = {};
  bool pump_scheduled_ = false;
  bool in_turn_ = false;
  bool ending_ = false;
  bool reading_paused_ = false;
  bool closed_ = false;
  TimedMember<Http2Connection, &Http2Connection::look_around> timer_{*this};
  TimedMember<Http2Connection, &Http2Connection::pump> memory_timer_{*this};
};

}  // namespace conclave::rpc
