package inspect

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
)

// appendLine appends l to dst as encoding/json would: the common lines, which have
// a key and a value and nothing to escape beside them. It returns false for others.
func appendLine(dst []byte, l *dumpLine) ([]byte, bool) {
	if l.Header != nil || l.End != nil || l.Key == nil || l.Value == nil || l.Fault != "" || l.Hex != "" {
		return dst, false
	}
	dst = append(dst, `{"column":`...)
	dst = strconv.AppendQuote(dst, l.Column)
	dst = append(dst, `,"type":`...)
	dst = strconv.AppendQuote(dst, l.Type)
	dst = append(append(dst, `,"key":`...), l.Key...)
	dst = append(append(dst, `,"value":`...), l.Value...)
	if d := l.Document; d != nil && d.Document != nil && d.Change == "" && d.Row != kv.ShapeMeta.String() {
		text, err := json.Marshal(d)
		if err != nil {
			return dst, false
		}
		dst = append(append(dst, `,"record":`...), text...)
	}
	if len(l.Withheld) > 0 {
		text, err := json.Marshal(l.Withheld)
		if err != nil {
			return dst, false
		}
		dst = append(append(dst, `,"withheld":`...), text...)
	}
	if l.Redacted {
		dst = append(dst, `,"redacted":true`...)
	}
	return append(dst, "}\n"...), true
}

// appendRaw appends the line of a row whose key has only hex in it and whose value is
// raw bytes, which most rows of a large store have. It returns false for others.
func appendRaw(dst []byte, info *keys.Info, key, value []byte) ([]byte, bool) {
	if !isRaw(info) || info.Secret || len(key) < info.Size {
		return dst, false
	}
	dst = append(dst, `{"column":"`...)
	dst = append(dst, info.Column.String()...)
	dst = append(dst, `","type":"`...)
	dst = append(dst, info.Name...)
	dst = append(dst, `","key":{`...)
	for i, f := range info.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		part := key
		if f.Bytes > 0 {
			part = key[:f.Bytes]
		}
		key = key[len(part):]
		dst = append(append(append(dst, '"'), f.Name...), `":"`...)
		dst = append(hex.AppendEncode(dst, part), '"')
	}
	dst = append(dst, `},"value":{"value":"`...)
	return append(hex.AppendEncode(dst, value), "\"}}\n"...), true
}

// isRaw reports whether the lines of a type are those of appendRaw and rawLine.
func isRaw(info *keys.Info) bool {
	if info.Tag != 0 || len(info.Value.Fields) != 1 || info.Value.Fields[0].Kind != "raw bytes" || info.Value.Fields[0].Name != "value" {
		return false
	}
	for _, f := range info.Fields {
		if f.Kind == "scope" || f.Kind == "u32" {
			return false
		}
	}
	return true
}

// rawLine returns the row of a line as Export writes it whose key has only hex in
// it and whose value is raw bytes, which most rows of a large store have. Any
// other line, right or wrong, is left to encoding/json. The row is not checked.
func rawLine(line []byte) (column string, key, value []byte, ok bool) {
	rest := line
	next := func(end string) (part []byte) {
		i := bytes.Index(rest, []byte(end))
		if i < 0 {
			ok = false
			return nil
		}
		part, rest = rest[:i], rest[i+len(end):]
		return part
	}
	ok = true
	if len(next(`{"column":"`)) != 0 || !ok {
		return "", nil, nil, false
	}
	column = string(next(`","type":"`))
	info, known := keys.ByName(string(next(`","key":{`)))
	if !ok || !known || !isRaw(&info) || info.Column.String() != column {
		return "", nil, nil, false
	}
	for i, f := range info.Fields {
		if i > 0 && len(next(`,`)) != 0 {
			return "", nil, nil, false
		}
		if len(next(`"`+f.Name+`":"`)) != 0 || !ok {
			return "", nil, nil, false
		}
		if key, ok = appendHex(key, next(`"`)); !ok {
			return "", nil, nil, false
		}
	}
	if len(next(`},"value":{"value":"`)) != 0 || !ok {
		return "", nil, nil, false
	}
	if value, ok = appendHex(nil, next(`"`)); !ok || string(rest) != "}}\n" {
		return "", nil, nil, false
	}
	return column, key, value, true
}

// appendHex appends what lower-case hex stands for. It returns false for anything
// else.
func appendHex(dst, text []byte) ([]byte, bool) {
	if len(text)%2 != 0 {
		return dst, false
	}
	dst = slices.Grow(dst, len(text)/2)
	for ; len(text) > 0; text = text[2:] {
		hi, lo := unhex[text[0]], unhex[text[1]]
		if hi|lo > 15 {
			return dst, false
		}
		dst = append(dst, hi<<4|lo)
	}
	return dst, true
}

// unhex is the value of each lower-case digit of hex, and more than 15 for all other
// bytes. It is never written to.
var unhex = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xFF
	}
	for i, digit := range []byte("0123456789abcdef") {
		values[digit] = byte(i)
	}
	return values
}()
