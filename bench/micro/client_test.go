package micro_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// What is here measures a client alone: its server says the same to every call,
// and allocates nothing.

// parrotEnv makes this program a parrot on stdio.
const parrotEnv = "TENON_BENCH_PARROT"

// parrot appends the answer to a message, if it is a request.
func parrot(answer, message []byte) []byte {
	_, rest, found := bytes.Cut(message, []byte(`"id":`))
	if !found {
		return answer
	}
	id := rest[:bytes.IndexAny(rest, ",}")]
	answer = append(append(append(answer, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
	if bytes.Contains(message, []byte(`"initialize"`)) {
		answer = append(answer, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`...)
	} else {
		answer = append(answer, `{"content":[{"type":"text","text":"`+tinyText+`"}]}`...)
	}
	return append(answer, '}')
}

func parrotLines(r io.Reader, w io.Writer) {
	in := bufio.NewReader(r)
	var answer []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		if answer = parrot(answer[:0], line); len(answer) > 0 {
			_, _ = w.Write(append(answer, '\n'))
		}
	}
}

// parrotHTTP answers on c until it is closed.
func parrotHTTP(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	var body, answer, head []byte
	for {
		size := -1
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				break
			}
			if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				size, _ = strconv.Atoi(string(value))
			}
		}
		if size < 0 { // GET: there is nothing to listen to
			_, _ = c.Write([]byte("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"))
			continue
		}
		body = append(body[:0], make([]byte, size)...)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if answer = parrot(answer[:0], body); len(answer) == 0 {
			_, _ = c.Write([]byte("HTTP/1.1 202 Yes\r\nContent-Length: 0\r\n\r\n"))
			continue
		}
		head = append(head[:0], "HTTP/1.1 200 Yes\r\nContent-Type: application/json\r\nContent-Length: "...)
		head = append(strconv.AppendInt(head, int64(len(answer)), 10), "\r\n\r\n"...)
		_, _ = c.Write(append(head, answer...))
	}
}

// overStdio and overHTTP return a client whose server is a parrot.
func overStdio(tb testing.TB) *client.Client {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return connect(tb, &stdio.Command{Path: self, Env: []string{parrotEnv + "=1"}})
}

func overHTTP(tb testing.TB) *client.Client {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go parrotHTTP(c)
		}
	}()
	return connect(tb, &streamhttp.Dialer{URL: "http://" + l.Addr().String() + "/mcp"})
}

func connect(tb testing.TB, d rpc.Dialer) *client.Client {
	tb.Helper()
	c, err := client.Connect(tb.Context(), d, &client.Options{Version: mcp.V20251125})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// parroted returns a function that makes a call of c.
func parroted(tb testing.TB, c *client.Client) func() {
	tb.Helper()
	p := &mcp.CallToolParams{Name: "echo", Arguments: []byte(`{"text":"` + tinyText + `"}`)}
	return func() {
		res, err := c.CallTool(tb.Context(), p)
		if err != nil {
			tb.Fatal(err)
		}
		if text, ok := res.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, tinyText) {
			tb.Fatalf("got %.100v", res.Content[0])
		}
	}
}

func BenchmarkClientStdio(b *testing.B) { measure(b, parroted(b, overStdio(b))) }

func BenchmarkClientHTTP(b *testing.B) { measure(b, parroted(b, overHTTP(b))) }
