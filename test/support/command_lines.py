"""Command lines: their commands, and for each option values that it can't take."""

FREE = {
    "--prefix": "any text",
    "--browser": "a program",
    "--browsers": "only with --page",
    "--controller": "asked for by name",
    "--namespace": "the same",
    "--study": "any text",
}  # what nothing can be wrong with before it runs
NAMES = (
    "--robot",
    "--law",
    "--scene",
    "--topology",
    "--profile",
    "--entries",
    "--interface",
    "--host",
    "--callback",
)
NAMES += (
    "--gains",
    "--set",
    "--base",
    "--tip",
    "--measured",
    "--imperfections",
    "--simulated",
    "--joints",
    "--workcell",
    "--gripper",
    "--objective",
    "--vary",
    "--arm",
    "--sampler",
    "--scheduler",
    "--storage",
    "--rows",
)
FILES = (
    "--csv",
    "--plot",
    "--json",
    "--page",
    "--output",
    "--schemas",
    "--faults",
    "--against",
    "--record",
)
UNUSABLE = "nonsense.invalid"


def parsers(parser, words=()):
    """Every command that runs something, by its words."""
    below = parser.subcommands()
    if not below:
        return {" ".join(words): parser}
    return {
        line: each for name in below for line, each in parsers(below[name], (*words, name)).items()
    }


def wrong_values(action):
    """Values that an option can't take; none for a switch."""
    if action.nargs == 0 or not action.option_strings or action.option_strings[0] in FREE:
        return []
    name = action.option_strings[0]
    if name in FILES:
        return [[f"{__file__}/a.xyz"]]
    if action.type is None and not action.choices and name not in NAMES and name != "--type":
        raise AssertionError(f"{name}: say here what is wrong for it")
    values = [UNUSABLE] if action.type is None else [UNUSABLE, "nan", "-1e9"]
    return [[value] * (action.nargs if isinstance(action.nargs, int) else 1) for value in values]


def cases(parser):
    """Each option of a command, with the values that it can't take."""
    for action in parser.actions():
        if action.option_strings:
            yield from ([action.option_strings[0], *values] for values in wrong_values(action))


def exit_status(main, arguments):
    """Exit status of a program's function, also where it ends by SystemExit."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code
