// Package main is CoreDNS with the plugins that the DNS of a cluster needs: the whole set takes many times longer
// to build.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/reload"
)

func main() {
	// The order in which a query passes them.
	dnsserver.Directives = []string{"bind", "reload", "errors", "cache", "kubernetes"}
	coremain.Run()
}
