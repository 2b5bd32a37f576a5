package shm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// table holds the shared memory of two players: a bell and a word for each.
type table struct {
	bells [2]Bell
	words [2]*atomic.Uint32
}

const (
	tableSize = 4 * BellSize
	lostAfter = patience
	// Player 0 ends the game after mostRounds. After playFor it already ends
	// the game at fewestRounds, because on busy cores a round takes a time
	// slice.
	mostRounds, fewestRounds = 100_000, 300
	playFor                  = 3 * time.Second
	over                     = ^uint32(0) // in place of a round number: the game is over
)

func newTable(at []byte) *table {
	t := new(table)
	for i := range 2 {
		t.bells[i] = NewBell(at[2*i*BellSize:])
		t.words[i] = (*atomic.Uint32)(unsafe.Pointer(&at[(2*i+1)*BellSize]))
	}
	return t
}

// play passes the turn back and forth; player 0 begins and ends. Sometimes a
// player is slow, so that the other falls asleep or is about to. In each turn a
// player calls touch, which reads and writes a payload as the memory model
// allows. play returns the number of this player's turns.
func (t *table) play(me int, wait func(Bell, Condition, time.Time) bool, touch func()) (turns int, err error) {
	own, other := t.words[me], t.words[1-me]
	var turn uint32
	ready := when(func() bool { n := other.Load(); return n == turn || n == over })
	started := time.Now()
	for {
		turn = uint32(turns + me)
		begin := time.Now()
		// A wait that lasts until its deadline has missed its wake-up, even if
		// the condition is met by then.
		if !wait(t.bells[me], ready, begin.Add(lostAfter)) || time.Since(begin) >= lostAfter {
			return turns, fmt.Errorf("player %d was not woken for round %d: the other is in round %d", me, turns,
				other.Load())
		}
		if other.Load() == over {
			return turns, nil
		}
		touch()
		if rand.IntN(64) == 0 {
			time.Sleep(time.Duration(rand.IntN(150)) * time.Microsecond)
		}
		turns++
		done := me == 0 && (turns == mostRounds || turns >= fewestRounds && time.Since(started) > playFor)
		if done {
			own.Store(over)
		} else {
			own.Store(uint32(turns))
		}
		t.bells[1-me].Ring()
		if done {
			return turns, nil
		}
	}
}

// If a ringer and a waiter come at the same time, at least one sees the other.
func TestRingerOrWaiterSees(t *testing.T) {
	var line [3 * BellSize]byte
	at := line[-uintptr(unsafe.Pointer(&line))%BellSize:]
	b, word := NewBell(at), (*atomic.Uint32)(unsafe.Pointer(&at[BellSize]))
	var begun, looked [2]atomic.Uint32
	var rang atomic.Bool
	meet := func(at *[2]atomic.Uint32, me int, round uint32) {
		for at[me].Store(round); at[1-me].Load() < round; {
			runtime.Gosched()
		}
	}
	const rounds = 100_000
	rung := make(chan struct{})
	go func() {
		defer close(rung)
		for i := uint32(1); i <= rounds; i++ {
			meet(&begun, 0, i)
			word.Store(i)
			rang.Store(b.anybody())
			meet(&looked, 0, i)
		}
	}()
	missed := 0
	for i := uint32(1); i <= rounds; i++ {
		meet(&begun, 1, i)
		b.sleepers.Add(1)
		saw := word.Load() == i
		meet(&looked, 1, i)
		if !saw && !rang.Load() {
			missed++
		}
		b.sleepers.Add(^uint32(0))
	}
	<-rung
	if missed != 0 {
		t.Errorf("in %d of %d rounds neither saw the other", missed, rounds)
	}
}

func TestNoWakeIsLost(t *testing.T) {
	for name, wait := range map[string]func(Bell, Condition, time.Time) bool{"spinning": Bell.Wait,
		"sleeping": Bell.sleep} {
		t.Run(name, func(t *testing.T) {
			var room [tableSize + BellSize]byte
			at := &room
			table := newTable(at[-uintptr(unsafe.Pointer(at))%BellSize:])
			payload := 0 // the race detector checks that the turns guard it
			touch := func() { payload++ }
			other := make(chan error)
			go func() {
				_, err := table.play(1, wait, touch)
				other <- err
			}()
			turns, err := table.play(0, wait, touch)
			must(t, errors.Join(err, <-other))
			requireTurns(t, payload, turns)
		})
	}
}

// requireTurns requires that the payload was touched in every turn. Player 0
// takes the last turn, so player 1 takes one turn fewer.
func requireTurns(t *testing.T, payload, turns int) {
	t.Helper()
	if payload != 2*turns-1 {
		t.Errorf("%d turns were taken, want %d", payload, 2*turns-1)
	}
}

func TestNoWakeIsLostBetweenProcesses(t *testing.T) {
	s := newSegment(t, tableSize+8)
	h := start(t, "bell")
	must(t, SendFDs(h.conn, []byte("x"), s.FD()))
	turns, err := playProcess(s, 0)
	must(t, err)
	h.wait(t)
	requireTurns(t, int(*payloadOf(s)), turns) // #nosec G115 -- a count of turns
}

func helpBell(c *net.UnixConn) error {
	s, err := receiveSegment(c, tableSize+8)
	if err != nil {
		return err
	}
	_, err = playProcess(s, 1)
	return err
}

// playProcess plays in a separate process. In two of four rounds it sleeps at
// once instead of polling.
func playProcess(s *Segment, me int) (turns int, err error) {
	payload, round := payloadOf(s), 0
	wait := func(b Bell, ready Condition, deadline time.Time) bool {
		round++
		if round%4 < 2 {
			return b.sleep(ready, deadline)
		}
		return b.Wait(ready, deadline)
	}
	return newTable(s.Bytes()).play(me, wait, func() { *payload++ })
}

func payloadOf(s *Segment) *uint64 { return (*uint64)(unsafe.Pointer(&s.Bytes()[tableSize])) }

func receiveSegment(c *net.UnixConn, size int) (*Segment, error) {
	fds, err := ReceiveFDs(c, make([]byte, 1), 1)
	if err != nil {
		return nil, err
	}
	return Open(fds[0], size, false, true)
}
