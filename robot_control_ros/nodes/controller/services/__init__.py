"""Services of the controller: payload and contacts."""
