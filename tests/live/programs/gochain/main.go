// SPDX-License-Identifier: BSD-2-Clause
// Go: goroutine stacks, deep enough to have been moved.
package main

import (
	"os"
	"runtime"
	"syscall"
)

//go:noinline
func stay(n int) int {
	var buf [1]byte
	runtime.LockOSThread()
	os.Stdout.WriteString("ready\n")
	var fds [2]int
	syscall.Pipe(fds[:])
	syscall.Read(fds[0], buf[:])
	return n
}

//go:noinline
func dive(n int) int {
	var room [200]byte
	room[n%200] = 1
	if n == 0 {
		return stay(n)
	}
	return dive(n-1) + int(room[n%200])
}

type visitor interface{ visit(n int) int }

type square struct{ size int }

//go:noinline
func (s *square) visit(n int) int {
	return dive(n) + s.size
}

func main() {
	var v visitor = &square{len(os.Args)}
	os.Exit(v.visit(50))
}
