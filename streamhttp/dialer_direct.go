package streamhttp

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
)

// direct sends requests to the endpoint without [http.Client]. What that adds to
// its Transport (cookies, a password from the URL, redirects) is prepared with
// every request, and few need any of it. Redirects, which show in the answer, are
// left to the Client still.
type direct struct {
	rt     *http.Transport // changes nothing in a request, so requests share their URL and headers
	client *http.Client
	like   *http.Request // what requests have in common
}

// newDirect returns nil where the client does more with every request.
func newDirect(c *http.Client, u *url.URL) *direct {
	rt := c.Transport
	if rt == nil {
		rt = http.DefaultTransport
	}
	t, ok := rt.(*http.Transport)
	if !ok || c.Jar != nil || u.User != nil {
		return nil
	}
	return &direct{rt: t, client: c, like: &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}}
}

// request returns the request that posts body.
func (d *direct) request(x *flight, body []byte) *http.Request {
	req := d.like.WithContext(x.ctx)
	r := &x.body
	if x.posted { // what came before is perhaps read still, though its answer is there
		r = new(bytes.Reader)
	}
	x.posted = true
	r.Reset(body)
	// What net/http knows to be in memory goes along with the head, in one write.
	req.Body, req.ContentLength = io.NopCloser(r), int64(len(body))
	// It sends a request again if a connection had just been closed and took
	// nothing of it.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return req
}

// Do sends req as http.Client does.
func (d *direct) Do(req *http.Request) (*http.Response, error) {
	res, err := d.rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		c := *d.client
		c.Transport = &replay{res: res, rt: d.rt}
		return c.Do(req)
	}
	return res, nil
}

// replay gives the answer that is there already to the first request, so that a
// Client says what becomes of it without sending that again.
type replay struct {
	res *http.Response // nil: given
	rt  http.RoundTripper
}

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if res := r.res; res != nil {
		r.res = nil
		return res, nil
	}
	return r.rt.RoundTrip(req)
}
