package stdio

import "syscall"

const (
	setPipeSize = 1031 // F_SETPIPE_SZ of fcntl, which package syscall lacks
	// What any user may ask for (proc_sys_fs(5), pipe-max-size).
	widePipe = 1 << 20
)

// widen gives a pipe more room, if the system has it to give. Who writes what does
// not fit waits for the other side, and both for each other, many times over.
// All pipes of a user have some room together: it is left to those that need it.
func widen(fd uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, widePipe)
}
