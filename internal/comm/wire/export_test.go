package wire

// What tests need that go over networks of packages which import this one.

// Bounds of greetings.
const (
	MaxGreetings = maxGreetings
	MaxHello     = maxHello
	MaxReason    = maxReason
)

// EncodeHello is the payload of a hello.
func EncodeHello(secret []byte, purpose, from, to string) ([]byte, error) {
	return (&hello{secret: [SecretSize]byte(secret), purpose: purpose, from: from, to: to}).encode()
}

// Links is how many links a listener knows.
func (l *Listener) Links() int { return len(l.links) }
