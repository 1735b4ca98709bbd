//go:build linux

package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Network is hosts that reach one another through this process alone, which delays and loses packets. Each host is a network namespace
// whose device (TUN) hands its packets to this process. The kernel's netem can delay and lose packets too, but many kernels lack it.
type Network struct {
	// Seen is told each packet when it leaves a host, before it is delayed or lost. It may be nil. It is called by several goroutines.
	Seen func(at time.Time, from *Host, packet Packet)

	mu    sync.RWMutex
	hosts []*Host
	work  sync.WaitGroup
	over  chan struct{}
}

// Link is how packets go between a host and the others.
type Link struct {
	Out, In time.Duration // how long a packet takes from the host, and to it
	Loss    float64       // the share of packets that is lost, in each direction
}

// Host is one host of a network.
type Host struct {
	Address netip.Addr

	network *Network
	link    Link
	device  *os.File
	cut     atomic.Bool
	calls   chan func() // run by the thread that is in the namespace
	random  *rand.Rand  // decides which packets are lost; only the goroutine that reads the device uses it
}

// NewNetwork makes a network without hosts. Close must be called.
func NewNetwork() *Network { return &Network{over: make(chan struct{})} }

// subnet has the addresses of all hosts: the n-th host has the n-th address.
var subnet = netip.MustParsePrefix("10.77.0.0/24")

// Add makes a host. It fails where the machine permits no network namespace or has no TUN devices.
func (n *Network) Add(link Link) (*Host, error) {
	number := len(n.hosts) + 1
	address := subnet.Addr().As4()
	address[3] = byte(number)
	h := &Host{Address: netip.AddrFrom4(address), network: n, link: link, calls: make(chan func()), random: rand.New(rand.NewPCG(22, uint64(number)))}
	opened := make(chan error)
	go h.enter(opened)
	if err := <-opened; err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.hosts = append(n.hosts, h)
	n.mu.Unlock()
	n.work.Go(h.forward)
	return h, nil
}

// Close ends the network. The programs on its hosts must have ended.
func (n *Network) Close() {
	close(n.over)
	for _, h := range n.hosts {
		close(h.calls)
		_ = h.device.Close() // forward ends
	}
	n.work.Wait()
}

// Start starts a program on the host.
func (h *Host) Start(cmd *exec.Cmd) error {
	err := make(chan error)
	h.calls <- func() { err <- cmd.Start() }
	return <-err
}

// Cut interrupts the network of the host: no packet leaves it or reaches it until Cut(false).
func (h *Host) Cut(off bool) { h.cut.Store(off) }

// enter moves a thread into a namespace of its own, opens the device and runs the calls of the host. The thread is never used for anything
// else: it ends with this function.
func (h *Host) enter(opened chan<- error) {
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNET)
	if err != nil {
		err = fmt.Errorf("make a network namespace: %w", err)
	} else if err = raiseLoopback(); err == nil {
		h.device, err = openDevice(h.Address)
	}
	opened <- err
	if err != nil {
		return
	}
	for call := range h.calls {
		call()
	}
}

// openDevice makes a TUN device with an address in the namespace of this thread.
func openDevice(address netip.Addr) (*os.File, error) {
	const name = "net0"
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	fail := func(doing string, err error) (*os.File, error) {
		return nil, errors.Join(fmt.Errorf("%s: %w", doing, err), unix.Close(fd))
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		return fail("name a TUN device", err)
	}
	req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return fail("make a TUN device", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail("open a socket", err)
	}
	defer unix.Close(socket)
	mask := [4]byte{}
	binary.BigEndian.PutUint32(mask[:], ^uint32(0)<<(32-subnet.Bits()))
	own := address.As4()
	for _, set := range []struct {
		request uint
		to      func(*unix.Ifreq) error
	}{
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(own[:]) }},
		{unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask[:]) }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }},
	} {
		r, err := unix.NewIfreq(name)
		if err == nil {
			err = set.to(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(socket, set.request, r)
		}
		if err != nil {
			return fail("set the address of a TUN device", err)
		}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// onWay is a packet on its way to a host.
type onWay struct {
	due    time.Time
	packet Packet
}

// mostOnWay limits the packets on their way from one host to another; more are lost, as in a router.
const mostOnWay = 4096

// forward sends the packets of the host to the hosts of their addresses. Packets to one host keep their order.
func (h *Host) forward() {
	ways := map[*Host]chan onWay{}
	defer func() {
		for _, way := range ways {
			close(way)
		}
	}()
	const mtu = 1 << 16
	buf := make([]byte, mtu)
	for {
		size, err := h.device.Read(buf)
		if err != nil {
			return // the network is closed
		}
		packet, ok := parse(buf[:size])
		if !ok {
			continue
		}
		now := time.Now()
		if h.network.Seen != nil {
			h.network.Seen(now, h, packet)
		}
		to := h.network.host(packet.To())
		if to == nil || h.cut.Load() || h.random.Float64() < h.link.Loss || h.random.Float64() < to.link.Loss {
			continue
		}
		if ways[to] == nil {
			way := make(chan onWay, mostOnWay)
			ways[to] = way
			h.network.work.Go(func() { to.deliver(way) })
		}
		select {
		case ways[to] <- onWay{now.Add(h.link.Out + to.link.In), append(Packet(nil), packet...)}:
		default:
		}
	}
}

// deliver hands packets to the host when they are due.
func (h *Host) deliver(way <-chan onWay) {
	for p := range way {
		select {
		case <-time.After(time.Until(p.due)):
		case <-h.network.over:
			return
		}
		if !h.cut.Load() {
			_, _ = h.device.Write(p.packet) // a packet that the device does not take is lost
		}
	}
}

func (n *Network) host(address netip.Addr) *Host {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, h := range n.hosts {
		if h.Address == address {
			return h
		}
	}
	return nil
}

// Packet is an IPv4 packet.
type Packet []byte

// parse tells whether bytes are an IPv4 packet.
func parse(b []byte) (Packet, bool) {
	const shortest, version = 20, 4
	return b, len(b) >= shortest && b[0]>>4 == version && len(b) >= int(b[0]&15)*4
}

// To is the address of the receiver.
func (p Packet) To() netip.Addr { return netip.AddrFrom4([4]byte(p[16:20])) }

// TCP is the segment in the packet: its ports, its place in the stream and its data. ok is false if there is none.
func (p Packet) TCP() (segment Segment, ok bool) {
	const protocol, shortest = 6, 20
	b := p[int(p[0]&15)*4:]
	if p[9] != protocol || len(b) < shortest || len(b) < int(b[12]>>4)*4 {
		return segment, false
	}
	return Segment{
		From: binary.BigEndian.Uint16(b), To: binary.BigEndian.Uint16(b[2:]), Sequence: binary.BigEndian.Uint32(b[4:]), Data: b[int(b[12]>>4)*4:],
	}, true
}

// Segment is a TCP segment. A segment that is sent again has the same Sequence.
type Segment struct {
	From, To uint16
	Sequence uint32
	Data     []byte
}
