package codec

// Option is a value that may be absent; the zero Option is. V is the zero value
// where Valid is false, and is not looked at.
type Option[T any] struct {
	V     T
	Valid bool
}

// Some returns an Option that holds v.
func Some[T any](v T) Option[T] { return Option[T]{V: v, Valid: true} }

// Get returns the value and whether there is one.
func (o Option[T]) Get() (T, bool) { return o.V, o.Valid }
