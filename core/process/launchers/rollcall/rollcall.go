// Package rollcall lets the tasks of a job exchange descriptions of themselves, so that no task relies on its launcher
// alone. All tasks write to the launcher's key-value store and wait in one barrier. Then the first task reads all
// descriptions.
package rollcall

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/internal/quote"
)

// Task is a task's description of itself.
type Task struct {
	Rank    int    `json:"rank"`
	Size    int    `json:"size"`
	Local   int    `json:"local_rank"` // -1 if the launcher does not give it
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Binary  string `json:"binary_sha256"`
	Failure string `json:"failure,omitempty"` // why the task cannot read its own binary
	Address string `json:"address,omitempty"` // IP and port on which the task's agent listens
}

// name returns a task's rank and host for messages.
func (t Task) name() string {
	return fmt.Sprintf("rank %d on %s", t.Rank, quote.Word(t.Host))
}

// Call publishes this task and waits for all other tasks. Rank 0 gets all tasks, the other ranks get none. If the tasks
// do not fit together, only rank 0 gets an error. Duplicate ranks are an exception: a task that finds another task
// under its own rank also gets an error.
func Call(ctx context.Context, c *pmi.Client, me Task) ([]Task, error) {
	text, err := Encode(me)
	if err != nil {
		return nil, err
	}
	if err := c.Put(ctx, key(me.Rank), text); err != nil {
		return nil, err
	}
	if err := meet(ctx, c, me); err != nil {
		return nil, err
	}
	if mine, err := read(ctx, c, me.Rank); err != nil || mine != me {
		if err == nil {
			err = Twice(me, mine)
		}
		return nil, err
	}
	if me.Rank != 0 {
		return nil, nil
	}
	tasks := []Task{me}
	var missing []string
	for rank := 1; rank < me.Size; rank++ {
		task, err := read(ctx, c, rank)
		switch {
		case errors.Is(err, pmi.ErrNoKey):
			missing = append(missing, strconv.Itoa(rank))
		case err != nil:
			return nil, err
		default:
			tasks = append(tasks, task)
		}
	}
	return tasks, Check(tasks, missing)
}

// meet waits for all tasks. PMI-1 does not say which tasks have reached a barrier. After a timeout, each task therefore
// reports that it has reached the barrier itself.
func meet(ctx context.Context, c *pmi.Client, me Task) error {
	err := c.Barrier(ctx)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("not all of %d tasks have answered in time: %s has, and each task that has prints this error; a task that prints nothing is missing (%w)",
			me.Size, me.name(), err)
	}
	return err
}

// Twice returns the error for two tasks with the same rank.
func Twice(a, b Task) error {
	return fmt.Errorf("two tasks are rank %d: process %d on %s and process %d on %s", a.Rank, a.PID, quote.Word(a.Host),
		b.PID, quote.Word(b.Host))
}

// secretBytes is the length of the tasks' common secret in bytes.
const secretBytes = 32

// Only rank 0 writes these keys.
const (
	secretKey  = "psbench-secret"
	verdictKey = "psbench-verdict"
)

// Secret gives all tasks of a job the same random secret, which rank 0 creates. The launcher's store is private to the
// job, so no one outside the job learns the secret.
func Secret(ctx context.Context, c *pmi.Client, me Task) ([]byte, error) {
	secret := make([]byte, secretBytes)
	if me.Rank == 0 {
		_, _ = rand.Read(secret) // never fails
		if err := c.Put(ctx, secretKey, base64.RawURLEncoding.EncodeToString(secret)); err != nil {
			return nil, err
		}
	}
	if err := meet(ctx, c, me); err != nil || me.Rank == 0 {
		return secret, err
	}
	text, err := c.Get(ctx, secretKey)
	if err == nil {
		if secret, err = base64.RawURLEncoding.Strict().DecodeString(text); err == nil && len(secret) != secretBytes {
			err = fmt.Errorf("it has %d bytes instead of %d", len(secret), secretBytes)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the secret of rank 0 cannot be read: %w", err)
	}
	return secret, nil
}

// Verdict sends the decision of rank 0 to all ranks: whether rank 0 has failed. The other ranks must not wait for rank
// 0 in another way before they know this.
func Verdict(ctx context.Context, c *pmi.Client, me Task, failed bool) (bool, error) {
	if me.Rank == 0 {
		if err := c.Put(ctx, verdictKey, strconv.FormatBool(failed)); err != nil {
			return failed, err
		}
	}
	if err := meet(ctx, c, me); err != nil || me.Rank == 0 {
		return failed, err
	}
	text, err := c.Get(ctx, verdictKey)
	return text != strconv.FormatBool(false), err
}

// key returns the key under which a rank stores its task.
func key(rank int) string { return "psbench-" + strconv.Itoa(rank) }

func read(ctx context.Context, c *pmi.Client, rank int) (Task, error) {
	text, err := c.Get(ctx, key(rank))
	if err != nil {
		return Task{}, err
	}
	task, err := Decode(text)
	if err == nil && task.Rank != rank {
		err = fmt.Errorf("it says that it is %s", task.name())
	}
	if err != nil {
		return task, fmt.Errorf("the message of rank %d cannot be read: %w", rank, err)
	}
	return task, nil
}

// Encode encodes a task as a single word, because launchers accept neither spaces nor quotes.
func Encode(t Task) (string, error) {
	data, err := json.Marshal(t)
	return base64.RawURLEncoding.EncodeToString(data), err
}

// Decode decodes a word from Encode. Decode accepts no unknown fields, because the task of another psbench may have
// other fields.
func Decode(text string) (t Task, err error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return t, errors.New("it is no base64: " + quote.String(text))
	}
	in := json.NewDecoder(strings.NewReader(string(data)))
	in.DisallowUnknownFields()
	if err := in.Decode(&t); err != nil {
		return t, fmt.Errorf("it is no task of this psbench: %s", quote.String(string(data)))
	}
	if in.More() || t.Rank < 0 || t.Local < -1 || t.Size < 1 {
		return t, fmt.Errorf("it is no task: %s", quote.String(string(data)))
	}
	return t, nil
}
