// Package view is a page to look at a store with: what its columns hold, the rows in them,
// blobs, key-values, the records of collections, tasks as a board, locks, decisions as trees, the
// deltas of its contexts and the ops of its namespaces as graphs, the tree of its groups, what
// verify finds, and a search across all of that. It follows a daemon, if it is told to.
//
// Start at Server, an http.Handler over one inspect.Source; Listen makes the
// socket that it is served on. Nothing of the store is changed, and nothing is
// fetched from anywhere else: what the page consists of is in assets. README.md
// says what guards it, and what it asks the server for.
package view
