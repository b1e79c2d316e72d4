"""The dashboard: serves the page in the browser, on topics, services and parameters."""
