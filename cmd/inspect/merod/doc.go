// Package merod reads the database of merod, Calimero's node, without RocksDB and without
// writing anything to it, and explains its rows.
//
// Start at Open and Explain. What the rows look like is in layouts.txt: as merod wrote them in
// May and in August of 2026. Nothing in a database says which merod has written a row, so each is
// tried in the layouts that there are, strictly, the newest first.
package merod
