package wire

// Exports for tests of package wire that use networks from other packages,
// which import wire.

// Limits of greetings.
const (
	MaxGreetings = maxGreetings
	MaxHello     = maxHello
	MaxReason    = maxReason
)

// EncodeHello encodes the payload of a hello.
func EncodeHello(secret []byte, purpose, from, to string) ([]byte, error) {
	return (&hello{secret: [SecretSize]byte(secret), purpose: purpose, from: from, to: to}).encode()
}

// Links is the number of links that a listener knows.
func (l *Listener) Links() int { return len(l.links) }
