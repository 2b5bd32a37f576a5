package shm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// table is where two players meet: a bell and a word for each.
type table struct {
	bells [2]Bell
	words [2]*atomic.Uint32
}

const (
	tableSize = 4 * BellSize
	lostAfter = 10 * time.Second
)

func newTable(at []byte) *table {
	t := new(table)
	for i := range 2 {
		t.bells[i] = NewBell(at[2*i*BellSize:])
		t.words[i] = (*atomic.Uint32)(unsafe.Pointer(&at[(2*i+1)*BellSize]))
	}
	return t
}

// play passes the turn to and fro: player 0 begins. Now and then a player is
// slow, so that the other falls asleep, or nearly does. With touch, each writes
// and reads a payload in its turn, as the memory model has it.
func (t *table) play(me int, rounds int, wait func(Bell, func() bool, time.Time) bool, touch func()) error {
	own, other := t.words[me], t.words[1-me]
	var turn uint32
	ready := func() bool { return other.Load() == turn }
	for round := range rounds {
		turn = uint32(round + me)
		begin := time.Now()
		// A wait that ended by its deadline has missed its wake, even if all is ready.
		if !wait(t.bells[me], ready, begin.Add(lostAfter)) || time.Since(begin) >= lostAfter {
			return fmt.Errorf("player %d was not woken for round %d: the other is in round %d", me, round, other.Load())
		}
		touch()
		if rand.IntN(64) == 0 {
			time.Sleep(time.Duration(rand.IntN(150)) * time.Microsecond)
		}
		own.Store(uint32(round + 1))
		t.bells[1-me].Ring()
	}
	return nil
}

func TestNoWakeIsLost(t *testing.T) {
	for name, wait := range map[string]func(Bell, func() bool, time.Time) bool{"spinning": Bell.Wait, "sleeping": Bell.sleep} {
		t.Run(name, func(t *testing.T) {
			const rounds = 100_000
			var room [tableSize + BellSize]byte
			at := &room
			table := newTable(at[-uintptr(unsafe.Pointer(at))%BellSize:])
			payload := 0 // the race detector must find it well guarded
			touch := func() { payload++ }
			other := make(chan error)
			go func() { other <- table.play(1, rounds, wait, touch) }()
			err := table.play(0, rounds, wait, touch)
			must(t, errors.Join(err, <-other))
			if payload != 2*rounds {
				t.Errorf("%d turns were taken, want %d", payload, 2*rounds)
			}
		})
	}
}

const processRounds = 100_000

func TestNoWakeIsLostBetweenProcesses(t *testing.T) {
	s := newSegment(t, tableSize+8)
	h := start(t, "bell")
	must(t, SendFDs(h.conn, []byte("x"), s.FD()))
	must(t, playProcess(s, 0))
	h.wait(t)
	if got := *payloadOf(s); got != 2*processRounds {
		t.Errorf("%d turns were taken, want %d", got, 2*processRounds)
	}
}

func helpBell(c *net.UnixConn) error {
	s, err := receiveSegment(c, tableSize+8)
	if err != nil {
		return err
	}
	return playProcess(s, 1)
}

// playProcess plays as a process of its own. Two rounds of four sleep at once.
func playProcess(s *Segment, me int) error {
	payload, round := payloadOf(s), 0
	wait := func(b Bell, ready func() bool, deadline time.Time) bool {
		round++
		if round%4 < 2 {
			return b.sleep(ready, deadline)
		}
		return b.Wait(ready, deadline)
	}
	return newTable(s.Bytes()).play(me, processRounds, wait, func() { *payload++ })
}

func payloadOf(s *Segment) *uint64 { return (*uint64)(unsafe.Pointer(&s.Bytes()[tableSize])) }

func receiveSegment(c *net.UnixConn, size int) (*Segment, error) {
	fds, err := ReceiveFDs(c, make([]byte, 1), 1)
	if err != nil {
		return nil, err
	}
	return Open(fds[0], size, false, true)
}
