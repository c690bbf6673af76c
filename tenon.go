// Package tenon is the front door: [Connect] and [Serve] find the transport,
// everything else is in the packages below it.
//
// A server is a [server.Server] with tools, resources and prompts; a client is
// a [client.Client]. Both speak every revision of the Model Context Protocol.
package tenon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// An Option changes what [Connect] and [Dialer] do. For more than these, call
// [client.Connect] with a dialer of your own.
type Option func(*options)

type options struct {
	client     *client.Options
	httpClient *http.Client
	header     http.Header
	env        []string
	inheritEnv bool
	dir        string
}

// WithClient sets the options of the client.
func WithClient(o *client.Options) Option { return func(c *options) { c.client = o } }

// WithHTTPClient sets what sends HTTP requests.
func WithHTTPClient(hc *http.Client) Option { return func(c *options) { c.httpClient = hc } }

// WithHeader adds a header to every HTTP request.
func WithHeader(key, value string) Option {
	return func(c *options) {
		if c.header == nil {
			c.header = http.Header{}
		}
		c.header.Add(key, value)
	}
}

// WithEnv adds "KEY=value" entries to the environment of a command; see
// [stdio.Command] for what it inherits.
func WithEnv(entries ...string) Option {
	return func(c *options) { c.env = append(c.env, entries...) }
}

// WithInheritedEnv passes the whole environment of this process to a command.
func WithInheritedEnv() Option { return func(c *options) { c.inheritEnv = true } }

// WithDir sets the working directory of a command.
func WithDir(dir string) Option { return func(c *options) { c.dir = dir } }

// Connect connects to the server that target names:
//
//   - an http or https URL: Streamable HTTP, or HTTP+SSE of 2024-11-05 where the
//     server has nothing newer (2026-07-28, Streamable HTTP, backward
//     compatibility);
//   - anything else is a command line, whose server is started as a child
//     process: words and quotes as in a shell, but no shell runs, so there are
//     no variables, wildcards or pipes. A leading "stdio:" is allowed.
//
// ctx bounds the connecting, not the life of the connection.
func Connect(ctx context.Context, target string, opts ...Option) (*client.Client, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	d, err := o.dialer(target)
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(ctx, d, o.client)
	if err == nil || !streamhttp.FallbackToSSE(err) {
		return c, err
	}
	old, oldErr := client.Connect(ctx, &streamhttp.SSEDialer{URL: target, Client: o.httpClient, Header: o.header}, o.client)
	if errors.Is(oldErr, streamhttp.ErrNotSSE) {
		return nil, pathHint(target, err) // it is no server of old either: the first answer says more
	}
	return old, oldErr
}

// pathHint adds to an error that says that there is nothing at the URL where
// servers have their endpoint most often.
func pathHint(target string, err error) error {
	status, ok := errors.AsType[*streamhttp.StatusError](err)
	u, uerr := url.Parse(target)
	if !ok || status.Code != http.StatusNotFound || uerr != nil || u.Path == EndpointPath {
		return err
	}
	return fmt.Errorf("%w; is the path right? Many servers have %s://%s%s", err, u.Scheme, u.Host, EndpointPath)
}

// Dialer returns what [Connect] dials first.
func Dialer(target string, opts ...Option) (rpc.Dialer, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return o.dialer(target)
}

func (o *options) dialer(target string) (rpc.Dialer, error) {
	scheme, rest := splitScheme(target)
	switch scheme {
	case "http", "https":
		u, err := url.Parse(target)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("tenon: %q is no URL with a host", target)
		}
		return &streamhttp.Dialer{URL: target, Client: o.httpClient, Header: o.header}, nil
	case "stdio":
		target = strings.TrimPrefix(rest, "//")
	default:
		if strings.HasPrefix(rest, "//") {
			return nil, fmt.Errorf("tenon: no transport for %q: use http, https, or a command line", scheme)
		}
	}
	if hint := addressHint(target); hint != "" {
		return nil, fmt.Errorf("tenon: %q is an address and no URL: did you mean %s?", target, hint)
	}
	words, err := splitCommand(target)
	if err != nil {
		return nil, fmt.Errorf("tenon: command line: %w", err)
	}
	if len(words) == 0 {
		return nil, errors.New("tenon: the target is empty: give a URL or a command line")
	}
	return &stdio.Command{Path: words[0], Args: words[1:], Env: o.env, InheritEnv: o.inheritEnv, Dir: o.dir}, nil
}

// addressHint returns the URL that is meant by a host and a port, "" for what
// is something else.
func addressHint(target string) string {
	address, path, _ := strings.Cut(target, "/")
	_, port, err := net.SplitHostPort(address)
	if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || strings.ContainsFunc(target, unicode.IsSpace) {
		return ""
	}
	return "http://" + address + "/" + cmp.Or(path, strings.TrimPrefix(EndpointPath, "/"))
}

// splitScheme returns the scheme of a URL in lower case, and what is behind
// its colon. A command line with a URL among its words has none.
func splitScheme(target string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(target, ":")
	if !ok || strings.ContainsFunc(scheme, notOfScheme) {
		return "", ""
	}
	return strings.ToLower(scheme), rest
}

// notOfScheme reports what no scheme has in it (RFC 3986 section 3.1).
func notOfScheme(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '+', r == '-', r == '.':
		return false
	}
	return true
}
