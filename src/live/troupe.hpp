// The processes of one run, as one of them sees the others: links, timers, and when it is over. Knows no
// algorithm; what it plays is a Role.
//
// It is over when nobody has anything left to do and nothing is under way, which the process of the least id
// that is up finds out: it asks all others twice what they have sent and received, and if twice the same
// comes back and adds up, it was so in between (Mattern's four counters, link by link).
#pragma once
#include <boost/asio/io_context.hpp>
#include <memory>

#include "live/frames.hpp"
#include "live/play.hpp"

namespace conclave::live {

class Role {
 public:
  virtual ~Role() = default;
  virtual void begin() = 0;  // everybody is there
  virtual void hear(NodeId from, ByteView message) = 0;
  virtual void fire(std::uint32_t timer) = 0;
  virtual void told(NodeId peer, bool down) = 0;
  // Nothing to do, unless a message comes; of an algorithm that never rests, its client wants nothing.
  virtual bool done() const = 0;
  virtual bool never_rests() const = 0;
};

class Troupe {
 public:
  Troupe(const Casting& casting, std::string algorithm);
  ~Troupe();

  // From the first contact to the end. Returns what went wrong; empty if nothing did. What the role throws
  // goes through.
  std::string play(Role& role);

  // For the role. Timers have numbers; arming one that runs starts it anew.
  void send(NodeId to, const Bytes& message);
  void arm(std::uint32_t timer, TickRange after);
  void disarm(std::uint32_t timer);
  boost::asio::io_context& loop();
  // The run cannot go on.
  void give_up(std::string why);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace conclave::live
