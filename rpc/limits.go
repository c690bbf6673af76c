package rpc

import "math"

// DefaultMessageBytes is the default of [Limits.MessageBytes], and of clients
// over HTTP. Tool results carry images and documents in base64: 5 MiB is usual.
// A peer that sends endless text costs no more memory than this.
const DefaultMessageBytes = 16 << 20

// The other defaults of [Limits]. They are safe where the other side is not
// known.
const (
	// Real messages nest below twenty; a JSON Schema below sixty.
	defaultDepth = 128
	// Recursion ends here even where there is no limit, so that no text can
	// exhaust the stack.
	maxDepth = 10_000
	// Only revision 2025-03-26 has batches, and clients use them for a handful
	// of calls.
	defaultBatchMessages = 256
	// Each request in flight is a goroutine. A host runs tens of calls at once.
	defaultInFlight = 256
	// A client may well write all of a job's requests before it reads the
	// first answer.
	defaultWaitingRequests = 16_384
	// Waiting requests are held with their params.
	defaultWaitingBytes = 32 << 20
	// Enough for a few large results; more only hides that nobody reads.
	defaultQueuedBytes = 4 << 20
	// Refusals are small. A peer that earns this many without reading them is
	// broken or hostile.
	defaultQueuedRefusals = 4096
)

// Limits bound what the other side can make this side hold. In each field zero
// means the default and a negative number means no limit.
type Limits struct {
	// MessageBytes bounds one received message. Default 16 MiB. A longer one is
	// skipped and refused, and the call that it answers fails with
	// [ErrTooLarge].
	MessageBytes int
	// Depth bounds how deep the objects and arrays of a message may nest, the
	// message itself being level 1. Default 128, never above 10,000.
	Depth int
	// BatchMessages bounds the messages of one batch. Default 256.
	BatchMessages int

	// InFlight bounds the requests that are handled at once. Default 256. What
	// comes above it waits.
	InFlight int
	// WaitingRequests bounds how many requests wait. Default 16,384. What comes
	// above it is refused with an error, and so is what comes above
	// WaitingBytes.
	WaitingRequests int
	// WaitingBytes bounds the bytes of the requests that wait. Default 32 MiB.
	WaitingBytes int

	// QueuedBytes bounds the encoded messages that wait to be written. Default
	// 4 MiB. Above it a Write waits. One message is always taken.
	QueuedBytes int
	// QueuedRefusals bounds the refusals that wait to be written. Default 4,096.
	// At the bound, reading stops until the other side reads.
	QueuedRefusals int
}

// withDefaults fills in what is zero.
func (l Limits) withDefaults() Limits {
	set := func(n *int, def int) {
		switch {
		case *n == 0:
			*n = def
		case *n < 0:
			*n = math.MaxInt
		}
	}
	set(&l.MessageBytes, DefaultMessageBytes)
	set(&l.Depth, defaultDepth)
	set(&l.BatchMessages, defaultBatchMessages)
	set(&l.InFlight, defaultInFlight)
	set(&l.WaitingRequests, defaultWaitingRequests)
	set(&l.WaitingBytes, defaultWaitingBytes)
	set(&l.QueuedBytes, defaultQueuedBytes)
	set(&l.QueuedRefusals, defaultQueuedRefusals)
	l.Depth = min(l.Depth, maxDepth)
	return l
}
