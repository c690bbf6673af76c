package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-json-experiment/json"
)

func startDev() string { return "start one in another shell: " + invocation() + " dev" }

// devState is what a running `tenon dev` leaves for `@dev` to find.
type devState struct {
	Endpoint string `json:"endpoint"`
	PID      int    `json:"pid"`
}

// stateFile returns where that is: the directory for the state of programs of
// this user, which outlives the program but is no configuration.
func stateFile() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tenon", "dev.json"), nil
	}
	if dir := os.Getenv("LOCALAPPDATA"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "tenon", "dev.json"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for state: set HOME or XDG_STATE_HOME: %w", err)
	}
	return filepath.Join(home, ".local", "state", "tenon", "dev.json"), nil
}

// save writes the file whole or not at all, for this user only, and returns a
// function that removes it, unless another dev has taken it over since.
func (s devState) save() (remove func(), err error) {
	path, err := stateFile()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "dev-*") // mode 0600
	if err != nil {
		return nil, err
	}
	_, err = tmp.Write(append(b, '\n'))
	if err := errors.Join(err, tmp.Close()); err != nil {
		os.Remove(tmp.Name())
		return nil, err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		os.Remove(tmp.Name())
		return nil, err
	}
	return func() {
		if now, err := loadDevState(); err == nil && now.PID == s.PID {
			os.Remove(path)
		}
	}, nil
}

func loadDevState() (devState, error) {
	var s devState
	path, err := stateFile()
	if err != nil {
		return s, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, errors.New("no `tenon dev` is running; " + startDev())
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s is damaged; remove it: %w", path, err)
	}
	return s, nil
}
