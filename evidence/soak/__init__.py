"""The demonstration for a long time, with all that a user does: what its processes take, and what they miss.

usage: memory, handles and threads of a process; growth: what is judged; demonstration: ``python -m evidence soak``.
"""
