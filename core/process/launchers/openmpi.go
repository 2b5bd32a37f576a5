package launchers

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// openMPI recognises a process that mpirun started. Open MPI 4 and 5 set the same variables. PRRTE, the runtime of
// version 5, also starts processes with prterun. Such processes get only their rank.
func openMPI(r *reader) (*Place, string, error) {
	const size, rank, local = "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"
	_, sized := r.text(size)
	_, ranked := r.text(rank)
	runtime, _ := r.text("PRTE_LAUNCHED")
	switch {
	case !sized && !ranked && runtime != "1":
		if _, set := r.text(local); set {
			_, err := r.needed(size, local)
			return nil, "", err
		}
		return nil, size + " is not set", nil
	case !sized && !ranked:
		n, err := r.needed("PMIX_RANK", "PRTE_LAUNCHED")
		return &Place{Rank: max(n, 0), Local: -1, Host: r.Host, From: Sources{Rank: "PMIX_RANK"}},
			"a process of prterun, which does not report the number of tasks", err
	}
	p, err := r.place(size, rank, local)
	if err != nil {
		return nil, "", err
	}
	if other, err := r.number("PMIX_RANK"); err != nil || other >= 0 && other != p.Rank {
		if err == nil {
			err = fmt.Errorf("%s is %d but PMIX_RANK is %d: they are one rank", rank, p.Rank, other)
		}
		return nil, "", err
	}
	r.named(p, "PMIX_HOSTNAME")
	r.crowd(p, "OMPI_COMM_WORLD_LOCAL_SIZE")
	if p.Agents, err = r.daemon(); err != nil {
		return nil, "", err
	}
	why := "a process of mpirun"
	if runtime == "1" {
		why += " (PRRTE)"
	}
	if p.Agents != nil {
		why += ", started by one of its daemons"
	}
	return p, why, nil
}

// pmixServers are the variables that contain the launcher's address. Each version of PMIx has its own.
var pmixServers = []string{"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
	"PMIX_SERVER_URI2"}

// daemon returns non-nil Agents if a daemon of mpirun started this process. Daemons do so on every host except mpirun's
// own. The name of the server shows this: JOB.0 is mpirun itself. Within Slurm, srun starts these daemons.
func (r *reader) daemon() (*Agents, error) {
	name, uri := r.first(pmixServers...)
	if name == "" {
		return nil, nil
	}
	server, _, found := strings.Cut(uri, ";")
	dot := strings.LastIndexByte(server, '.')
	if !found || dot < 0 || server[dot+1:] == "" || strings.Trim(server[dot+1:], "0123456789") != "" {
		return nil, fmt.Errorf(
			"%s is %s but must begin with a job, the number of a server and a semicolon, as in 17.0;", name,
			quote.String(uri))
	}
	if server[dot+1:] == "0" {
		return nil, nil
	}
	return &Agents{}, nil
}
