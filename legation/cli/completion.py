"""`legation completion`: what a shell needs to complete our commands, flags and the names of objects."""

from enum import Enum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # typer does not list it

NAME = "legation"
VARIABLE = "_LEGATION_COMPLETE"
EXAMPLES = """
Examples:

`source <(legation completion bash)` in ~/.bashrc, or with `zsh` in ~/.zshrc after compinit

`legation completion fish > ~/.config/fish/completions/legation.fish`

`legation --install-completion`: does it for you; objects to explain are completed by what runs
"""


class Shell(Enum):
    """Whose language to write."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Whose language to write.")]) -> None:
    """Print what has a shell complete commands, flags and names of objects."""
    typer.echo(get_completion_script(prog_name=NAME, complete_var=VARIABLE, shell=shell.value))
