package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/cmd/tenon/internal/recording"
	"github.com/tenon-mcp/tenon/stdio"
)

// recordFlags are the flags of record.
type recordFlags struct {
	file, addr string
	raw        bool
}

func (a *app) recordCommand() *cobra.Command {
	var f recordFlags
	c := &cobra.Command{
		Use:   "record -o FILE -- COMMAND ARGS… | record -o FILE --http ADDR URL",
		Short: "Record what a client and a server say",
		Long: "Stand between a client and a server, pass on every byte, and write what was said to a file.\n\n" +
			"With a command, put this command line into the client's configuration in its place. With --http, give the client\n" +
			"the address that is printed. Secrets are not recorded: tokens, cookies, keys, and what has such a name.\n" +
			"Where the file is there already, the recording gets a number.",
		Example: "  tenon record -o bug.mcprec -- node server.js\n" +
			"  tenon record -o bug.mcprec --http :7000 https://example.com/mcp",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			words, command := split(c, args)
			switch {
			case f.file == "":
				return usagef("record where to? name a file with -o")
			case len(command) > 0 && (f.addr != "" || len(words) > 0):
				return usagef("record takes a command behind --, or a URL with --http, not both")
			case len(command) > 0:
				return a.recordCommandLine(c.Context(), f, command)
			case f.addr == "" || len(words) != 1:
				return usagef("record takes a command behind --, or a URL with --http ADDR")
			}
			return a.recordHTTP(c.Context(), f, words[0])
		},
	}
	c.Flags().StringVarP(&f.file, "output", "o", "", "the file, by custom *.mcprec")
	c.Flags().StringVar(&f.addr, "http", "", "serve HTTP on this address, such as :7000 (of this machine only)")
	c.Flags().BoolVar(&f.raw, "keep-secrets", false, "record secrets, too")
	return c
}

// openRecording makes the file, with a number in its name where it is there.
func (a *app) openRecording(f recordFlags, target string) (*os.File, *recording.Writer, error) {
	ext := filepath.Ext(f.file)
	name := f.file
	for n := 2; ; n++ {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		switch {
		case err == nil:
			w, err := recording.NewWriter(file, recording.Header{Target: target, By: "tenon " + version()}, f.raw)
			if err != nil {
				return nil, nil, errors.Join(err, file.Close())
			}
			fmt.Fprintf(a.err, "recording to %s\n", escapeLine(name))
			return file, w, nil
		case !errors.Is(err, os.ErrExist) || n > 10_000:
			return nil, nil, fmt.Errorf("record: %w", err)
		}
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(f.file, ext), n, ext)
	}
}

// recordCommandLine stands in for a server on stdio.
func (a *app) recordCommandLine(ctx context.Context, f recordFlags, command []string) (err error) {
	file, rec, err := a.openRecording(f, filepath.Base(command[0]))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Err(), file.Close()) }()
	lines := &lineWriter{emit: func(line []byte) {
		rec.Write(recording.Frame{Dir: recording.FromServer, Kind: recording.Stderr, Text: string(line)})
	}}
	server, err := (&stdio.Command{
		Path: command[0], Args: command[1:], InheritEnv: true, Stderr: io.MultiWriter(a.err, lines),
	}).Start(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	// It ends with the client, or with this program: a read of stdin cannot be
	// called off.
	go func() {
		_ = recording.CopyLines(server, a.in, func(line []byte) { rec.Line(recording.FromClient, line) }) // the server is gone, then
		_ = server.CloseInput()                                                                           // or it was closed
	}()
	if err := recording.CopyLines(a.out, server, func(line []byte) { rec.Line(recording.FromServer, line) }); err != nil {
		return fmt.Errorf("record: the client went away: %w", err)
	}
	err = server.Err()
	_ = server.Close() // all that it wrote to stderr is there now
	lines.flush()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// recordHTTP stands in for a server of HTTP.
func (a *app) recordHTTP(ctx context.Context, f recordFlags, target string) (err error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usagef("record --http takes the URL of a server, http:// or https://")
	}
	l, err := listenAt(ctx, f.addr)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	file, rec, err := a.openRecording(f, u.Scheme+"://"+u.Host+u.EscapedPath())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, rec.Err(), file.Close()) }()
	path := u.EscapedPath()
	fmt.Fprintf(a.err, "connect your client to http://%s%s\n", l.Addr(), path)
	srv := &http.Server{Handler: onlyThisMachine(l, recording.NewProxy(rec, u, nil)), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("record: %w", err)
	}
	return nil // Ctrl-C is how it ends
}

// listenAt listens on an address, and for this machine only where that has no
// host.
func listenAt(ctx context.Context, addr string) (net.Listener, error) {
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}

// onlyThisMachine keeps web pages that have a name of their own for this
// machine from a server that listens for it alone (DNS rebinding).
func onlyThisMachine(l net.Listener, h http.Handler) http.Handler {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "tenon serves this machine only, under localhost or 127.0.0.1", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
