// Package libnbd takes the place of the binding of that name, which the Go module proxy does not serve. CDI's importer
// calls it for VDDK sources alone. Here each call fails, so the importer needs no C library.
package libnbd

import "errors"

const (
	CMD_FLAG_REQ_ONE CmdFlag = 1 << 3
	STATE_HOLE       uint32  = 1
	STATE_ZERO       uint32  = 2
)

var errNoVDDK = errors.New("this importer was built without libnbd: it cannot read VDDK sources")

type (
	CmdFlag        uint32
	Libnbd         struct{}
	LibnbdError    struct{ Op, Errmsg string }
	ExtentCallback func(metacontext string, offset uint64, entries []uint32, err *int) int
	PreadOptargs   struct{}
)

type BlockStatusOptargs struct {
	FlagsSet bool
	Flags    CmdFlag
}

func (e *LibnbdError) Error() string { return e.Op + ": " + e.Errmsg }

func Create() (*Libnbd, error) { return nil, errNoVDDK }

func (*Libnbd) AddMetaContext(string) error { return errNoVDDK }

func (*Libnbd) ConnectUri(string) error { return errNoVDDK }

func (*Libnbd) GetSize() (uint64, error) { return 0, errNoVDDK }

func (*Libnbd) Pread([]byte, uint64, *PreadOptargs) error { return errNoVDDK }

func (*Libnbd) Close() *LibnbdError { return nil }

func (*Libnbd) BlockStatus(uint64, uint64, ExtentCallback, *BlockStatusOptargs) error { return errNoVDDK }
