// Package main is etcd. The main package of its own repository takes its parts from folders beside it, which nobody
// else can require; the server alone can be.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
