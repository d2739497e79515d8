package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes as a flag: 1048576, 64KiB, 256MiB, 1.5GiB, 10GB.
type Size uint64

// sizeUnits are the units of a size; the long names come before their endings.
var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// Set takes what was given for the flag; see [pflag.Value].
func (s *Size) Set(text string) error {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if n, err := strconv.ParseUint(number, 10, 64); err == nil && float64(n)*unit < math.MaxInt64 {
		*s = Size(n * uint64(unit))
		return nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f >= 0 && f*unit < math.MaxInt64) {
		return errors.New("not a size, as 1048576, 64KiB, 256MiB or 1.5GiB")
	}
	*s = Size(f * unit)
	return nil
}

// String returns what the flag is set to; see [pflag.Value].
func (s *Size) String() string { return SizeText(uint64(*s)) }

// Type returns what help calls the value; see [pflag.Value].
func (s *Size) Type() string { return "size" }

// SizeText returns a number of bytes for people.
func SizeText(n uint64) string {
	for _, u := range []struct {
		name  string
		bytes uint64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes {
			text := strconv.FormatFloat(float64(n)/float64(u.bytes), 'f', 1, 64)
			return strings.TrimSuffix(text, ".0") + " " + u.name
		}
	}
	return fmt.Sprintf("%d B", n)
}
