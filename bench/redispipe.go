package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync"
)

// pipe is a pipelining client of Redis over one connection: what many callers
// ask at once goes out in one write, and one goroutine reads the answers, which
// come in order. go-redis does one request at a time on a connection.
type pipe struct {
	conn net.Conn

	mu      sync.Mutex
	out     []byte
	spare   []byte
	writing bool
	asked   chan *pipedActor // in the order of the requests
}

// pipedActor is a caller of a pipe. It knows how to Get and to Put.
type pipedActor struct {
	redisActor
	pipe *pipe
	done chan error
	key  []byte
	ask  []byte // the request
	got  [ValueBytes + 2]byte
	size int // of the value that was answered; 0: it was none
}

// pipelined returns n actors that share a connection.
func pipelined(socket string, n int, data *Dataset) ([]Actor, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	p := &pipe{conn: conn, asked: make(chan *pipedActor, n)}
	go p.read()
	actors := make([]Actor, n)
	for i := range actors {
		actors[i] = &pipedActor{redisActor: redisActor{data: data}, pipe: p, done: make(chan error, 1)}
	}
	return actors, nil
}

// Get reads a row, and fails unless all of its value came; see [Actor].
func (a *pipedActor) Get(row int) error {
	a.key, _ = a.data.Key(row).AppendBinary(a.key[:0])
	err := a.call("GET", a.key)
	return expect(a.size == ValueBytes, err)
}

// Put writes a row; see [Actor].
func (a *pipedActor) Put(row int) error {
	a.key, _ = a.data.Key(row).AppendBinary(a.key[:0])
	a.data.Fill(a.value[:], row)
	err := a.call("SET", a.key, a.value[:])
	return expect(a.size == 0, err)
}

// call brings a request, and waits for the answer.
func (a *pipedActor) call(command string, words ...[]byte) error {
	a.ask = append(strconv.AppendInt(append(a.ask[:0], '*'), int64(1+len(words)), 10), "\r\n$3\r\n"...)
	a.ask = append(append(a.ask, command...), "\r\n"...)
	for _, word := range words {
		a.ask = append(strconv.AppendInt(append(a.ask, '$'), int64(len(word)), 10), "\r\n"...)
		a.ask = append(append(a.ask, word...), "\r\n"...)
	}
	if err := a.pipe.bring(a); err != nil {
		return err
	}
	return <-a.done
}

// Release is Actor's; the first one closes the connection.
func (a *pipedActor) Release() error {
	a.pipe.conn.Close() // it may be closed already
	return nil
}

// bring puts the request of a caller behind those of others, and writes what there
// is unless another does.
func (p *pipe) bring(a *pipedActor) error {
	p.mu.Lock()
	p.out = append(p.out, a.ask...)
	p.asked <- a
	if p.writing {
		p.mu.Unlock()
		return nil
	}
	p.writing = true
	p.mu.Unlock()
	runtime.Gosched() // others may bring theirs
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.writing = false }()
	for len(p.out) > 0 {
		out := p.out
		p.out, p.spare = p.spare[:0], nil
		p.mu.Unlock()
		_, err := p.conn.Write(out)
		p.mu.Lock()
		p.spare = out
		if err != nil {
			return err
		}
	}
	return nil
}

// read hands out answers until the connection is closed.
func (p *pipe) read() {
	r := bufio.NewReaderSize(p.conn, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		a := <-p.asked
		if a.size = 0; string(line) == "+OK\r\n" {
			a.done <- nil
			continue
		}
		size, err := strconv.Atoi(string(line[1 : len(line)-2]))
		if line[0] != '$' || err != nil || size < 0 {
			a.done <- fmt.Errorf("bench: redis answered %q", line)
			continue
		}
		a.size = size
		if len(a.got) < size+2 {
			a.done <- fmt.Errorf("bench: redis answered %d bytes", size)
			return
		}
		_, err = io.ReadFull(r, a.got[:size+2])
		a.done <- err
	}
}
