"""Writes docs/checks.md: every check of `legation check`, by the name that its findings have."""

from collections.abc import Iterator
from pathlib import Path

from legation.checks import of_cluster, of_proxies
from legation.checks.table import CHECKS, GROUPS, PROBLEMS, STRICT
from translator.advice.checks import Check

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/checks.md"
EVERYTHING = (*CHECKS, *of_cluster.CHECKS, *of_proxies.CHECKS)
PREFACE = """# What is checked

Made by `make docs` from the checks themselves, not by hand.

`legation check PATHS...` reads manifests and says what is wrong with them before anybody serves them.
Without paths it asks `legation up` on this machine, or Legation in a cluster, and there it looks at the
cluster as well: at CRDs, at what the control plane may do, at pods and Envoys. Findings come the gravest
group first.

| Group | Means | Exit code |
|---|---|---|
{groups}

`--strict` exits with 1 for every group but the last. 0 is fine, and 2 that nobody could tell.

With `-o json`, and as `/api/v1/findings` on the admin port, a finding has these fields; those that say
nothing are empty.

| Field | Says |
|---|---|
| `check` | its name in the tables below: it stays the same, messages may change |
| `group` | one of the groups above |
| `object` | kind, namespace and name: `HTTPRoute shop/store` |
| `field` | the path of the field: `spec.rules[2].backendRefs[0]` |
| `where` | the file and document, the listener, or the Gateway that says so |
| `message` | what is wrong, in words |
| `remedy` | what helps |

Advice walks everything that there is, so it is computed when somebody asks, and kept until something
changes. Where files have no EndpointSlice at all, nobody is told that endpoints are missing. To look at a
cluster one has to be allowed to list Deployments, get CustomResourceDefinitions and create
SubjectAccessReviews; what may not be asked is told as `not-asked`.
"""
MEANINGS = {
    "not read": "nothing is known of it, and all else goes on",
    "refused": "it is not done, and its status says why",
    "our mistake": "it stays as it was",
    "not fit in the cluster": "the cluster keeps Gateways from being served",
    "not there yet": "waiting may be enough",
    "served with a remark": "it is done, and perhaps not as somebody thinks",
    "without effect": "nothing comes of it",
    "passed over": "it is for others",
}


def page() -> str:
    """Return the whole page."""
    groups = "\n".join(f"| {group} | {MEANINGS[group]} | {_exit_code(group)} |" for group in GROUPS)
    return "\n".join([PREFACE.format(groups=groups), *(line for group in GROUPS for line in _section(group))])


def _exit_code(group: str) -> str:
    return "1" if group in PROBLEMS else "0; 1 with `--strict`" if group in STRICT else "0"


def _section(group: str) -> Iterator[str]:
    yield f"## {group.capitalize()}\n"
    yield "| Check | Finds | Remedy |"
    yield "|---|---|---|"
    yield from (_row(check) for check in sorted(EVERYTHING, key=lambda each: each.id) if check.group == group)
    yield ""


def _row(check: Check) -> str:
    return f'| <a id="{check.id}"></a>`{check.id}` | {check.what} | {check.remedy} |'


if __name__ == "__main__":
    PAGE.write_text(page())
