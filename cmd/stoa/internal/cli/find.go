package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

// Finder says what a name or the first digits of an id may mean, in one call.
type Finder func(naming.Query) (naming.Answer, error)

// FinderOf returns what asks a daemon.
func FinderOf(ctx context.Context, client *rpc.Client) Finder {
	return func(q naming.Query) (naming.Answer, error) { return client.Find(ctx, q) }
}

// IsID reports whether an argument is a whole id.
func IsID(text string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	_, err := hex.DecodeString(digits)
	return len(digits) == 64 && err == nil
}

// beginsID reports whether an argument may be the first digits of an id.
func beginsID(text string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	return len(digits) < 64 && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

// Find returns the id that an argument means: by itself, by its first digits, or by a
// name. A whole id need not be of anything that is here. The what of errors is the
// argument or the flag.
func Find[T ~[32]byte](f Finder, what, text string, q naming.Query) (id T, err error) {
	text = strings.TrimSpace(text)
	if IsID(text) || text == "" || len(text) > codec.MaxAlias && !beginsID(text) {
		return ParseID[T](what, text) // which says what is wrong with it
	}
	q.Text = text
	a, err := f(q)
	if err != nil {
		return id, err
	}
	switch {
	case len(a.Matches) == 1:
		return T(a.Matches[0].ID), nil
	case len(a.Matches) == 0:
		return id, Fail(ExitNotFound, fmt.Errorf("%s: no %s here is called %q, or has an id that begins so", what, q.Kind, text), missingHint(text, q.Kind))
	}
	return id, Bad(fmt.Errorf("%s: %q may be %s", what, text, candidates(&a)), "give more digits, or the whole id")
}

// candidates lists what may be meant.
func candidates(a *naming.Answer) string {
	var list []string
	for _, m := range a.Matches {
		one := hex.EncodeToString(m.ID[:])
		if m.Name != "" && m.In != (codec.GroupID{}) {
			one += " (in group " + m.In.String()[:ShortDigits] + ")"
		}
		list = append(list, one)
	}
	if a.More {
		list = append(list, "others")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// missingHint says what to do where nothing is meant.
func missingHint(text string, k naming.Kind) string {
	hint := map[naming.Kind]string{
		naming.Namespace: "`stoa namespace list` lists those that are here", naming.Group: "`stoa namespace tree NAMESPACE` lists those of a namespace",
		naming.Member: "`stoa group members GROUP` lists those of a group", naming.Context: "`stoa context list` lists those that are here",
		naming.Delta: "`stoa dag log CONTEXT` lists those of a context", naming.Op: "`stoa namespace ops NAMESPACE` lists those of a namespace",
		naming.Blob: "`stoa blob list` lists those that are here", naming.Application: "`stoa scan ApplicationMeta` lists those that are here",
		naming.SigningKey: "`stoa group signing-keys GROUP` lists those that are here", naming.GroupKey: "`stoa group keys GROUP` lists those of a group",
	}[k]
	if len(text) < naming.MinDigits && beginsID(text) {
		hint = fmt.Sprintf("an id is known by its first %d digits or more; ", naming.MinDigits) + hint
	}
	return hint
}

// ShortDigits is as many digits of an id as tell it apart from others here.
const ShortDigits = 12
