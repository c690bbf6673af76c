package stdio

import "syscall"

// dup2 is Dup3 here: some architectures of Linux have no dup2.
func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }
