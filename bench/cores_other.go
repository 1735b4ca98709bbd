//go:build !linux

package main

func bindTwoCores() (restore func()) { return func() {} }
