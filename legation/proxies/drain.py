"""What is run in a managed proxy before it ends: it tells clients to go, and waits for what is in flight.

Of the programs that an image of Envoy has, this needs bash and sleep. New requests come until all others
have heard that the pod has gone; so it waits that long in any case, and then for what is in flight, which it
counts as `envoy_admin.in_flight` does.
"""

from legation.addresses import HostPort

SCRIPT = r"""
admin=/dev/tcp/$1/$2 withdrawal=$3 patience=$4
ask() {
  exec 3<>"$admin" && printf '%s HTTP/1.1\r\nHost: envoy\r\nConnection: close\r\n\r\n' "$1" >&3 && cat <&3
}
is_busy() {
  ask 'GET /stats?type=Gauges&filter=downstream_(cx|rq)_active$' | {
    requests=0 plain=0
    while read -r name value; do
      value=${value%%[!0-9]*}
      case $name in
        http.admin.* | listener.admin.* | listener.*.worker_*) ;;
        http.*.downstream_rq_active:) ((requests += value)) ;;
        http.*.downstream_cx_active:) ((plain -= value)) ;;
        listener.*.downstream_cx_active:) ((plain += value)) ;;
      esac
    done
    ((requests > 0 || plain > 0))
  }
}
ask 'POST /drain_listeners?graceful&skip_exit'
while ((SECONDS < withdrawal)) || { ((SECONDS < patience)) && is_busy; }; do sleep 1; done
"""


def drain(admin: HostPort, withdrawal: int, patience: int) -> list[str]:
    """Give the command, by how long others take to hear of the end and how long it may take, in seconds."""
    times = (min(withdrawal, patience), patience)
    return ["bash", "-c", SCRIPT, "drain", admin.host, *map(str, (admin.port, *times))]
