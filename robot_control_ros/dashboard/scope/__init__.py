"""The scope: the controller's cycles at its full rate, around a trigger."""
