package caller

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/rpc/internal/fault"
)

// numbers answers for a daemon that lists the numbers to last, and notes the limits that
// it is asked with.
func numbers(last int, limits *[]int) func(int, int) ([]int, int, error) {
	return func(after, limit int) (page []int, next int, err error) {
		*limits = append(*limits, limit)
		for n := after + 1; n <= last && len(page) < limit; n++ {
			page = append(page, n)
		}
		if len(page) == limit {
			next = page[limit-1]
		}
		return page, next, nil
	}
}

func TestAListIsAskedForPageByPage(t *testing.T) {
	for _, c := range []struct {
		last, most, after, want int
		limits                  []int
	}{
		{last: 0, limits: []int{32}},
		{last: 31, want: 31, limits: []int{32}},
		{last: 32, want: 32, limits: []int{32, 128}},
		{last: 3000, want: 3000, limits: []int{32, 128, 512, 1000, 1000, 1000}},
		{last: 3000, after: 2990, want: 10, limits: []int{32}},
		{last: 3000, most: 5, want: 5, limits: []int{5}},
		{last: 3000, most: 40, want: 40, limits: []int{32, 8}},
		{last: 10, most: 40, want: 10, limits: []int{32}},
	} {
		var got, limits []int
		for n, err := range Pagewise("Test.List", c.most, c.after, numbers(c.last, &limits)) {
			require.NoError(t, err)
			require.Equal(t, c.after+len(got)+1, n)
			got = append(got, n)
		}
		require.Len(t, got, c.want)
		require.Equal(t, c.limits, limits, "%+v", c)
	}
}

func TestAListEndsWithWhoReadsIt(t *testing.T) {
	var limits []int
	all := Pagewise("Test.List", 0, 0, numbers(3000, &limits))
	for range 2 { // it begins anew
		for n := range all {
			if n == 3 {
				break
			}
		}
	}
	require.Equal(t, []int{32, 32}, limits)
}

func TestAListEndsWithItsError(t *testing.T) {
	broken := errors.New("broken")
	ask := func(after, _ int) ([]int, int, error) {
		if after > 0 {
			return nil, 0, broken
		}
		return []int{1, 2}, 2, nil
	}
	var got []int
	var errs []error
	for n, err := range Pagewise("Test.List", 0, 0, ask) {
		got, errs = append(got, n), append(errs, err)
	}
	require.Equal(t, []int{1, 2, 0}, got)
	require.Equal(t, []error{nil, nil, broken}, errs)
}

// A daemon that says that a page is followed by itself would be asked for ever.
func TestAListThatDoesNotGetOnEnds(t *testing.T) {
	asked := 0
	ask := func(int, int) ([]int, int, error) { asked++; return []int{7}, 7, nil }
	var last error
	for _, last = range Pagewise("Test.List", 0, 0, ask) {
	}
	require.ErrorIs(t, last, fault.ErrInternal)
	require.Equal(t, 2, asked)
}
