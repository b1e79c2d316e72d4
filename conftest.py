"""How the tests run: in parts, each with limits, those of the system each in a process of its own."""

pytest_plugins = ("parts", "apart", "purity")
