"""MCAP files, as a decoder that isn't the package's own reads them."""

import pytest

pytest.importorskip("mcap")
pytest.importorskip("mcap_ros2.reader")

from mcap.reader import make_reader
from mcap_ros2 import reader as decoder


def read(path):
    """Messages by topic, each with its log time [ns], and the metadata."""
    messages = {}
    for each in decoder.read_ros2_messages(str(path)):
        messages.setdefault(each.channel.topic, []).append((each.log_time_ns, each.ros_msg))
    with path.open("rb") as file:
        reader = make_reader(file)
        metadata = {
            name: value for each in reader.iter_metadata() for name, value in each.metadata.items()
        }
        assert reader.get_summary().statistics.message_count == sum(map(len, messages.values()))
    return messages, metadata
