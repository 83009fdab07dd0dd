/* Chang-Roberts on a ring of rising ids, step for step as src/protocols/election/chang_roberts.hpp: a client's
 * Start or one delivery, with all that the handler does and sends, is one step.
 *
 * Process i of ours is _pid = i - 1 here, its clockwise neighbour the next greater id. What follows from the
 * rest is left out: what the client knows is what its process knows, and it has started once or still may. A
 * message is one byte, an id and one bit for its kind; four places per link are enough, and pan stops with an
 * error if they were not. */
#ifndef N
#define N 5
#endif

#define SELF (_pid + 1)
#define ELECTION(id) ((id) << 1)
#define ELECTED(id) ((id) << 1 | 1)
#define IS_ELECTED(message) ((message) & 1)
#define ID(message) ((message) >> 1)

chan inbox[N] = [4] of { byte };
hidden byte message;

inline pass_on(what) {
  inbox[(_pid + 1) % N] ! what
}

inline take_part() {
  if
  :: !participant -> participant = true; elected = 0
  :: else
  fi
}

inline conclude(leader) {
  assert(leader == N); /* E1 */
  participant = false;
  elected = leader
}

active [N] proctype process() {
  bool wish = true;
  bool participant;
  unsigned elected : 5; /* 0 if nobody */

end:
  do
  :: d_step { /* Start */
       wish;
       wish = false;
       if
       :: !participant -> participant = true; elected = 0; pass_on(ELECTION(SELF))
       :: else
       fi
     }
  :: d_step {
       inbox[_pid] ? message;
       if
       :: IS_ELECTED(message) ->
          conclude(ID(message));
          if
          :: ID(message) != SELF -> pass_on(message)
          :: else
          fi
       :: else ->
          if
          :: ID(message) == SELF -> conclude(SELF); pass_on(ELECTED(SELF))
          :: ID(message) > SELF -> take_part(); pass_on(message)
          :: ID(message) < SELF ->
             if
             :: !participant -> take_part(); pass_on(ELECTION(SELF))
             :: else /* swallowed */
             fi
          fi
       fi
     }
  od
}
