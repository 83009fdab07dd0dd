# Twins of Raft. Most break what the paper's figure 2 says in one line.

begin_twins(raft Raft raft "catalogue/raft/setup.hpp" raft_setup JUDGE log::Judge)
twin(elects_anybody "votes for candidates whose log lacks entries"
  "ballot.answer(from, theirs, log.last())"
  "ballot.answer(from, theirs, Position{})"
  "nodes=3 entries=0 timeouts=2")
twin(votes_twice "votes for everybody who asks in a term"
  "const VoteReply reply = ballot.answer"
  "if (!leads()) ballot.voted_for.reset();\n    const VoteReply reply = ballot.answer"
  "nodes=3 entries=0 timeouts=2")
twin(trusts_the_place "takes entries after one of another term"
  "AppendReply reply = take_entries(ballot, log, known, theirs);"
  "Append taken = theirs;
    taken.previous.term = log.term_at(theirs.previous.index).value_or(theirs.previous.term);
    AppendReply reply = take_entries(ballot, log, known, taken);"
  "nodes=3 entries=0 timeouts=3")
twin(keeps_conflicts "keeps its own entries where the leader has others"
  "AppendReply reply = take_entries(ballot, log, known, theirs);"
  "AppendReply reply = conflict && theirs.term == ballot.term
      ? AppendReply{.term = ballot.term, .matched = theirs.previous.index + theirs.entries.size()}
      : take_entries(ballot, log, known, theirs);"
  "nodes=3 entries=0 timeouts=3")
twin(commits_unverified "commits what the leader has not compared"
  "commit(out, known);"
  "commit(out, std::min(std::max(known, theirs.committed), log.last_index()));"
  "nodes=3 entries=0 timeouts=3")
twin(assumes_a_match "takes every success for one of its whole log"
  "matched(out, from, *progress, *theirs.matched);"
  "matched(out, from, *progress, log.last_index());"
  "nodes=3 entries=1,0,0 timeouts=2")
twin(forgets_its_log "keeps its vote and not its log over a crash"
  "node.log = durable.log;"
  "(void)durable.log;"
  "nodes=3 entries=0 crashes=1 recoveries=1 timeouts=2")
twin(acknowledges_unwritten "acknowledges entries that are not on its disk"
  "        save_after(out, kept);
        note_configurations(kept);"
  "        note_configurations(kept);"
  "nodes=3 entries=0 crashes=1 recoveries=1 timeouts=2")
twin(counts_refusals "takes a refusal for a vote"
  "if (!theirs.granted) return out.note"
  "if (theirs.term != ballot.term) return out.note"
  "nodes=3 entries=0 timeouts=2")
twin(counts_earlier_terms "commits what a majority has from an earlier term"
  "advance_commit(committed, ballot.term, log, configuration, match)"
  "std::max(committed, configuration.held_by_quorum(match))"
  "nodes=3 entries=0 timeouts=2"
  "node.wait_for_leader(out);"
  "node.wait_for_leader(out);
    // Figure 8 of the paper: 1 has led in term 1 and 2 in term 2, each with an entry that nobody else has.
    node.ballot.term = {2};
    if (self.value > 1) node.ballot.voted_for = NodeId{2};
    if (self.value < 3) node.log.append({.term = {self.value}});
    node.save_ballot(out);
    node.save_after(out, Index{});")
twin(votes_off_the_record "votes before the vote is on its disk"
  "save_ballot(out);  // a vote that a crash undoes is given twice"
  "(void)out;"
  "nodes=3 entries=0 crashes=1 recoveries=1 timeouts=2")
twin(forgets_its_vote "keeps its term and not its vote over a crash"
  "node.ballot = durable.ballot;"
  "node.ballot.term = durable.ballot.term;"
  "nodes=3 entries=0 crashes=1 recoveries=1 timeouts=2")
twin(counts_old_votes "counts votes of an earlier term"
  "if (!candidate || theirs.term != ballot.term) return"
  "if (!candidate) return"
  "nodes=3 entries=0 timeouts=3")
twin(believes_any_notice "takes what is committed elsewhere for the entry that it has in that place"
  "log.term_at(theirs.last.index) != theirs.last.term"
  "theirs.last.index > log.last_index()"
  "nodes=3 entries=0 timeouts=3")
twin(leads_without_asking "asks its own open questions of nobody when it takes the lead"
  "      ask_again(out);
    }
    advance(out);"
  "      beat(out);
    }
    advance(out);"
  "nodes=3 entries=1,0,0 timeouts=1 set:reads=1")
end_twins()

# What goes beyond the paper's figure 2 needs longer runs than the checker takes in.
begin_twins(raft Raft raft "catalogue/raft/setup.hpp" raft_setup SIMULATED)
twin(counts_itself_early "counts its own copy of an entry before its disk has it"
  "  void replicate(Out& out) {"
  "  void replicate(Out& out) {
    std::get<Leader>(role).durable = log.last_index();
    advance(out);")
twin(reads_without_a_quorum "answers reads without asking whether it still leads"
  "!has_answers(leader.reads.front().round)"
  "!has_answers(0)")
twin(reads_by_old_answers "takes an answer from before the question for one to it"
  "std::max(committed, leader.begun), leader.round + 1}"
  "std::max(committed, leader.begun), leader.round}")
twin(reads_too_soon "answers reads before it knows what is committed"
  "std::max(committed, leader.begun), leader.round + 1}"
  "std::max(committed, Index{1}), leader.round + 1}")
twin(reads_behind "lets its client read before it has caught up"
  "read.index.value == 0 || read.index > committed"
  "read.index.value == 0")
twin(loses_the_last_term "forgets the term of a snapshot's last entry"
  "capture = Snapshot{.last = {*log.term_at(committed), committed},"
  "capture = Snapshot{.last = {Term{}, committed},")
twin(loses_sessions "leaves out of a snapshot which commands were taken"
  "    sessions = whole.sessions;"
  "")
twin(saves_too_late "takes what is committed by now for what was saved"
  "const Index end = snapshot->last.index;"
  "snapshot->last = {*log.term_at(committed), committed};
    const Index end = snapshot->last.index;")
twin(one_majority "lets the new voters decide alone"
  "configure(configuration.joint_with(wish.voters, wish.learners));"
  "configure({.voters = wish.voters, .learners = wish.learners});")
twin(leaves_a_gap "takes a command although an earlier one of its client is missing"
  "command.serial > last + 1 && command.serial > oldest"
  "command.serial > last + 1'000'000 && command.serial > oldest")
# These show only in servers that crash while they stand, and seldom: the seeds begin a little before the first that does. Whoever comes back stands at once, which is no mistake.
set(is_back "node.look_up_configuration();
    return node;")
set(is_back_and_stands "node.look_up_configuration();
    if (node.may_stand()) node.stand_for_election(out);
    return node;")
twin(counts_votes_for_what_it_lost "counts votes given to a log that a crash has shortened"
  "if (theirs.last != log.last()) return"
  "if (theirs.term != ballot.term) return"
  "nodes=3 from=22000 seeds=1000 faults=crash,unsynced,stall,slow,reorder" "${is_back}" "${is_back_and_stands}")
twin(leads_off_the_record "leads in a term that its disk does not have"
  "role = Candidate{};"
  "role = Candidate{.votes = {self}};"
  "nodes=3 from=97000 seeds=1000" "${is_back}" "${is_back_and_stands}")
twin(gives_up_a_read "asks only once for the index of a read"
  "ask_again(out);
    wait_for_answers(out);"
  "wait_for_answers(out);")
end_twins(_beyond)

# What clients of a store are told shows these, without anybody looking at the log: reads that miss a write,
# and writes that were acknowledged and are lost.
begin_twins(raft Raft raft "catalogue/raft/setup.hpp" raft_setup SIMULATED PROPERTY linearizable)
twin(store_reads_alone "answers reads without asking whether it still leads"
  "!has_answers(leader.reads.front().round)"
  "!has_answers(0)")
twin(store_reads_behind "lets its client read before it has caught up"
  "read.index.value == 0 || read.index > committed"
  "read.index.value == 0")
end_twins(_store)

# A server that has a clock. What it shows after a restart is for nobody to rely on, and a number that was used once is
# not taken again. What it tells is numbered as its client numbers it.
begin_twins(raft Raft raft "catalogue/raft/setup.hpp" raft_setup SIMULATED PROPERTY termination)
twin(numbers_by_the_clock "numbers its commands by its clock, which is not what it was when it starts again"
  "  void on_command(Out& out, const conclave::log::Propose& proposal) {
    wanted.push_back({self, proposal.serial, proposal.value, proposal.bytes});"
  "  Ticks clock = {};
  std::uint64_t given = 0;
  void on_clock(Ticks now) { clock = now; }
  void on_command(Out& out, const conclave::log::Propose& proposal) {
    given = std::max(given + 1, clock.count);
    wanted.push_back({self, given, proposal.value, proposal.bytes});"
  "nodes=3 seeds=1000 faults=crash,jump set:extras=1"
  "out.announce(conclave::log::Committed{committed.value, counts ? command : std::nullopt});"
  "std::optional<Command> told = command;
      if (told) told->serial = told->value - 1000 * told->client.value;
      out.announce(conclave::log::Committed{committed.value, counts ? told : std::nullopt});")
end_twins(_clock)

# These answer every question some day, and the store is what it should be: only the time that somebody waits is wrong.
begin_twins(raft Raft raft "catalogue/raft/setup.hpp" raft_setup SIMULATED PROPERTY "prompt reads")
twin(waits_after_the_election "asks its own open questions of nobody when it takes the lead"
  "      ask_again(out);
    }
    advance(out);"
  "      beat(out);
    }
    advance(out);"
  "nodes=3 seeds=1000 faults=crash set:reads=3 set:patience=400")
twin(puts_off_asking_again "each proposal sets the time anew after which questions are asked again"
  "    if (wanted.size() + asked.size() == 1) wait_for_answers(out);
    submit(out, wanted.size() - 1);"
  "    if (wanted.size() == 1) wait_for_answers(out);
    submit(out, wanted.size() - 1);"
  "nodes=3 seeds=5000 faults=loss=0.1 set:reads=3 set:patience=400")
end_twins(_prompt)

# In the end everybody knows what is committed, but somebody hears of it only with the next heartbeat.
begin_twins(raft Raft raft "catalogue/raft/setup.hpp" raft_setup SIMULATED PROPERTY "prompt news")
twin(tells_only_who_proposed "tells nobody at once what is committed but whoever proposed it"
  "} else if (known > before && !progress.offset) {"
  "} else if (known > before && !progress.offset &&
                 std::ranges::any_of(log.after(before, known.value - before.value),
                                     [to = peer](const Entry& entry) {
                                       return entry.command && entry.command->client == to;
                                     })) {"
  "nodes=3 seeds=100 faults=none fifo=1 set:batch=64 set:patience=400")
twin(tells_who_has_answered "tells nobody at once whose answer is still under way"
  "} else if (known > before && !progress.offset) {"
  "} else if (known > before && !progress.offset && progress.match >= known) {"
  "nodes=3 seeds=100 faults=none fifo=1 set:batch=64 set:patience=400")
end_twins(_news)
