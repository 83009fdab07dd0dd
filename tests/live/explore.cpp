// The checker with several workers, small enough for the thread sanitizer: the same counts and the same ways
// as with one.
#include <fmt/format.h>

#include "check/explore.hpp"
#include "check/registers.hpp"
#include "protocols/mutex/judge.hpp"
#include "protocols/mutex/lamport.hpp"
#include "protocols/registers/bakery.hpp"

namespace {

using namespace conclave;

bool agree(const char* what, const check::Report& one, const check::Report& many) {
  const bool same = one.states == many.states && one.edges == many.edges && one.depth == many.depth &&
                    one.findings.size() == many.findings.size() &&
                    (one.findings.empty() || one.findings[0].way == many.findings[0].way);
  fmt::print("{}: {} states, {} edges, {} findings: {}\n", what, many.states, many.edges,
             many.findings.size(), same ? "the same" : "NOT THE SAME as with one worker");
  return same;
}

check::Report lamport(bool fifo, unsigned workers) {
  const NodeSet all = NodeSet::range({1}, fifo ? 2 : 3);
  check::Options options = {
      .entries = fifo ? 2u : 1u, .fifo = fifo, .properties = {"EM1", "ND"}, .workers = workers};
  return check::explore<mutex::Lamport, mutex::Judge>(options, all, {},
                                                      mutex::Judge::start(all, options.properties));
}

check::Report bakery(unsigned workers) {
  const NodeSet all = NodeSet::range({1}, 3);
  check::Options options = {.properties = {"EM1"}, .workers = workers};
  return check::explore_program<registers::Bakery, mutex::Judge>(
      options, all, {}, Registers::atomic, mutex::Judge::start(all, options.properties));
}

}  // namespace

int main() {
  bool fine = true;
  for (const unsigned workers : {2u, 3u}) {
    fine = agree("lamport", lamport(true, 1), lamport(true, workers)) && fine;
    fine = agree("lamport without FIFO", lamport(false, 1), lamport(false, workers)) && fine;
    fine = agree("bakery", bakery(1), bakery(workers)) && fine;
  }
  return fine ? 0 : 1;
}
