"""What colours say on all pages."""

GREEN, AMBER, RED = "#2b8a3e", "#e67700", "#c92a2a"  # well, beware, wrong
GREY = "#868e96"  # by the way
