package view

import (
	"slices"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/study/model"
)

// addComm adds the rows of psbench comm if the study has any. If there are several folders, the limits come from the
// first one.
func (m *maker) addComm() error {
	var folders []string
	for _, c := range m.cells {
		for _, r := range c.Runs {
			folders = append(folders, r.Folder)
		}
		for _, f := range c.Failed {
			folders = append(folders, f.Folder)
		}
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	if m.study.Folder != "" || len(folders) == 0 || !folder.IsComm(folders[0]) {
		return nil
	}
	m.doc.Comm = &Comm{}
	for i, path := range folders {
		r, err := micro.ReadFolder(path)
		if err != nil {
			return err
		}
		if i == 0 {
			m.doc.Comm.Limits = r.Limits
		}
		for _, row := range r.Rows {
			m.doc.Comm.Rows = append(m.doc.Comm.Rows, CommRow{
				slices.IndexFunc(m.cells, func(c *model.Cell) bool { return c.HasRow(path, row) }), row.Operation,
				row.Server, row.Hook, row.Transport, row.Trainers, row.Servers, string(row.Mode), string(row.Place),
				row.Sparse, row.DType.String(), row.Bytes, row.Rounds, row.P50US, row.P95US, row.MinUS, row.AlgbwGBps,
				row.BusbwGBps,
				row.Share, row.ShareOf,
				string(row.Verified), row.Mismatch,
			})
		}
	}
	return nil
}
