package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// The keys of records: stream/NAME, consumer/STREAM/NAME, dead/STREAM/NAME/NUMBER.
const (
	streamPrefix   = "stream/"
	consumerPrefix = "consumer/"
	deadPrefix     = "dead/"
)

// checkName returns what is wrong with the name of a stream or a consumer.
func checkName(field, name string) error {
	if len(name) > MaxName {
		return beyond(CodeTooLarge, field, MaxName, len(name), "the name has %d bytes, at most %d", len(name), MaxName)
	}
	other := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	if name == "" || other >= 0 {
		return invalid(field, "a name has 1 to %d letters of ASCII, digits, - and _", MaxName)
	}
	return nil
}

func streamKey(stream string) string { return streamPrefix + stream }

func consumerKey(stream, consumer string) string { return consumerPrefix + stream + "/" + consumer }

// consumersOf is what the keys of a stream's consumers begin with.
func consumersOf(stream string) string { return consumerPrefix + stream + "/" }

// deadOf is what the keys of a consumer's dead letters begin with.
func deadOf(stream, consumer string) string { return deadPrefix + stream + "/" + consumer + "/" }

func deadKey(stream, consumer string, n uint64) string {
	return fmt.Sprintf("%s%020d", deadOf(stream, consumer), n)
}

// named is what a key of a record says.
type named struct {
	stream, consumer string
	dead             uint64 // the number of a dead letter
}

// parseKey reads the key of a record; false: it is none of this package.
func parseKey(key string) (n named, ok bool) {
	parts := strings.Split(key, "/")
	switch {
	case len(parts) == 2 && parts[0]+"/" == streamPrefix:
	case len(parts) == 3 && parts[0]+"/" == consumerPrefix:
		n.consumer = parts[2]
	case len(parts) == 4 && parts[0]+"/" == deadPrefix:
		n.consumer = parts[2]
		var err error
		if n.dead, err = strconv.ParseUint(parts[3], 10, 64); err != nil || n.dead == 0 || len(parts[3]) != 20 {
			return n, false
		}
	default:
		return n, false
	}
	n.stream = parts[1]
	return n, checkName("", n.stream) == nil && (len(parts) == 2 || checkName("", n.consumer) == nil)
}
