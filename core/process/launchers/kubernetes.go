package launchers

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/quote"
)

const kubernetes = "Kubernetes Job"

// addresses is the file in which the kubelet writes the pod's own name.
const addresses = "/etc/hosts"

// job recognises a pod of an indexed Job. The Job may be part of a JobSet. Kubernetes gives a pod its index but not the
// number of pods. The manifest can give this number in PSBENCH_TASKS. Without this variable, the pods' names decide: if
// a service gives the pods names in a subdomain, the pods are tasks of one run. If no service does so, the index
// selects work from a list, and each pod runs alone.
func job(r *reader) (*Place, string, error) {
	const index = "JOB_COMPLETION_INDEX"
	rank, err := r.number(index)
	_, cluster := r.text("KUBERNETES_SERVICE_HOST")
	size, wrong := r.tasks()
	task, of := r.task(size)
	switch {
	case wrong != nil:
		return nil, "", wrong
	case of != nil:
		return nil, "", of
	case err != nil && cluster:
		return nil, "", err
	case size > 1 && (err != nil || rank < 0):
		return nil, "",
			fmt.Errorf("%s is %d but %s, which tells them apart, is not set: the Job must have completionMode Indexed",
				option.TasksVariable, size, index)
	case size > 1 && !cluster:
		return nil, "", fmt.Errorf("%s is %d but KUBERNETES_SERVICE_HOST is not set, as it is in a pod",
			option.TasksVariable, size)
	case err != nil || rank < 0:
		return nil, index + " is not set", nil
	case !cluster:
		return nil, index + " is set but KUBERNETES_SERVICE_HOST is not, as it is in a pod", nil
	}
	subdomain := r.subdomain()
	kind := "a Job"
	if subdomain != "" && strings.HasPrefix(r.Host, subdomain+"-") {
		kind = "a Job of the JobSet " + quote.Word(subdomain)
	}
	why := fmt.Sprintf("pod %d of %s", rank, kind)
	p := &Place{Rank: rank, Local: -1, Host: r.Host, From: Sources{Rank: index}}
	if task >= 0 {
		p.Rank, p.From.Rank = task, option.TaskVariable
	}
	_, core := r.text(option.CoreVariable)
	secret := r.variables[option.SecretVariable] != "" // not recorded, because recorded values are shown
	switch {
	case size == 1:
		p.Size, p.Rank, p.From = 1, 0, Sources{Size: option.TasksVariable}
	case size > 0:
		p.Size, p.From.Size = size, option.TasksVariable
	case subdomain == "" && !core && !secret:
		p.Size, p.Rank, p.From = 1, 0, Sources{}
		why += ", whose pods have no names for each other, so that each works alone"
	case subdomain == "" && !core:
		why += fmt.Sprintf(
			", which have a secret to meet by, %s; their number is unknown: the manifest can set it by %s",
			option.SecretVariable, option.TasksVariable)
	case subdomain == "":
		why += fmt.Sprintf(", which are to meet at %s; their number is unknown: the manifest can set it by %s",
			option.CoreVariable, option.TasksVariable)
	default:
		why += fmt.Sprintf(", whose pods have names in %s; their number is unknown: the manifest can set it by %s",
			quote.Word(subdomain), option.TasksVariable)
	}
	return p, why, nil
}

// tasks returns the number of pods that the manifest gives, or -1 if it gives none.
func (r *reader) tasks() (int, error) {
	size, err := r.number(option.TasksVariable)
	if err != nil || size == 0 {
		value, _ := r.text(option.TasksVariable)
		return -1, fmt.Errorf("%s is %s but must be a whole number from 1 to %d",
			option.TasksVariable, quote.String(value), most)
	}
	return size, nil
}

// task returns the number of this pod that the manifest gives, or -1 if it gives none.
func (r *reader) task(size int) (int, error) {
	task, err := r.number(option.TaskVariable)
	if err == nil && task >= 0 && size < 0 {
		err = fmt.Errorf("%s is %d but %s, which says how many there are, is not set",
			option.TaskVariable, task, option.TasksVariable)
	}
	return task, err
}

// subdomain returns the subdomain in which the pods of a Job find each other. subdomain reads the pod's own line in the
// hosts file: ADDRESS NAME.SUBDOMAIN.NAMESPACE.svc.DOMAIN NAME.
func (r *reader) subdomain() string {
	text, err := r.ReadFile(addresses)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		for _, name := range strings.Fields(line) {
			labels := strings.Split(name, ".")
			if len(labels) > 3 && labels[0] == r.Host && labels[3] == "svc" {
				r.note(addresses, name)
				return labels[1]
			}
		}
	}
	return ""
}
