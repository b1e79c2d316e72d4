"""Figures of step and frequency responses, measured or computed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.types import Array

PER_BAND = 7  # frequencies whose spectra are averaged


@dataclass(frozen=True)
class StepFigures:
    """Figures of a step response; NaN if it doesn't get that far."""

    final: float  # value in the end
    rise: float  # from 10 to 90 % of it [s]
    overshoot: float  # beyond it [%]
    settling_5: float  # since the step, until it stays within 5 % of it [s]
    settling_2: float  # within 2 % [s]

    @classmethod
    def of(cls, times: Array, values: Array, final: float) -> StepFigures:
        """Figures of values (m,) at times (m,) [s], ascending from the step at 0.

        Linear in between.
        """
        part = values / final
        return cls(
            final,
            _first(times, part, 0.9) - _first(times, part, 0.1),
            100.0 * max(float(part.max()) - 1.0, 0.0),
            _last_outside(times, part, 0.05),
            _last_outside(times, part, 0.02),
        )


@dataclass(frozen=True)
class FrequencyFigures:
    """Figures of a frequency response; NaN if it lies outside the band."""

    static: float  # gain at the lowest frequency
    bandwidth: float  # where the gain falls 3 dB below `static` [Hz]
    resonance: float  # largest gain, as a multiple of `static`
    quarter: float  # where the phase is -90° [Hz]: the natural frequency

    @classmethod
    def of(cls, frequencies: Array, response: Array) -> FrequencyFigures:
        """Figures of a complex response (m,) at frequencies (m,) [Hz].

        Frequencies ascend; the response is linear in between.
        """
        if not len(response):
            return cls(math.nan, math.nan, math.nan, math.nan)
        part = np.abs(response) / abs(response[0])
        return cls(
            float(abs(response[0])),
            _first(frequencies, -part, -math.sqrt(0.5)),
            float(part.max()),
            _first(frequencies, -phase(response), 90.0),
        )


def phase(response: Array) -> Array:
    """Phase (m,) of a complex response (m,) without jumps [°], from -180 to 180 at the first."""
    return np.degrees(np.unwrap(np.angle(response)))


def measured_response(
    frequencies: Array, times: Array, values: Array, changes: Array, forces: Array
) -> tuple[Array, Array]:
    """Frequency response by the cross spectrum of a force and the motion; both begin and end at 0
    within the record.

    So their Fourier integrals need no window, and nothing leaks. The force's integral is exact,
    that of the values uses the trapezoidal rule. The spectra are averaged over the band about each
    frequency.

    Args:
        frequencies: (m,) ascending geometrically [Hz].
        times, values: (k,) samples.
        changes, forces: (j,) the force from each time on; the last is 0.

    Returns:
        Complex (m,), and the coherence (m,) of each band, from 0 to 1.
    """
    half = 0.5 * math.log(frequencies[1] / frequencies[0])
    within = np.exp(np.linspace(-half, half, PER_BAND))
    omega = 2.0 * np.pi * (frequencies[:, None] * within).ravel()
    weights = np.convolve(np.diff(times), (0.5, 0.5), "full")
    weights[[0, -1]] = 0.5 * np.diff(times)[[0, -1]]
    output = np.exp(-1j * np.outer(omega, times)) @ (weights * values)
    jumps = np.diff(forces, prepend=0.0)
    force = np.exp(-1j * np.outer(omega, changes)) @ jumps / (1j * omega)
    output = output.reshape(-1, PER_BAND)
    force = force.reshape(-1, PER_BAND)
    cross = (output * force.conj()).sum(1)
    power = (np.abs(force) ** 2).sum(1)
    coherence = np.abs(cross) ** 2 / (power * (np.abs(output) ** 2).sum(1))
    return cross / power, coherence


def _first(at: Array, values: Array, level: float) -> float:
    """Place where `values` first reach a level from below; NaN where they never do."""
    above = values >= level
    index = int(np.argmax(above))
    if not above[index] or index == 0:
        return math.nan
    return float(np.interp(level, values[index - 1 : index + 1], at[index - 1 : index + 1]))


def _last_outside(times: Array, part: Array, band: float) -> float:
    error = np.abs(part - 1.0)
    outside = np.flatnonzero(error > band)
    if not len(outside) or outside[-1] == len(times) - 1:
        return math.nan
    last = int(outside[-1])
    return float(np.interp(-band, -error[last : last + 2], times[last : last + 2]))
