package agents

import "iter"

// once returns what a stream that ends by itself has: the answer of a call that may wait for
// as long as it asks to, which the daemon breaks off when it stops.
func once[T any](stream iter.Seq2[T, error]) (all []T, err error) {
	for item, err := range stream {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// each yields what a call of the daemon has to answer, or its error.
func each[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}
