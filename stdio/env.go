package stdio

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// baseEnv names what a server inherits: what a program needs to find itself,
// its files, its language and its certificates, and nothing that is likely to
// be a secret.
var baseEnv = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
	"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "TMPDIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// baseEnvWindows is the same for Windows, where programs do not even start
// without some of these.
var baseEnvWindows = []string{
	"APPDATA", "ALLUSERSPROFILE", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA",
	"NUMBER_OF_PROCESSORS", "OS", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// BaseEnv returns the part of the environment of this process that a
// [Command] passes on: "KEY=value" strings.
func BaseEnv() []string {
	if runtime.GOOS == "windows" {
		return pick(os.Environ(), baseEnvWindows, true)
	}
	return pick(os.Environ(), baseEnv, false)
}

func pick(environ, names []string, fold bool) []string {
	var env []string
	for _, kv := range environ {
		key, value, ok := strings.Cut(kv, "=")
		if !ok || strings.HasPrefix(value, "()") { // a function of bash: code, not data
			continue
		}
		if slices.ContainsFunc(names, func(n string) bool { return sameKey(n, key, fold) }) {
			env = append(env, kv)
		}
	}
	return env
}

// merge puts additions over env, one entry a key.
func merge(env, additions []string, fold bool, lookup func(string) (string, bool)) ([]string, error) {
	env = slices.Clone(env)
	for _, kv := range additions {
		key, value, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("environment entry %q is not KEY=value", key)
		}
		value, err := expand(value, lookup)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", key, err)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("environment variable %s has a NUL byte in its value", key)
		}
		env = slices.DeleteFunc(env, func(have string) bool {
			k, _, _ := strings.Cut(have, "=")
			return sameKey(k, key, fold)
		})
		env = append(env, key+"="+value)
	}
	return env, nil
}

// expand replaces ${NAME} by the value of that variable in this process, as
// the configuration files of MCP clients write it. $${ stands for a plain ${.
func expand(s string, lookup func(string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(s, "${")
		if !ok {
			return out.String() + s, nil
		}
		if plain, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(plain + "${")
			s = after
			continue
		}
		name, rest, ok := strings.Cut(after, "}")
		if !ok {
			return "", errors.New("the value has ${ without }; write $${ for a plain ${")
		}
		value, ok := lookup(name)
		if !ok {
			return "", fmt.Errorf("the value names ${%s}, which is not set; set it, or write $${ for a plain ${", name)
		}
		out.WriteString(before + value)
		s = rest
	}
}

// sameKey compares names as the operating system does.
func sameKey(a, b string, fold bool) bool {
	if fold {
		return strings.EqualFold(a, b)
	}
	return a == b
}
