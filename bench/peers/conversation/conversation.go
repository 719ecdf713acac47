// Package conversation is what the programs of all peers have in common: they are told objects, asked to translate,
// and asked what came of it, one JSON document a line.
package conversation

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"syscall"
	"time"
)

const longestLine = 16 << 20

// Resource is what an Envoy would be given; its version is equal as long as its bytes are.
type Resource struct {
	Group, TypeURL, Name string
	Body                 []byte
}

// Peer is a control plane without its connections.
type Peer interface {
	// Put takes an object as the API server has it, and keeps it until the next Prepare.
	Put(kind string, object []byte) error
	// Delete takes an object that the API server has no more; it is gone with the next Prepare.
	Delete(kind string, object []byte) error
	// Prepare does what comes before a translation and is not measured.
	Prepare() error
	// Translate makes bytes of all that was put, or of what differs.
	Translate() error
	// Resources gives all that is served now.
	Resources(give func(Resource) error) error
}

type line struct {
	Do     string
	Object json.RawMessage
	To     string
}

type kind struct {
	Kind string
}

type took struct {
	Processor float64 `json:"processor"`
	Wall      float64 `json:"wall"`
}

type dumped struct {
	Resources int `json:"resources"`
	Bytes     int `json:"bytes"`
}

// Hold answers on the standard output what is asked on the standard input, until that ends; whoever begins knows
// of no object yet.
func Hold(begin func() Peer) {
	if err := hold(begin); err != nil {
		log.Fatal(err)
	}
}

func hold(begin func() Peer) error {
	peer := begin()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), longestLine)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked line
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		if asked.Do == "begin" {
			peer = begin()
			continue
		}
		answer, err := answer(peer, asked)
		if err != nil {
			return fmt.Errorf("%s: %w", asked.Do, err)
		}
		if answer == nil {
			continue
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answer(peer Peer, asked line) (any, error) {
	switch asked.Do {
	case "put":
		return nil, tell(peer.Put, asked.Object)
	case "delete":
		return nil, tell(peer.Delete, asked.Object)
	case "translate":
		return clocked(peer)
	case "dump":
		return dump(peer, asked.To)
	}
	return nil, fmt.Errorf("nobody knows %q", asked.Do)
}

func tell(take func(string, []byte) error, object []byte) error {
	var named kind
	if err := json.Unmarshal(object, &named); err != nil {
		return err
	}
	return take(named.Kind, object)
}

func clocked(peer Peer) (took, error) {
	if err := peer.Prepare(); err != nil {
		return took{}, err
	}
	used, began := processor(), time.Now()
	err := peer.Translate()
	return took{processor() - used, time.Since(began).Seconds()}, err
}

// processor is what all threads used so far, those of the garbage collector too.
func processor() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func seconds(spent syscall.Timeval) float64 {
	return float64(spent.Sec) + float64(spent.Usec)/1e6
}

func dump(peer Peer, to string) (dumped, error) {
	file, err := os.Create(to)
	if err != nil {
		return dumped{}, err
	}
	defer file.Close()
	written, found := bufio.NewWriter(file), dumped{}
	err = peer.Resources(func(each Resource) error {
		found.Resources++
		found.Bytes += len(each.Body)
		body := base64.StdEncoding.EncodeToString(each.Body)
		_, err := fmt.Fprintf(written, "%s\t%s\t%s\t%s\n", each.Group, each.TypeURL, each.Name, body)
		return err
	})
	if err != nil {
		return dumped{}, err
	}
	return found, written.Flush()
}
