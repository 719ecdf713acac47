"""YAML for people and for Envoy, whose older dialect takes a bare `n` for false."""

import yaml

OLD_BOOLEANS = frozenset({"y", "n"})


def yaml_text(value: object) -> str:
    """Write plain values as YAML, keys in their order and long texts as blocks."""
    return yaml.dump(value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=110)


def _dumper() -> type[yaml.SafeDumper]:
    class Dumper(yaml.SafeDumper):
        """Writes text its own way; a class of its own, because representers are kept on the class."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # the base class asks so
            """Write a value that stands in two places twice."""
            return True

    Dumper.add_representer(str, _text)
    return Dumper


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else "'" if text.lower() in OLD_BOOLEANS else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
