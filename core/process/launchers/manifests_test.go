package launchers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/psbench/psbench/core/plan/config/option"
)

// manifest contains only the fields of Kubernetes that the examples in deploy use.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		jobSpec                  `yaml:",inline"`
		ClusterIP                string `yaml:"clusterIP"`
		PublishNotReadyAddresses bool   `yaml:"publishNotReadyAddresses"`
		Selector                 map[string]string
		Network                  struct {
			EnableDNSHostnames       bool `yaml:"enableDNSHostnames"`
			PublishNotReadyAddresses bool `yaml:"publishNotReadyAddresses"`
		}
		FailurePolicy struct {
			MaxRestarts int `yaml:"maxRestarts"`
		} `yaml:"failurePolicy"`
		ReplicatedJobs []struct {
			Name     string
			Replicas int
			Template struct{ Spec jobSpec }
		} `yaml:"replicatedJobs"`
	}
}

type jobSpec struct {
	CompletionMode string `yaml:"completionMode"`
	Completions    int
	Parallelism    int
	BackoffLimit   int `yaml:"backoffLimit"`
	Template       struct {
		Spec struct {
			Subdomain     string
			RestartPolicy string `yaml:"restartPolicy"`
			Affinity      struct {
				PodAntiAffinity struct {
					Required []struct {
						TopologyKey   string `yaml:"topologyKey"`
						LabelSelector struct {
							MatchLabels map[string]string `yaml:"matchLabels"`
						} `yaml:"labelSelector"`
					} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
				} `yaml:"podAntiAffinity"`
			}
			Containers []struct {
				Name, Image string
				Command     []string
				Env         []podVariable
			}
		}
	}
}

// podVariable is an environment variable of a pod.
type podVariable struct {
	Name, Value string
	ValueFrom   struct {
		SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
	} `yaml:"valueFrom"`
}

// manifests returns the documents of a file. The test fails if a document has an unknown field.
func manifests(t *testing.T, path string) map[string]manifest {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	decoder := yaml.NewDecoder(f)
	decoder.KnownFields(true)
	byKind := map[string]manifest{}
	for {
		var m manifest
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return byKind
		case err != nil:
			t.Fatalf("%s: %v", path, err)
		}
		if version := map[string]string{"Job": "batch/v1", "Service": "v1",
			"JobSet": "jobset.x-k8s.io/v1alpha2"}[m.Kind]; m.APIVersion != version {
			t.Errorf("%s: %s is of %q, want %q", path, m.Kind, m.APIVersion, version)
		}
		byKind[m.Kind] = m
	}
}

// pods checks all pods of a Job. Each pod must know its rank, the number of pods and the address of the first pod. Each
// pod must also have a secret and run on its own node. host returns the name of a pod. label is a label of all pods.
func (j jobSpec) pods(t *testing.T, subdomain string, label [2]string, host func(index int) string) {
	t.Helper()
	if j.CompletionMode != "Indexed" || j.Completions < 2 || j.Parallelism != j.Completions ||
		len(j.Template.Spec.Containers) != 1 {
		t.Fatalf("its pods do not all run at once, each with an index: %+v", j)
	}
	spec := j.Template.Spec
	if apart := spec.Affinity.PodAntiAffinity.Required; len(apart) != 1 ||
		apart[0].TopologyKey != "kubernetes.io/hostname" || apart[0].LabelSelector.MatchLabels[label[0]] != label[1] {
		t.Errorf("two pods may share a node: %+v", apart)
	}
	if command := spec.Containers[0].Command; len(command) < 2 || command[0] != "psbench" || command[1] != "run" {
		t.Errorf("it runs %q", command)
	}
	if !slices.ContainsFunc(spec.Containers[0].Env, func(v podVariable) bool {
		return v.Name == option.SecretVariable && v.Value == "" && v.ValueFrom.SecretKeyRef.Name != "" &&
			v.ValueFrom.SecretKeyRef.Key != ""
	}) {
		t.Errorf("its pods have no secret: %+v", spec.Containers[0].Env)
	}
	for index := range j.Completions {
		environ := []string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "JOB_COMPLETION_INDEX=" + strconv.Itoa(index)}
		for _, v := range j.Template.Spec.Containers[0].Env {
			environ = append(environ, v.Name+"="+v.Value)
		}
		name := host(index)
		line := fmt.Sprintf("10.1.0.%d %s.%s.default.svc.cluster.local %s\n", index+1, name, subdomain, name)
		f := Look(System{Environ: environ, Host: name, ReadFile: func(path string) ([]byte, error) {
			if path != addresses {
				return nil, fs.ErrNotExist
			}
			return []byte(line), nil
		}})
		address, _ := f.Core(environ)
		if core, _, err := net.SplitHostPort(address); err != nil || core != host(0)+"."+subdomain {
			t.Errorf("pod %d seeks the first one at %q: %v", index, core, err)
		}
		if p := f.Place; f.Err != nil || f.Launcher != kubernetes || p.Rank != index || p.Size != j.Completions ||
			p.Host != name {
			t.Errorf("pod %d: by %s it is rank %d of %s on %s: %v", index, f.Launcher, p.Rank, p.Tasks(), p.Host, f.Err)
		}
	}
}

// In the example manifests, each pod knows its rank, the number of pods and how the pods find each other.
func TestExamplesOfManifests(t *testing.T) {
	t.Run("Job", func(t *testing.T) {
		docs := manifests(t, "../../../deploy/job.yaml")
		job, service := docs["Job"], docs["Service"]
		subdomain := job.Spec.Template.Spec.Subdomain
		if service.Metadata.Name != subdomain || service.Spec.ClusterIP != "None" ||
			service.Spec.Selector["job-name"] != job.Metadata.Name {
			t.Errorf("the Service gives the pods no names: %+v", service)
		}
		job.Spec.pods(t, subdomain, [2]string{"job-name", job.Metadata.Name}, func(index int) string {
			return fmt.Sprintf("%s-%d",
				job.Metadata.Name, index)
		})
	})
	t.Run("JobSet", func(t *testing.T) {
		set := manifests(t, "../../../deploy/jobset.yaml")["JobSet"]
		if len(set.Spec.ReplicatedJobs) != 1 || set.Spec.ReplicatedJobs[0].Replicas != 1 ||
			!set.Spec.Network.EnableDNSHostnames {
			t.Fatalf("it is not one Job whose pods have names: %+v", set)
		}
		jobs := set.Spec.ReplicatedJobs[0]
		jobs.Template.Spec.pods(t, set.Metadata.Name, [2]string{"jobset.sigs.k8s.io/jobset-name", set.Metadata.Name},
			func(index int) string {
				return fmt.Sprintf("%s-%s-0-%d", set.Metadata.Name, jobs.Name, index)
			})
	})
}
