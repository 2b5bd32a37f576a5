package launchers

const hydra = "PMI"

// fdVariable is the variable with the file descriptor of the connection to a launcher with PMI-1.
const fdVariable = "PMI_FD"

// pmi recognises a process whose launcher speaks PMI. Such a launcher is mpiexec of MPICH and its relatives, called
// Hydra, or srun --mpi=pmi2, which also sets Slurm's variables.
func pmi(r *reader) (*Place, string, error) {
	const size, rank = "PMI_SIZE", "PMI_RANK"
	_, sized := r.text(size)
	_, ranked := r.text(rank)
	_, connected := r.text(fdVariable)
	if !sized && !ranked {
		if connected {
			_, err := r.needed(rank, fdVariable)
			return nil, "", err
		}
		return nil, size + " is not set", nil
	}
	p, err := r.place(size, rank, "MPI_LOCALRANKID")
	if err != nil {
		return nil, "", err
	}
	why := "a process of a launcher that speaks PMI"
	if _, of := r.text("MPI_LOCALNRANKS"); of {
		why = "a process of Hydra's mpiexec"
		// Hydra starts tasks through proxies. A proxy that mpiexec forked has a connection to mpiexec. All other
		// proxies were started by srun or ssh.
		if _, forked := r.text("HYDI_CONTROL_FD"); !forked {
			p.Agents = &Agents{}
			why += ", started by one of its proxies"
		}
	}
	if !connected {
		why += ", which has left no connection"
	}
	return p, why, nil
}
