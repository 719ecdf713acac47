// Package conformance runs the official conformance suite of Gateway API. All flags are the suite's own.
package conformance

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func TestConformance(t *testing.T) {
	conformance.RunConformance(t)
}
