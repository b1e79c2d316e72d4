"""The running law and its gains: sliders, presets, files."""
