package listing

import (
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Devices writes the GPUs of this machine, the driver's report, and the path of the program for CUDA ranks. If there
// is no such program, it writes the reason.
func Devices(p *screen.Page, list *devices.List, program string) error {
	var rows [][]string
	for _, d := range list.Devices {
		rows = append(rows, []string{d.ID(), quote.Text(d.Name), strconv.FormatInt(d.MemoryMiB, 10), d.Capability,
			string(d.Mode), peers(list, d), d.UUID})
	}
	if err := p.Grid([]screen.Column{
		screen.Left("device"), screen.Left("name"), screen.Right("memory MiB"), screen.Left("compute capability"),
		screen.Left("mode"),
		screen.Left("reaches the memory of").Yields(1), screen.Left("UUID").Yields(2),
	}, rows, false); err != nil {
		return err
	}
	p.Line(0, "")
	field(p, "driver", "CUDA "+devices.Version(list.Driver))
	field(p, "MPS",
		map[bool]string{true: "used", false: "not used"}[list.MPS.Used]+": "+quote.Message(list.MPS.Known))
	if list.Visible != nil {
		field(p, "visible",
			"CUDA_VISIBLE_DEVICES is "+quote.String(*list.Visible)+
				": the driver hides all other devices, and numbers these from 0")
	}
	field(p, "program", quote.Message(program))
	if err := list.Check(len(list.Devices)); err != nil {
		field(p, "unfit", quote.Message(err.Error()))
	}
	return nil
}

// peers names the devices whose memory d can access directly.
func peers(list *devices.List, d devices.Device) string {
	var ids []string
	for _, p := range d.Peers {
		ids = append(ids, list.Devices[p].ID())
	}
	if ids == nil {
		return "its own"
	}
	return strings.Join(ids, ", ")
}
