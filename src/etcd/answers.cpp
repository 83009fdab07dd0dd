#include "etcd/answers.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "etcd/translate.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

constexpr std::uint64_t few_keys = 64;           // are read at once
constexpr std::size_t small_answer = 64 * 1024;  // … and told at once
constexpr std::size_t keys_at_once = 512;        // of long work
constexpr std::size_t piece_bytes = 64 * 1024;
// A record has so many bytes in an answer, besides its key and its value.
constexpr std::size_t around_record = 11;
// What a stream is reckoned at has room for a request of this size.
constexpr std::size_t small_request = 2048;
constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

}  // namespace

// One answer that is being made.
struct Answers::Work {
  Work(Answers& of_whom, rpc::CallerPtr to) : of(of_whom), alive(of_whom.alive_), caller(std::move(to)) {}
  // Nobody wants the rest: its client is gone.
  ~Work() {
    if (*alive) of.let_go(*this);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void ask(const pb::RangeRequest& request) {
    range_request = request;
    range = *command_of(range_request);
  }
  void ask(const pb::TxnRequest& request) {
    txn_request = request;
    txn = *command_of(txn_request);
  }
  bool asks() const { return range || txn; }
  std::size_t request_bytes() const {
    const std::size_t bytes = range_request.ByteSizeLong() + txn_request.ByteSizeLong();
    return bytes > small_request ? bytes : 0;
  }
  std::unique_ptr<kv::Reading> reading_of(const kv::Store& store, kv::Reading::Most most) const {
    return range ? std::make_unique<kv::Reading>(store, *range, most)
                 : std::make_unique<kv::Reading>(store, *txn, most);
  }

  Answers& of;
  const std::shared_ptr<bool> alive;
  const rpc::CallerPtr caller;
  // What was asked for, if it is a read; commands borrow their texts.
  pb::RangeRequest range_request = {};
  pb::TxnRequest txn_request = {};
  std::optional<kv::Range> range = {};
  std::optional<kv::Txn> txn = {};
  std::size_t promised = 0;  // of memory, for the answer
  std::unique_ptr<kv::Reading> reading = {};
  std::optional<Pieces> pieces = {};
  bool begun = false;  // the answer
};

Answers::Answers(Machine& machine, rpc::Slices& slices, Head head)
    : machine_(machine), slices_(slices), head_(std::move(head)) {}

Answers::~Answers() { *alive_ = false; }

void Answers::keep(const google::protobuf::Message& request, const rpc::CallerPtr& caller) {
  const std::size_t bytes = request.ByteSizeLong();
  if (bytes > small_request) caller->reserve(bytes);
}

Pieces Answers::pieces_of(kv::Revision revision, Pieces::Result result, const rpc::Caller& caller) const {
  pb::ResponseHeader header;
  head_(&header, revision);
  return Pieces(caller.takes_json(), header, std::move(result));
}

// ---- what is small

// False: it is not.
bool Answers::tell_at_once(Pieces& pieces, rpc::Caller& caller) {
  std::size_t work = everything;
  pieces.measure(work);
  if (pieces.bytes() > small_answer) return false;
  text_.clear();
  pieces.write(text_, everything);
  caller.begin_answer(text_.size());
  caller.add_to_answer(text_);
  caller.end_answer();
  return true;
}

namespace {

kv::Reading::Result read_at_once(const kv::Store& store, const kv::Range& range) {
  auto result = store.range(range);
  return result ? kv::Reading::Result(std::move(*result)) : kv::Reading::Result(result.error());
}

kv::Reading::Result read_at_once(const kv::Store& store, const kv::Txn& txn) {
  kv::Reading reading(store, txn, {});
  while (reading.step(everything) == kv::Reading::Went::on) continue;
  return reading.take();
}

// An error is no result.
std::optional<Pieces::Result> result_of(kv::Reading::Result&& said) {
  if (auto* range = std::get_if<kv::RangeResult>(&said)) return std::move(*range);
  if (auto* txn = std::get_if<kv::TxnResult>(&said)) return std::move(*txn);
  return std::nullopt;
}

}  // namespace

template <class Request, class Command>
void Answers::begin(const Request& request, const Command& command, const rpc::CallerPtr& caller) {
  const kv::Store& store = machine_.store();
  if (store.reach_of(command) <= few_keys) {
    kv::Reading::Result said = read_at_once(store, command);
    if (const auto* error = std::get_if<kv::Error>(&said)) return caller->refuse(status_of(*error));
    Pieces pieces = pieces_of(store.revision(), *result_of(std::move(said)), *caller);
    if (tell_at_once(pieces, *caller)) return;
  }
  ++stats_.wide;
  const auto work = std::make_shared<Work>(*this, caller);
  work->ask(request);
  run(work);
}

void Answers::range(const pb::RangeRequest& request, const rpc::CallerPtr& caller) {
  const auto command = command_of(request);
  if (!command) return caller->refuse(command.error());
  begin(request, *command, caller);
}

void Answers::txn(const pb::TxnRequest& request, const rpc::CallerPtr& caller) {
  const auto command = command_of(request);
  if (!command) return caller->refuse(command.error());
  begin(request, *command, caller);
}

void Answers::tell(kv::Revision revision, Pieces::Result result, const rpc::CallerPtr& caller) {
  Pieces pieces = pieces_of(revision, std::move(result), *caller);
  if (pieces.records() <= few_keys && tell_at_once(pieces, *caller)) return;
  const auto work = std::make_shared<Work>(*this, caller);
  work->pieces = std::move(pieces);
  run(work);
}

// As etcd's server says it, for gRPC does.
void Answers::refuse_too_large(std::size_t bytes, const rpc::CallerPtr& caller) {
  ++stats_.too_large;
  caller->refuse(
      {rpc::Code::resource_exhausted, fmt::format("grpc: trying to send message larger than max ({} vs. {})",
                                                  bytes, caller->largest_answer())});
}

// ---- what is not

void Answers::run(const WorkPtr& work) {
  slices_.run(work->caller->peer().connection, [this, work] { return go_on(work); });
}

bool Answers::go_on(const WorkPtr& work) {
  if (work->caller->over()) return false;
  if (!work->pieces) return go_on_reading(*work);
  if (!work->begun) return go_on_measuring(work);
  return go_on_writing(work);
}

bool Answers::go_on_reading(Work& work) {
  const std::size_t most = work.caller->largest_answer();
  if (!work.reading)
    work.reading = work.reading_of(machine_.store(), {.records = most / around_record, .bytes = most});
  switch (work.reading->step(keys_at_once)) {
    case kv::Reading::Went::on: {
      const std::size_t memory = work.request_bytes() + work.reading->records() * sizeof(kv::RecordRef);
      work.caller->reserve(std::max(work.promised, memory));
      return true;
    }
    case kv::Reading::Went::lost: work.reading.reset(); return true;  // of the store that took its place
    case kv::Reading::Went::too_large:
      refuse_too_large(std::max(work.reading->bytes(), most + 1), work.caller);
      return false;
    case kv::Reading::Went::done: break;
  }
  kv::Reading::Result said = work.reading->take();
  const kv::Revision revision = work.reading->revision();
  work.reading.reset();
  if (const auto* error = std::get_if<kv::Error>(&said)) {
    work.caller->refuse(status_of(*error));
    return false;
  }
  work.pieces = pieces_of(revision, *result_of(std::move(said)), *work.caller);
  return true;
}

bool Answers::go_on_measuring(const WorkPtr& work) {
  std::size_t left = keys_at_once;
  if (work->pieces->measure(left)) return true;
  const std::size_t bytes = work->pieces->bytes();
  rpc::Caller& caller = *work->caller;
  if (work->asks()) {
    if (bytes > caller.largest_answer()) {
      refuse_too_large(bytes, work->caller);
      return false;
    }
    if (bytes > work->promised && bytes - work->promised > caller.room()) {
      wait_for_room(work, bytes);
      return false;
    }
  }
  work->begun = true;
  caller.begin_answer(bytes);
  return true;
}

bool Answers::go_on_writing(const WorkPtr& work) {
  rpc::Caller& caller = *work->caller;
  if (caller.congested()) {
    caller.on_room([this, work] { run(work); });
    return false;
  }
  text_.clear();
  const bool more = work->pieces->write(text_, piece_bytes);
  caller.add_to_answer(text_);
  if (!more) caller.end_answer();
  return more;
}

// What was read is given up meanwhile, and read again: who waits has nothing but the request.
void Answers::wait_for_room(const WorkPtr& work, std::size_t bytes) {
  ++stats_.waited;
  let_go(*work);
  work->promised = 0;
  work->caller->reserve(work->request_bytes());
  work->caller->when_room(bytes, [this, work, bytes] { take_room(work, bytes); });
}

void Answers::take_room(const WorkPtr& work, std::size_t bytes) {
  if (work->caller->room() < bytes)
    return work->caller->when_room(bytes, [this, work, bytes] { take_room(work, bytes); });
  work->promised = bytes;
  work->caller->reserve(bytes);
  run(work);
}

// Whoever is the last to have a record frees it, so this may take long, too.
void Answers::let_go(Work& work) {
  auto reading = std::move(work.reading);
  auto pieces = std::exchange(work.pieces, std::nullopt);
  const std::size_t records = (reading ? reading->records() : 0) + (pieces ? pieces->records() : 0);
  if (records <= keys_at_once) return;
  slices_.run(work.caller->peer().connection,
              [reading = std::move(reading), pieces = std::move(pieces)]() mutable {
                std::size_t left = keys_at_once;
                return (reading && reading->let_go(left)) || (pieces && pieces->let_go(left));
              });
}

}  // namespace conclave::etcd
