package stdio

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

var (
	kernel32      = syscall.NewLazyDLL("kernel32.dll")
	createJob     = kernel32.NewProc("CreateJobObjectW")
	setJob        = kernel32.NewProc("SetInformationJobObject")
	queryJob      = kernel32.NewProc("QueryInformationJobObject")
	assignJob     = kernel32.NewProc("AssignProcessToJobObject")
	terminateJob  = kernel32.NewProc("TerminateJobObject")
	resumeProcess = syscall.NewLazyDLL("ntdll.dll").NewProc("NtResumeProcess")
)

const (
	createSuspended       = 0x00000004
	createNewProcessGroup = 0x00000200

	jobBasicAccounting = 1
	jobExtendedLimit   = 9
	jobKillOnClose     = 0x00002000
)

// prepare starts the child suspended, so that it is in its job before it can
// start anything, and in a console group of its own, so that Ctrl-C does not
// reach it.
func prepare(cmd *exec.Cmd) error {
	if err := checkBatch(cmd.Path, cmd.Args[1:]); err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: createSuspended | createNewProcessGroup,
		HideWindow:    true,
	}
	return nil
}

// jobBasicLimits and jobLimits are JOBOBJECT_BASIC_LIMIT_INFORMATION and
// JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type jobBasicLimits struct {
	processTime, jobTime   int64
	flags                  uint32
	minWorking, maxWorking uintptr
	activeProcesses        uint32
	affinity               uintptr
	priority, scheduling   uint32
}

type jobLimits struct {
	basic                                     jobBasicLimits
	io                                        [6]uint64
	processMemory, jobMemory, peakP, peakJobs uintptr
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	userTime, kernelTime, periodUser, periodKernel int64
	faults, total, active, terminated              uint32
}

// group is a job object: everything that the process starts is in it, and it
// ends with us.
type group struct {
	job     syscall.Handle // 0: the system refused; the process stands alone
	process *os.Process
}

func newGroup(p *os.Process) group {
	g := group{process: p}
	err := p.WithHandle(func(h uintptr) {
		g.job = newJob(h)
		resumeProcess.Call(h)
	})
	if err != nil { // without its handle it can only be ended
		p.Kill()
	}
	return g
}

func newJob(process uintptr) syscall.Handle {
	job, _, _ := createJob.Call(0, 0)
	if job == 0 {
		return 0
	}
	limits := jobLimits{basic: jobBasicLimits{flags: jobKillOnClose}}
	setJob.Call(job, jobExtendedLimit, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok, _, _ := assignJob.Call(job, process); ok == 0 {
		syscall.CloseHandle(syscall.Handle(job))
		return 0
	}
	return syscall.Handle(job)
}

// terminate is kill: Windows has nothing between closing stdin and the end.
func (g group) terminate() { g.kill() }

func (g group) kill() {
	if g.job == 0 {
		g.process.Kill()
		return
	}
	terminateJob.Call(uintptr(g.job), 1)
}

func (g group) empty() bool {
	if g.job == 0 {
		return true
	}
	var a jobAccounting
	ok, _, _ := queryJob.Call(uintptr(g.job), jobBasicAccounting, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	return ok == 0 || a.active == 0
}

func (g group) close() {
	if g.job != 0 {
		syscall.CloseHandle(g.job)
	}
}

const errNoData = syscall.Errno(232) // ERROR_NO_DATA: the pipe is being closed

func brokenPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errNoData) || errors.Is(err, os.ErrClosed)
}
