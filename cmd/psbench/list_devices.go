package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// devicesArgument of list asks for the GPUs, in the place of a kind.
const devicesArgument = "devices"

// listDevices shows the GPUs of this machine, what the driver says of itself and what would compute on
// them. Without any it is an error that says why.
func (a *app) listDevices(cmd *cobra.Command, reg *registry.Registry) error {
	list, err := a.cuda.Devices(cmd.Context(), 0)
	if err != nil {
		return fmt.Errorf("no CUDA devices: %w", err)
	}
	plugin, err := a.cuda.Plugin(cmd.Context(), reg, result.Build())
	program := "none: " + fmt.Sprint(err)
	if err == nil {
		program = strings.Join(plugin.Command, " ")
	}
	return a.print(func(p *screen.Page) error {
		var rows [][]string
		for _, d := range list.Devices {
			rows = append(rows, []string{d.ID(), quote.Text(d.Name), strconv.FormatInt(d.MemoryMiB, 10), d.Capability, string(d.Mode), peers(list, d), d.UUID})
		}
		if err := p.Grid([]screen.Column{
			screen.Left("device"), screen.Left("name"), screen.Right("memory MiB"), screen.Left("compute capability"), screen.Left("mode"),
			screen.Left("reaches the memory of").Yields(1), screen.Left("UUID").Yields(2),
		}, rows, false); err != nil {
			return err
		}
		p.Line(0, "")
		field(p, "driver", "CUDA "+devices.Version(list.Driver))
		field(p, "MPS", map[bool]string{true: "used", false: "not used"}[list.MPS.Used]+": "+quote.Message(list.MPS.Known))
		if list.Visible != nil {
			field(p, "visible", "CUDA_VISIBLE_DEVICES is "+quote.String(*list.Visible)+": the driver hides all other devices, and numbers these from 0")
		}
		field(p, "program", quote.Message(program))
		if err := list.Check(len(list.Devices)); err != nil {
			field(p, "unfit", quote.Message(err.Error()))
		}
		return nil
	})
}

// peers are the devices whose memory one reaches.
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
