// etcd's KV service.
#include <algorithm>

#include "etcd/front.hpp"
#include "etcd/translate.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

// What is applied so quickly that nobody notices: keys that are looked at or deleted, and the answer's bytes.
constexpr std::uint64_t heavy_keys = 1000;
constexpr std::uint64_t heavy_answer = 256 * 1024;
constexpr std::size_t most_heavy = 10'000;

std::expected<kv::Txn, rpc::Status> kv_command_of(const pb::TxnRequest& request) {
  return command_of(request);
}
std::expected<kv::DeleteRange, rpc::Status> kv_command_of(const pb::DeleteRangeRequest& request) {
  return command_of(request);
}

}  // namespace

void Front::offer_kv() {
  const std::string service = "/etcdserverpb.KV/";
  const std::string json = "/v3/kv/";
  offer<pb::RangeRequest>(service + "Range", json + "range",
                          [this](const auto& request, const CallerPtr& caller) { range(request, caller); });
  offer<pb::PutRequest>(service + "Put", json + "put",
                        [this](const auto& request, const CallerPtr& caller) { put(request, caller); });
  offer<pb::DeleteRangeRequest>(
      service + "DeleteRange", json + "deleterange",
      [this](const auto& request, const CallerPtr& caller) { delete_range(request, caller); });
  offer<pb::TxnRequest>(service + "Txn", json + "txn",
                        [this](const auto& request, const CallerPtr& caller) { txn(request, caller); });
  offer<pb::CompactionRequest>(
      service + "Compact", json + "compaction",
      [this](const auto& request, const CallerPtr& caller) { compact(request, caller); });
}

void Front::range(const pb::RangeRequest& request, const CallerPtr& caller) {
  if (request.serializable()) return answers_.range(request, caller);
  Answers::keep(request, caller);
  machine_.read([this, request, caller](const rpc::Status& status) {
    if (!status.ok()) return caller->refuse(status);
    if (!caller->over()) answers_.range(request, caller);
  });
}

void Front::put(const pb::PutRequest& request, const CallerPtr& caller) {
  run<pb::PutResponse, kv::PutResult>(command_of(request), caller,
                                      [](auto& response, const auto& result) { fill(response, result); });
}

void Front::delete_range(const pb::DeleteRangeRequest& request, const CallerPtr& caller) {
  const kv::DeleteRange command = command_of(request);
  const kv::Store& store = machine_.store();
  const std::uint64_t answer = command.prev_kv ? store.answer_of(command) : 0;
  write(request, command, store.deletes_of(command), answer, caller);
}

// What only reads has no place in the log.
void Front::txn(const pb::TxnRequest& request, const CallerPtr& caller) {
  if (only_reads(request)) return read_txn(request, caller);
  const auto command = command_of(request);
  if (!command) return caller->refuse(command.error());
  const kv::Store& store = machine_.store();
  if (!kv::check(*command)) return write(request, *command, 0, 0, caller);
  const std::uint64_t reach = store.reach_of(*command);
  const std::uint64_t answer = reach > kv::max_reach ? 0 : store.answer_of(*command);
  write(request, *command, reach + store.deletes_of(*command), answer, caller);
}

void Front::read_txn(const pb::TxnRequest& request, const CallerPtr& caller) {
  const auto corrupt = std::ranges::any_of(
      machine_.store().alarms(), [](const auto& alarm) { return alarm.second == kv::AlarmKind::corrupt; });
  if (corrupt) return caller->refuse(status_of(kv::Error::corrupt));
  if (is_serializable(request)) return answers_.txn(request, caller);
  Answers::keep(request, caller);
  machine_.read([this, request, caller](const rpc::Status& status) {
    if (!status.ok()) return caller->refuse(status);
    if (!caller->over()) answers_.txn(request, caller);
  });
}

// What touches many keys when it is applied stops everybody for some time, and cannot be cut: such commands
// of this member's clients are in the log one at a time. What is told of many records waits for room before.
template <class Request, class Command>
void Front::write(const Request& request, const Command& command, std::uint64_t keys, std::uint64_t answer,
                  const CallerPtr& caller) {
  answer = std::min(answer, kv::max_answer);
  if (answer > caller->largest_answer()) return answers_.refuse_too_large(answer, caller);
  if (keys <= heavy_keys && answer <= heavy_answer) return write_now(command, caller, false);
  if (heavy_.waiting() >= most_heavy) return (++long_commands_refused_, caller->refuse(too_many_requests));
  ++long_commands_;
  Answers::keep(request, caller);
  const auto until = std::chrono::steady_clock::now() + machine_.options().patience;
  auto job = [this, request, caller, until] {
    if (caller->over()) return false;
    const auto command_again = kv_command_of(request);
    if (std::chrono::steady_clock::now() > until || !command_again)
      return (caller->refuse(command_again ? timed_out : command_again.error()), false);
    write_now(*command_again, caller, true);
    return true;
  };
  auto stand_in_line = [this, caller, job = std::move(job)]() mutable {
    heavy_.run(caller->peer().connection, std::move(job));
  };
  if (answer <= caller->room()) return stand_in_line();
  caller->when_room(answer, std::move(stand_in_line));
}

template <class Command>
void Front::write_now(const Command& command, const CallerPtr& caller, bool is_heavy) {
  using Result = std::conditional_t<std::is_same_v<Command, kv::Txn>, kv::TxnResult, kv::DeleteResult>;
  machine_.propose(command, [this, caller, is_heavy](Machine::Outcome outcome) {
    if (outcome)
      answers_.tell(outcome->revision, std::move(std::get<Result>(outcome->result)), caller);
    else
      caller->refuse(outcome.error());
    if (is_heavy) heavy_.done();
  });
}

// Space comes back with the commands that follow, a little with each; `physical` does not wait for that.
void Front::compact(const pb::CompactionRequest& request, const CallerPtr& caller) {
  run<pb::CompactionResponse, kv::Done>(kv::Compact{request.revision()}, caller, [](auto&, const auto&) {});
}

}  // namespace conclave::etcd
