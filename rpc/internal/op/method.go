package op

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/access"
	_ "github.com/stoadb/stoa/rpc/stoav1" // registers the protocol
)

// Method is what is known of an operation besides its messages.
type Method struct {
	Number uint16      // in frames; never reused. Those of a service have the same hundred
	Name   string      // with its service, such as Kv.Get
	Role   access.Role // that who calls it has; none is a mistake
	// Tenant has the operation be about a tenant: who is bound to one may call it for that
	// one. The arguments are Tenanted, and those of verbs of records Collected.
	Tenant bool
	// Short calls are answered on the goroutine that reads the connection, which
	// saves handing them over: those that take some microseconds.
	Short bool
	// Large is of short calls whose answers may be large: for users who have limits they are no
	// short ones.
	Large bool
	// Brief calls change something, and are short if they wait for no disk, as the field
	// durability of their request says, and their connection has nothing else to do.
	Brief bool
	// Long calls take as long as they take: neither end gives them a time.
	Long bool

	full string
}

// Tenanted are arguments that name a tenant.
type Tenanted interface {
	// TenantName returns where the name is.
	TenantName() *string
}

// Demanding are arguments that may ask for what takes a role beside that of their operation.
type Demanding interface {
	// Demands returns the role; 0: none more.
	Demands() access.Role
}

// Guarding are arguments of a change that is made only if some locks of its tenant are held
// by the grants that have some tokens. They are embedded in others, which are Tenanted.
type Guarding struct{ Guards []lock.Guard }

// LockGuards returns the guards.
func (g *Guarding) LockGuards() []lock.Guard { return g.Guards }

// Guarded are arguments that have guards.
type Guarded interface {
	Tenanted
	// LockGuards returns the guards.
	LockGuards() []lock.Guard
}

// Collected are arguments that name a collection of records, whose declaration may have a
// verb be for those who run the host.
type Collected interface {
	// CollectionName returns the name.
	CollectionName() string
}

// Host is the server that operations are served by.
type Host interface {
	// Admit refuses a call that its user may not make, and has arguments that are
	// Tenanted name the tenant of a user who is bound to one. It returns the context that
	// the call goes on by.
	Admit(ctx context.Context, m *Method, in any) (context.Context, error)
	// Failed returns err with what it is about, as the arguments say.
	Failed(m *Method, in any, err error) error
	// Paced runs a stream, of which there may be a limited number, and returns when
	// work does, when its client keeps it waiting for too long, or when the server
	// stops.
	Paced(ctx context.Context, m *Method, work func(context.Context, Pace) error) error
	// Gate returns what the items of a stream go through from when they are made until they
	// are sent; nil for a user who has no limits.
	Gate(ctx context.Context) Gate
	// Detached runs work, a part of a stream, on a goroutine that the server waits
	// for before it ends.
	Detached(ctx context.Context, work func() error) <-chan error
}

// Gate has the items of a stream be made in turn with those of others, and counts them. Enter, Left
// and Made are called by one goroutine, Sent by any.
type Gate interface {
	// Enter waits for its turn to make an item, which may be large.
	Enter(ctx context.Context) error
	// Left ends the turn, if it has not ended: the item is made, or nothing more is.
	Left()
	// Made says that an item waits, of so many bytes, which count from now on. An error refuses it.
	Made(bytes int) error
	// Sent says that items of so many bytes are sent, or dropped.
	Sent(bytes int)
}

// Pace is told when a stream waits for its client.
type Pace interface {
	// During runs what waits for the client.
	During(wait func() error) error
}

// About returns what is known of the operation besides its messages.
func (m *Method) About() *Method { return m }

// Full returns the name as gRPC has it: /stoa.v1.Kv/Get.
func (m *Method) Full() string { return m.full }

// last returns the name within the service.
func (m *Method) last() string { return m.Name[strings.IndexByte(m.Name, '.')+1:] }

const pkg = "stoa.v1." // the protocol

// named returns m with its name as gRPC has it.
func (m Method) named() Method {
	m.full = "/" + pkg + strings.Replace(m.Name, ".", "/", 1)
	return m
}

// messages are those of a method.
type messages struct{ request, response protoreflect.MessageType }

// messages returns what the protocol says of the method.
func (m *Method) messages() messages {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(pkg + m.Name))
	if err != nil {
		panic(fmt.Sprintf("op: %s: %v", m.Name, err))
	}
	method := d.(protoreflect.MethodDescriptor)
	return messages{typeOf(method.Input()), typeOf(method.Output())}
}

// DurabilityField returns the number of the field durability of the request, which those of
// Brief calls have.
func (m *Method) DurabilityField() protowire.Number {
	f := m.messages().request.Descriptor().Fields().ByName("durability")
	if f == nil {
		panic(fmt.Sprintf("op: the request of %s has no field durability", m.Name))
	}
	return f.Number()
}

func typeOf(d protoreflect.MessageDescriptor) protoreflect.MessageType {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(fmt.Sprintf("op: %s: %v", d.FullName(), err))
	}
	return t
}

// Hand is an operation whose messages are not described: both ends write out what they
// do. Make one by [ByHand].
type Hand struct{ Method }

// ByHand returns an operation that package server has a handler of its own for.
func ByHand(m Method) *Hand {
	h := &Hand{m.named()}
	enter(h)
	return h
}

// Plan panics if the protocol has no such method.
func (h *Hand) Plan() { h.messages() }

// Register adds nothing: package server does.
func (*Hand) Register(Host, *grpc.ServiceDesc) {}
