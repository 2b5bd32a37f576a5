package pmi

import (
	"slices"
	"testing"
)

// These are recorded answers of real launchers: Slurm 22.05 (srun --mpi=pmi2) and Hydra of MPICH 4.0.2.
func TestParseRecorded(t *testing.T) {
	for _, line := range []string{
		"cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n",
		"cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n",
		"cmd=appnum rc=0 appnum=-1\n",
		"cmd=my_kvsname rc=0 kvsname=13.0\n",
		"cmd=get_result rc=1\n",
		"cmd=put_result rc=0\n",
		"cmd=barrier_out rc=0\n",
		"cmd=get_result rc=0 value=x0\n",
		"cmd=finalize_ack rc=0\n",
		"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
		"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
		"cmd=appnum appnum=0\n",
		"cmd=my_kvsname kvsname=kvs_6994_0_1081867661_vm\n",
		"cmd=get_result rc=-1 msg=key_nothing_not_found value=unknown\n",
		"cmd=put_result rc=0 msg=success\n",
		"cmd=barrier_out\n",
		"cmd=get_result rc=0 msg=success value=x0\n",
		"cmd=finalize_ack\n",
	} {
		t.Run(line, func(t *testing.T) {
			if m, err := parse(line); err != nil || m.format() != line {
				t.Errorf("%q is read as %q, %v", line, m.format(), err)
			}
		})
	}
}

// Formatting a parsed message gives the same line.
func FuzzParse(f *testing.F) {
	f.Add("cmd=get_result rc=0 value=x=y\n")
	f.Fuzz(func(t *testing.T, line string) {
		m, err := parse(line)
		if err != nil {
			return
		}
		if m.format() != line {
			t.Errorf("%q is written as %q", line, m.format())
		}
		again, err := parse(m.format())
		if err != nil || again.command != m.command || !slices.Equal(again.words, m.words) {
			t.Errorf("%q is read as %v and then as %v, %v", line, m, again, err)
		}
	})
}
