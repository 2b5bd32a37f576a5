package process

// Events is what a process tells the core on its own: how far it is, and what failed
// outside a call.
type Events struct {
	Failures chan error
	Epochs   chan int // that begin, from 0
}

// NewEvents makes queues that hold what nobody has listened to yet.
func NewEvents() *Events { return &Events{Failures: make(chan error, 16), Epochs: make(chan int, 16)} }

// Fail reports err. The first failures are what counts: when nobody listens
// and the queue is full, later ones are dropped.
func (e *Events) Fail(err error) {
	select {
	case e.Failures <- err:
	default:
	}
}

// Epoch reports that an epoch begins, or drops the news if nobody listens.
func (e *Events) Epoch(n int) {
	select {
	case e.Epochs <- n:
	default:
	}
}
