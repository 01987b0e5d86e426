# SPDX-License-Identifier: MIT
"""Print what makes a shell complete names of commands, options, cells, papers and drives.

\b
    eval "$(spindle completion bash)"
    spindle completion fish > ~/.config/fish/completions/spindle.fish
"""

import click


@click.command("completion", help=__doc__)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    from click.shell_completion import get_completion_class

    from cli.main import spindle

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(spindle, {}, "spindle", "_SPINDLE_COMPLETE").source())
    return 0
