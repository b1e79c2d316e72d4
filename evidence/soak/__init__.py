"""The demonstration for a long time: what its processes take, and what they miss.

usage: memory, handles and threads of a process, and what is judged.
demonstration: ``python -m evidence soak``.
"""
